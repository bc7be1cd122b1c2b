// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Price: how long a step of a plan will take on a machine that was calibrated, and what each rank
// does in that time. The programs of the pipeline's ranks are rehearsed with the time that the
// calibration says of each instruction; nothing is measured here. Waiting for data is left out.
#pragma once

#include "engine/base/result.h"
#include "engine/plan/calibration.h"
#include "engine/plan/plan.h"

#include <optional>
#include <vector>

namespace trainyard::plan {

/// Of a step; together as long as it.
struct RankSeconds {
    double compute = 0;
    double communication = 0; ///< that no computation hides
    double bubble = 0;        ///< waits for other ranks
};

struct Price {
    std::vector<RankSeconds> ranks; ///< by rank
    double stepSeconds = 0;
    double samplesPerSecond = 0;
    /// What one rank would take for the same batch, over what all take together; none: one rank
    /// cannot run it.
    std::optional<double> efficiency;
    std::string measuredAt; ///< when the calibration was made
};

struct PriceSetting {
    int threadsPerRank = 1;
    /// Ranks exchange over a network beside what they compute, not in shared memory in between.
    bool overNetwork = false;
};

/// `oneDevice`: the same experiment on one rank; may be null.
Result<Price> priceOf(const Plan& plan, const Calibration& calibration, const PriceSetting& setting,
                      const Plan* oneDevice = nullptr);

/// The same model and batch on one rank; none where that is not possible.
std::optional<Plan> oneDevicePlan(const spec::Experiment& experiment, const DataCounts& data,
                                  const MachineFacts& machine);

/// Both together; `cores` of the machine that runs all ranks, threads as a run there gets them.
Result<Price> priceOf(const spec::Experiment& experiment, const Plan& plan,
                      const MachineFacts& machine, const Calibration& calibration,
                      int threadsPerRank);

} // namespace trainyard::plan
