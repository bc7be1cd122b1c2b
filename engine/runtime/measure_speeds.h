// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How fast the ranks of a run are, measured by the run's own work when it starts: each trains for a
// moment on made-up samples, by itself, while the others do the same beside it, because ranks share
// memory and perhaps cores. For plan::balanceOf().
//
// Speeds compare devices and not layers, so every rank times the same: the sections of all stages
// of the pipeline, one after the other. They take turns, so that at any time each section is in the
// memory of as many ranks as the plan says, and all together need no more than it.
#pragma once

#include "engine/backend/backend.h"
#include "engine/comm/communicator.h"
#include "engine/plan/plan.h"
#include "engine/spec/experiment.h"

#include <vector>

namespace trainyard::engine {

struct SpeedTrial {
    const plan::Plan& plan; ///< of equal shares: the same on all ranks
    const spec::Experiment& experiment;
    Backend& backend;
    Communicator& world; ///< of the plan's ranks
};

/// Steps per second of the whole model on the rows of one rank, by rank; on all ranks the same
/// bits. Collective. Takes about half a second, or as long as a few steps do. The time of a step is
/// the median over rounds that are longer than a scheduler's time slices, so that a rank that
/// shares its core is seen as slow as it is. Memory is the plan's and free again afterwards; throws
/// std::bad_alloc.
Result<std::vector<double>> measureSpeeds(const SpeedTrial& trial);

} // namespace trainyard::engine
