// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/balance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace trainyard::plan {

namespace {

constexpr std::int64_t kUnits = 64;       ///< of shares
constexpr std::int64_t kUnitsPerRank = 8; ///< at least, where the batch has so many rows

bool areSpeeds(const std::vector<double>& speeds) {
    return std::ranges::all_of(speeds,
                               [](double speed) { return speed > 0 && std::isfinite(speed); });
}

bool areAlike(const std::vector<double>& speeds) {
    const auto [slowest, fastest] = std::ranges::minmax(speeds);
    return fastest < slowest * (1 + kSpeedNoise);
}

double slowestTensorRank(const Mesh& mesh, const std::vector<double>& speeds, int data, int stage) {
    double slowest = speeds[static_cast<std::size_t>(mesh.rankOf({data, 0, stage}))];
    for (int tensor = 1; tensor < mesh.tensor; ++tensor)
        slowest =
            std::min(slowest, speeds[static_cast<std::size_t>(mesh.rankOf({data, tensor, stage}))]);
    return slowest;
}

/// The next unit goes to the rank that has it done first; of equals, to the first.
std::vector<double> dealOut(std::int64_t units, const std::vector<double>& speeds) {
    std::vector<double> dealt(speeds.size(), 1);
    for (std::int64_t i = static_cast<std::int64_t>(speeds.size()); i < units; ++i) {
        std::size_t first = 0;
        for (std::size_t rank = 1; rank < speeds.size(); ++rank)
            if ((dealt[rank] + 1) / speeds[rank] < (dealt[first] + 1) / speeds[first])
                first = rank;
        ++dealt[first];
    }
    return dealt;
}

} // namespace

Balance balanceOf(const Mesh& mesh, std::int64_t batch, const std::vector<double>& speeds) {
    Balance balance;
    if (speeds.size() != static_cast<std::size_t>(mesh.worldSize()) || !areSpeeds(speeds))
        return balance;
    std::vector<double> stages(static_cast<std::size_t>(mesh.pipeline), 0);
    double sum = 0;
    for (int stage = 0; stage < mesh.pipeline; ++stage)
        for (int data = 0; data < mesh.data; ++data) {
            const double speed = slowestTensorRank(mesh, speeds, data, stage);
            stages[static_cast<std::size_t>(stage)] += speed;
            sum += speed;
        }
    for (double& stage : stages)
        stage *= mesh.pipeline / sum;
    if (areAlike(stages))
        std::ranges::fill(stages, 1);
    else
        balance.stageSpeeds = stages;

    std::vector<double> columns;
    for (int data = 0; data < mesh.data; ++data) {
        double slowest = slowestTensorRank(mesh, speeds, data, 0) / stages.front();
        for (int stage = 1; stage < mesh.pipeline; ++stage)
            slowest = std::min(slowest, slowestTensorRank(mesh, speeds, data, stage) /
                                            stages[static_cast<std::size_t>(stage)]);
        columns.push_back(slowest);
    }
    if (!areAlike(columns) && batch >= mesh.data)
        balance.shares =
            dealOut(std::min(batch, std::max(kUnits, kUnitsPerRank * mesh.data)), columns);
    return balance;
}

} // namespace trainyard::plan
