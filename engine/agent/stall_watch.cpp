// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/stall_watch.h"

#include "engine/program/program.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace trainyard::engine {
namespace {

std::string wholeSeconds(std::int64_t ns) {
    return std::to_string((ns + 500'000'000) / 1'000'000'000);
}

bool isKnown(int opcode) {
    return opcode >= 0 && opcode <= static_cast<int>(plan::Opcode::GatherParameters);
}

bool computes(const RankPoint& point) {
    return isKnown(point.opcode) && plan::runsKernel(static_cast<plan::Opcode>(point.opcode));
}

/// In an instruction that ends only when other ranks do their part.
bool needsOthers(const RankPoint& point) {
    const auto opcode = static_cast<plan::Opcode>(point.opcode);
    return isKnown(point.opcode) && !computes(point) && opcode != plan::Opcode::LoadBatch &&
           opcode != plan::Opcode::Update;
}

bool works(const StandingRank& rank) {
    return rank.point.phase == RankPhase::Training || rank.point.phase == RankPhase::Validating;
}

spec::Log warningAbout(const StandingRank& suspect, bool isHalted, const std::string& host,
                       std::int64_t stoodNs) {
    std::vector<std::string> arguments{wholeSeconds(stoodNs), std::to_string(suspect.rank),
                                       std::to_string(suspect.pid), host};
    const RankPoint& point = suspect.point;
    std::string format = point.phase == RankPhase::Starting
                             ? "Rank %2 (process %3 on %4) has stood for %1 s and holds the others "
                               "up,"
                             : "No rank has moved for %1 s. Rank %2 (process %3 on %4) holds the "
                               "others up,";
    const auto add = [&](const char* words, std::string value) {
        arguments.push_back(std::move(value));
        format += words + std::to_string(arguments.size());
    };
    if (point.step < 0) {
        format += " before its first step";
    } else {
        add(" at step %", std::to_string(point.step));
        add(", instruction %", std::to_string(point.instruction));
        if (isKnown(point.opcode)) {
            add(" (%", std::string(plan::name(static_cast<plan::Opcode>(point.opcode))));
            format += ')';
        }
        if (!point.layer.empty())
            add(computes(point) ? ", in layer %" : ", after layer %", point.layer);
    }
    format += isHalted ? ". Its process is halted (SIGSTOP); kill -CONT %3 lets it go on." : ".";
    return {spec::LogLevel::Warning, suspect.rank,
            Message(std::move(format), std::move(arguments))};
}

} // namespace

const StandingRank& suspectOf(const std::vector<StandingRank>& ranks,
                              const std::function<bool(const StandingRank&)>& isHalted) {
    const auto key = [&](const StandingRank& rank) {
        return std::tuple(!isHalted(rank), needsOthers(rank.point), rank.point.step,
                          rank.point.instruction, rank.point.timeNs);
    };
    return *std::min_element(ranks.begin(), ranks.end(),
                             [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

spec::Log StallWatch::goesOn(std::int64_t stoodNs) {
    m_stalled = false;
    return {spec::LogLevel::Info, -1,
            Message("The run goes on; it had stood for %1 s.", {wholeSeconds(stoodNs)})};
}

std::optional<spec::Log>
StallWatch::lookBeforeTraining(const std::vector<StandingRank>& living, const std::string& host,
                               std::int64_t nowNs, std::int64_t limitNs,
                               const std::function<bool(const StandingRank&)>& isHalted) {
    const auto halted = std::find_if(living.begin(), living.end(), isHalted);
    if (halted == living.end() || m_lastMoveNs == 0) {
        const std::int64_t stoodNs = nowNs - std::exchange(m_lastMoveNs, nowNs);
        return m_stalled ? std::optional(goesOn(stoodNs)) : std::nullopt;
    }
    if (m_stalled || nowNs - m_lastMoveNs < limitNs)
        return std::nullopt;
    m_stalled = true;
    return warningAbout(*halted, true, host, nowNs - m_lastMoveNs);
}

std::optional<spec::Log>
StallWatch::look(std::vector<StandingRank> living, const std::string& host, std::int64_t nowNs,
                 std::int64_t limitNs, const std::function<bool(const StandingRank&)>& isHalted) {
    const bool begun = std::none_of(living.begin(), living.end(), [](const StandingRank& rank) {
        return rank.point.phase == RankPhase::Starting;
    });
    if (!begun)
        return lookBeforeTraining(living, host, nowNs, limitNs, isHalted);
    std::erase_if(living, [](const StandingRank& rank) { return !works(rank); });
    if (living.empty()) {
        m_lastMoveNs = nowNs;
        m_stalled = false;
        return std::nullopt;
    }
    std::int64_t newestNs = 0;
    for (const StandingRank& rank : living)
        newestNs = std::max(newestNs, std::min(rank.point.timeNs, nowNs));
    if (newestNs > m_lastMoveNs) {
        const std::int64_t stoodNs = newestNs - m_lastMoveNs;
        m_lastMoveNs = newestNs;
        return m_stalled ? std::optional(goesOn(stoodNs)) : std::nullopt;
    }
    if (m_stalled || nowNs - m_lastMoveNs < limitNs)
        return std::nullopt;
    m_stalled = true;
    const StandingRank& suspect = suspectOf(living, isHalted);
    return warningAbout(suspect, isHalted(suspect), host, nowNs - m_lastMoveNs);
}

} // namespace trainyard::engine
