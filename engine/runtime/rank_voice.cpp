// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/rank_voice.h"

#include <unistd.h>
#include <utility>

namespace trainyard::engine {

void RankVoice::log(spec::LogLevel level, Message text) const {
    send(spec::Log{level, m_environment.rank, std::move(text)});
}

void RankVoice::setPhase(RankPhase phase) const {
    if (RankStatus* page = status())
        page->phase.store(static_cast<std::uint32_t>(phase));
}

void RankVoice::fail(const Error& error, RankExit exit, const NoticedAt& place) const {
    spec::Failure failure;
    failure.rank = m_environment.rank;
    failure.pid = ::getpid();
    failure.device = device();
    failure.what =
        error.where.empty() ? error.what : Message{"%1: %2", {error.where, error.what.text()}};
    failure.cure = error.cure;
    if (const RankStatus* page = status()) {
        failure.step = page->step.load();
        failure.instruction = page->instruction.load();
        failure.layer = page->layer;
    }
    if (place.step >= 0)
        failure.step = place.step;
    if (place.instruction >= 0) {
        failure.instruction = place.instruction;
        failure.layer = place.layer;
    }
    send(failure);
    throw SessionEnd{exit};
}

void RankVoice::failOn(const Problems& problems) const {
    if (problems.empty())
        return;
    for (std::size_t i = 1; i < problems.size(); ++i)
        log(spec::LogLevel::Error, {"%1", {problems[i].sentence()}});
    fail(problems.front());
}

void RankVoice::losePeer(const Error& error) const {
    if (error.isOwn)
        fail(error);
    log(spec::LogLevel::Error, {"%1", {error.sentence()}});
    throw SessionEnd{RankExit::PeerLost};
}

void RankVoice::check(const Result<void>& result) const {
    if (!result)
        losePeer(result.error());
}

std::string RankVoice::device() const {
    const auto index = static_cast<std::size_t>(m_environment.rank);
    return index < m_experiment.devices.size() ? m_experiment.devices[index]
                                               : "cpu:" + std::to_string(m_environment.rank);
}

} // namespace trainyard::engine
