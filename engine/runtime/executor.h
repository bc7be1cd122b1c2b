// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Executor: holds one rank's memory, makes the kernels of its programs once, and runs them. After
// the constructor no step allocates memory or chooses anything.
#pragma once

#include "engine/backend/backend.h"
#include "engine/comm/communicator.h"
#include "engine/optim/optimizer.h"
#include "engine/plan/plan.h"
#include "engine/program/program.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/rank_protocol.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace trainyard::engine {

/// Sums over the rows of all ranks.
struct BatchSums {
    double loss = 0;
    double correct = 0;
    double rows = 0;
    /// Somebody asked for the end: the same answer on all ranks.
    bool stopRequested = false;
};

struct StepInput {
    std::int64_t step = 0; ///< 0-based
    double learningRate = 0;
    std::optional<double> clipNorm = {};
};

struct StepResult {
    BatchSums sums;
    double gradientNorm = 0; ///< before clipping
    /// False: loss or gradients are not finite; the parameters were left as they are.
    bool finite = true;
};

/// Puts this rank's rows of the current batch into memory: inputs row-major, one label a row.
using LoadBatch = std::function<void(void* inputs, std::int32_t* labels)>;

class Executor {
public:
    struct Parts {
        const plan::Plan& plan;
        int rank = 0;
        std::uint64_t seed = 1;
        Backend& backend;
        Communicator& communicator;
        Optimizer& optimizer;
        RankStatus* status = nullptr;               ///< may be null
        const StatusHeader* statusHeader = nullptr; ///< may be null
    };

    /// Takes all memory, fills the parameters, makes every kernel. Throws std::bad_alloc.
    static Result<std::unique_ptr<Executor>> make(const Parts& parts);

    /// One update on a batch of `batchRows` rows over all ranks.
    Result<StepResult> trainStep(std::int64_t batchRows, const StepInput& input,
                                 const LoadBatch& load);
    /// Adds the loss and the correct rows of this rank's share of a batch to `sums`. No
    /// communication.
    void evaluate(std::int64_t batchRows, BatchSums& sums, const LoadBatch& load);
    /// Sums `sums` over all ranks.
    Result<void> reduce(BatchSums& sums, std::uint32_t tag);

    /// All parameters as one flat arena, as the plan lays them out.
    std::span<const std::byte> parameters() const;
    /// Gradients of the last step, summed over ranks.
    std::span<const std::byte> gradients() const { return m_gradients; }
    /// What was really taken, to compare with the plan.
    plan::MemoryByClass memory() const;

private:
    struct Compiled {
        plan::Program program;
        std::vector<std::unique_ptr<Kernel>> kernels; ///< by instruction; null: none
    };

    explicit Executor(const Parts& parts);
    Result<void> allocate();
    void initializeParameters();
    Compiled& compiled(plan::Purpose purpose, std::int64_t batchRows);
    std::unique_ptr<Kernel> makeKernel(const plan::Program& program,
                                       const plan::Instruction& instruction);
    KernelRequest requestFor(const plan::Program& program, const plan::Instruction& instruction);
    Operand activation(const plan::Placement& placement, graph::ValueId value) const;
    Operand parameter(std::byte* arena, graph::ParameterId id) const;
    Result<void> runCollective(const plan::Instruction& instruction, std::uint32_t tag,
                               BatchSums& sums);
    void update(const StepInput& input, StepResult& result);
    void note(const plan::Instruction& instruction, std::int64_t index);

    Parts m_parts;
    Arena m_parameters;
    std::span<std::byte> m_gradients; ///< owned by the communicator
    std::vector<Arena> m_slots;
    std::vector<void*> m_slotPointers;
    Arena m_activations;
    std::vector<std::int32_t> m_labels;
    std::array<double, 2> m_lossSums{}; ///< of this rank's rows: loss, correct
    std::vector<ParameterRange> m_ranges;
    std::map<std::pair<plan::Purpose, std::int64_t>, Compiled> m_compiled;
};

} // namespace trainyard::engine
