// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/measure_speeds.h"

#include "engine/base/check.h"
#include "engine/comm/silent_communicator.h"
#include "engine/optim/optimizer.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/process_groups.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>

namespace trainyard::engine {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint32_t kBeginTag = 0x80000010u;
constexpr std::uint32_t kSpeedsTag = 0x80000011u;

constexpr double kRoundSeconds = 0.06; ///< time slices are up to some 20 ms
constexpr std::size_t kRounds = 7;     ///< over all sections
constexpr std::size_t kFewestRounds = 3;
constexpr double kPatience = 1; ///< seconds; enough for the fewest rounds of long steps
/// A step so long is its own measurement: to repeat it would cost more than it could tell.
constexpr double kLongStep = 2;

double secondsSince(SteadyClock::time_point start) {
    return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// One batch of full size and nothing else: no kernels for validation are made.
plan::Plan planOfOneStep(const plan::Plan& plan) {
    plan::Plan one = plan;
    one.data.trainSamples = plan.rowsOfStep(0);
    one.data.validationSamples = 0;
    one.stepsPerEpoch = one.steps = 1;
    return one;
}

/// A section of the model that is trained alone, as the rank that has it would.
class SectionTrial {
public:
    SectionTrial(const plan::Plan& plan, int rank, const SpeedTrial& trial)
        : m_plan(plan), m_world(makeSilentCommunicator(rank, plan.worldSize)),
          m_groups(ProcessGroups::make(plan, rank, *m_world).value()),
          m_optimizer(makeOptimizer(trial.experiment.training.optimizer).value()) {
        auto executor = Executor::make({.plan = m_plan,
                                        .rank = rank,
                                        .seed = trial.experiment.training.seed,
                                        .backend = trial.backend,
                                        .groups = *m_groups,
                                        .optimizer = *m_optimizer});
        if (!executor) // silent ranks fail at memory only
            throw std::bad_alloc();
        m_executor = std::move(*executor);
    }

    /// Weights stay as they are: the rate is 0.
    void step() {
        const Result<StepResult> done = m_executor->trainStep(
            m_plan.rowsOfStep(0), {}, [this](const BatchMemory& memory, const BatchPart& part) {
                load(memory, part.rows.count);
            });
        TRAINYARD_CHECK(done.ok());
    }

private:
    void load(const BatchMemory& memory, std::int64_t rows) const {
        const std::int64_t elements = rows * elementCount(m_plan.data.sampleShape);
        for (std::int64_t i = 0; memory.inputs && i < elements; ++i) {
            const std::uint32_t word = static_cast<std::uint32_t>(i) * 2654435761u >> 8;
            if (memory.inputType == DType::Int32)
                static_cast<std::int32_t*>(memory.inputs)[i] = static_cast<std::int32_t>(
                    word % static_cast<std::uint32_t>(m_plan.data.vocabulary));
            else if (memory.inputType == DType::Fp64)
                static_cast<double*>(memory.inputs)[i] = word % 2048 / 1024.0 - 1;
            else
                static_cast<float*>(memory.inputs)[i] = static_cast<float>(word % 2048) / 1024 - 1;
        }
        const std::int64_t targets = rows * elementCount(m_plan.graph.targetShape());
        if (memory.labels)
            std::fill_n(memory.labels, targets, 0);
        if (memory.numbers)
            std::memset(memory.numbers, 0,
                        static_cast<std::size_t>(targets) * bytesOf(memory.numberType));
    }

    const plan::Plan& m_plan;
    std::unique_ptr<Communicator> m_world;
    std::unique_ptr<ProcessGroups> m_groups;
    std::unique_ptr<Optimizer> m_optimizer;
    std::unique_ptr<Executor> m_executor;
};

double secondsOfStep(SectionTrial& section, std::size_t rounds) {
    const SteadyClock::time_point begin = SteadyClock::now();
    section.step();
    if (const double first = secondsSince(begin); first > kLongStep)
        return first;
    std::vector<double> seconds;
    while (seconds.size() < rounds &&
           (seconds.size() < kFewestRounds || secondsSince(begin) < kPatience)) {
        const SteadyClock::time_point start = SteadyClock::now();
        int steps = 0;
        do {
            section.step();
            ++steps;
        } while (secondsSince(start) < kRoundSeconds);
        seconds.push_back(secondsSince(start) / steps);
    }
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::ranges::nth_element(seconds, middle);
    return *middle;
}

} // namespace

Result<std::vector<double>> measureSpeeds(const SpeedTrial& trial) {
    const plan::Plan plan = planOfOneStep(trial.plan);
    const plan::Mesh& mesh = plan.mesh;
    const int rank = trial.world.rank();
    const plan::Coordinate place = mesh.coordinateOf(rank);
    const auto stages = static_cast<std::size_t>(mesh.pipeline);
    double seconds = 0;
    for (int turn = 0; turn < mesh.pipeline; ++turn) {
        const int stage = (place.pipeline + turn) % mesh.pipeline;
        // The first data coordinate has most rows.
        SectionTrial section(plan, mesh.rankOf({0, place.tensor, stage}), trial);
        if (Result<void> met = trial.world.barrier(kBeginTag); !met)
            return met.error();
        seconds += secondsOfStep(section, std::max(kFewestRounds, kRounds / stages));
    }
    std::vector<double> speeds(static_cast<std::size_t>(plan.worldSize), 0);
    speeds[static_cast<std::size_t>(rank)] = 1 / seconds;
    if (Result<void> told =
            trial.world.allReduceSum(speeds.data(), speeds.size(), DType::Fp64, kSpeedsTag);
        !told)
        return told.error();
    return speeds;
}

} // namespace trainyard::engine
