// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a run's steps went, rank by rank, from the device samples of the store.
#pragma once

#include "app/store/store_reader.h"
#include "engine/spec/step_split.h"

#include <array>
#include <cstdint>
#include <vector>

namespace trainyard::app {

/// Seconds a step of one rank.
struct StepSplit {
    std::int32_t rank = 0;
    QString device;
    double step = 0;
    std::array<double, spec::metric::kStepParts.size()> parts{}; ///< by spec::metric::kStepParts
    double communication = 0; ///< also what hides behind computing

    bool operator==(const StepSplit&) const = default;
};

/// Where a value of a device sample belongs; null for those that are no part of the split.
double* placeInSplit(const QString& metric, StepSplit& split);

/// Means over all samples of the run, by rank; ranks without any are left out.
Result<std::vector<StepSplit>> stepSplits(StoreReader& reader, RunId run);

} // namespace trainyard::app
