// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains a small experiment on made-up data with every rank as a thread of this process, through
// the real plan, programs, executor and shared-memory collectives.
#pragma once

#include "engine/runtime/executor.h"
#include "engine/spec/experiment.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace trainyard::testing {

struct HarnessOptions {
    std::int64_t samples = 37;
    std::int64_t steps = 200;
    /// Set in the middle of a run to ask for its end, as the supervisor does. -1: never.
    std::int64_t stopAtStep = -1;
    /// The communication lane in a thread of its own.
    bool overlaps = false;
    /// Over TCP on the loopback, as if each rank was on a host of its own; else in shared memory.
    bool overGloo = false;
    /// Puts something in front of a rank's communicator of all ranks.
    std::function<std::unique_ptr<engine::Communicator>(std::unique_ptr<engine::Communicator>)>
        wrap = {};
    /// Of the ranks, as if they had been measured.
    std::vector<double> speeds = {};
    /// After the last step the made-up samples are looked at once more, as validation does.
    bool validates = false;
    /// The host of each rank, as if on several: shared memory inside one, TCP between them. Empty:
    /// none of this.
    std::vector<int> hosts = {};
    /// Called on rank 0 after each step with the executor, for looking inside.
    std::function<void(std::int64_t step, engine::Executor& executor)> afterStep = {};
    /// Called on every rank after the last step, for collectives.
    std::function<void(engine::Executor& executor)> afterAll = {};
};

struct RankOutcome {
    std::vector<double> losses; ///< mean over the global batch, one per step
    std::vector<double> gradientNorms;
    std::vector<std::byte> firstGradients; ///< of step 0, summed
    std::vector<std::byte> parameters;     ///< of the whole model, one after the other
    plan::MemoryByClass plannedMemory;
    plan::MemoryByClass realMemory;
    plan::TrafficByKind plannedTraffic;
    engine::BatchSums validation;        ///< of one batch, over all ranks
    std::vector<std::int64_t> confusion; ///< likewise
    bool finite = true;
    std::string error;
};

/// As many ranks as the experiment's mesh has. Shapes of inputs and targets come from the model.
std::vector<RankOutcome> trainOnThreads(const spec::Experiment& experiment,
                                        const HarnessOptions& options);

/// Small experiments: batch 8, sgd 0.02 with momentum 0.9, fp64, one rank.
spec::Experiment mlpExperiment();
spec::Experiment cnnExperiment();
/// Batch norms over all ranks, blocks with and without a convolution beside them.
spec::Experiment residualExperiment();
/// Tied weights, dropout, shared key heads, rotary positions, ignored labels.
spec::Experiment gptExperiment();
/// Numbers to predict, by the Huber loss.
spec::Experiment regressionExperiment();
/// All of them.
std::vector<spec::Experiment> harnessExperiments();

} // namespace trainyard::testing
