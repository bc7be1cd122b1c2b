// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The models that benchmarks train on made-up samples, and one rank of such a training.
#pragma once

#include "engine/backend/backend.h"
#include "engine/comm/communicator.h"
#include "engine/optim/optimizer.h"
#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/flight_record.h"
#include "engine/runtime/flight_recorder.h"
#include "engine/spec/experiment.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::bench {

struct TrainCase {
    std::string name;   ///< as the peer knows it
    std::string input;  ///< JSON
    std::string layers; ///< JSON
    std::string optimizer;
    std::int64_t rows;
    std::int64_t classes;
    std::int64_t vocabulary = 0;
    std::string precision = "fp32";
};

/// In fp32 and, where the machine has it, in bf16.
std::vector<TrainCase> trainCases();

/// Paths and values as after --set: parallel.data and the like.
using CaseSettings = std::vector<std::pair<std::string, std::string>>;

/// One rank with everything it needs; used by the thread that made it.
class CaseTrainer {
public:
    struct Options {
        int threads = 1;
        CaseSettings settings = {};
        int rank = 0;
        bool overlaps = false;
        /// Where its steps go is written down.
        bool recorded = false;
    };
    /// `world`: as many ranks as the settings ask for.
    CaseTrainer(const TrainCase& trained, const Options& options,
                std::unique_ptr<engine::Communicator> world);

    /// Alone: after one step that does not count.
    double samplesPerSecond(double seconds);
    /// All ranks do as many.
    void step();
    /// Of all steps so far: seconds that this rank communicated and did not compute; 0 where it is
    /// not recorded.
    double secondsExposed() const;

private:
    void makePlan(const spec::Experiment& experiment, int threads);
    void load(const engine::BatchMemory& memory, std::int64_t rows) const;

    const TrainCase& m_case;
    plan::Plan m_plan;
    std::unique_ptr<engine::Backend> m_backend;
    std::unique_ptr<engine::Communicator> m_world;
    std::unique_ptr<engine::ProcessGroups> m_groups;
    std::unique_ptr<engine::Optimizer> m_optimizer;
    std::unique_ptr<engine::FlightRecord> m_record; ///< may be null
    std::optional<engine::FlightRecorder> m_recorder;
    std::unique_ptr<engine::Executor> m_executor;
    std::int64_t m_step = 0;
};

/// Of an odd number of rounds; the spread is the whole range, relative to it.
struct Median {
    double value = 0;
    double spread = 0;
};
Median medianOf(std::vector<double> values);

} // namespace trainyard::bench
