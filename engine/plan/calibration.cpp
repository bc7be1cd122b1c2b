// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard::plan {

namespace {

/// Points so near (a seventh of a doubling) count alike, so that none is divided by zero.
constexpr double kNear = 0.02;

/// a^(1-share) * b^share.
double between(double a, double b, double share) {
    return a > 0 && b > 0 ? a * std::pow(b / a, std::clamp(share, 0.0, 1.0)) : std::max(a, b);
}

const CalibrationTable* tableIn(const CalibrationSetting& setting, std::string_view name) {
    const auto found = setting.tables.find(name);
    return found == setting.tables.end() || found->second.empty() ? nullptr : &found->second;
}

/// Where a kind was not measured: streaming over as many elements.
CalibrationTask streamTask(const CalibrationTask& task) {
    const std::size_t slash = task.table.find('/');
    if (slash == std::string::npos)
        return task;
    return {"relu" + task.table.substr(slash), {std::log2(std::max(1.0, task.work))}, task.work};
}

double secondsIn(const CalibrationSetting& setting, const CalibrationTask& task) {
    if (const CalibrationTable* table = tableIn(setting, task.table))
        return estimate(*table, task.axes, task.work);
    const CalibrationTask stream = streamTask(task);
    const CalibrationTable* table = tableIn(setting, stream.table);
    return table ? estimate(*table, stream.axes, stream.work) : 0;
}

} // namespace

double estimate(const CalibrationTable& table, const std::vector<double>& axes, double work) {
    if (table.empty() || work <= 0)
        return 0;
    double weights = 0, rates = 0, fastest = std::numeric_limits<double>::max();
    for (const CalibrationPoint& point : table) {
        double squares = 0;
        for (std::size_t i = 0; i < std::min(axes.size(), point.axes.size()); ++i)
            squares += (axes[i] - point.axes[i]) * (axes[i] - point.axes[i]);
        const double weight = 1 / ((squares + kNear) * (squares + kNear));
        weights += weight;
        rates += weight * std::log(point.seconds / point.work);
        fastest = std::min(fastest, point.seconds);
    }
    return std::max(work * std::exp(rates / weights), fastest / 2);
}

bool Calibration::knows(std::string_view type) const {
    return std::ranges::any_of(settings, [&](const CalibrationSetting& setting) {
        return std::ranges::any_of(setting.tables, [&](const auto& table) {
            return table.first.ends_with("/" + std::string(type));
        });
    });
}

bool Calibration::knowsExchange(std::string_view transport) const {
    return std::ranges::any_of(exchanges, [&](const auto& table) {
        return table.first.starts_with(std::string(transport) + "/");
    });
}

/// Measured are one thread alone, one thread on each core, and all cores for one rank: the corners
/// of threads x ranks. Between them speeds change evenly in the logarithm of both.
double Calibration::seconds(const CalibrationTask& task, int threads, int ranks) const {
    const auto in = [&](int ofThreads, int ofRanks) {
        for (const CalibrationSetting& setting : settings)
            if (setting.threads == ofThreads && setting.ranks == ofRanks)
                return secondsIn(setting, task);
        return 0.0;
    };
    const int cores = std::max(1, key.cores);
    const double alone = in(1, 1);
    const double crowded = in(1, cores);
    const double wide = in(cores, 1);
    threads = std::clamp(threads, 1, cores);
    ranks = std::max(1, ranks);
    const double width = cores > 1 ? std::log2(threads) / std::log2(cores) : 0;
    const double room = static_cast<double>(cores) / threads;
    const double crowd = room > 1 ? std::log2(std::min<double>(ranks, room)) / std::log2(room) : 1;
    const double seconds =
        between(between(alone, wide, width), between(crowded, wide, width), crowd);
    return seconds * std::max(1.0, ranks / room);
}

/// Each of n ranks sums or copies 1 / n of the bytes of the n - 1 others: 2 (n - 1) / n of what two
/// ranks do. More ranks than cores take turns.
double Calibration::exchangeSeconds(std::string_view table, double bytes, int ranks) const {
    const auto found = exchanges.find(table);
    if (found == exchanges.end() || ranks < 2)
        return 0;
    const double share = 2.0 * (ranks - 1) / ranks;
    const double turns = std::max(1.0, static_cast<double>(ranks) / std::max(2, key.cores));
    return estimate(found->second, {std::log2(std::max(1.0, bytes))}, std::max(1.0, bytes)) *
           share * turns;
}

} // namespace trainyard::plan
