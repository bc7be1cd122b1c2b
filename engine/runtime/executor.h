// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Executor: holds one rank's memory, makes the kernels of its programs once, and runs them. After
// the constructor no step allocates memory or chooses anything.
#pragma once

#include "engine/backend/backend.h"
#include "engine/comm/communicator.h"
#include "engine/data/dataset.h"
#include "engine/optim/optimizer.h"
#include "engine/plan/plan.h"
#include "engine/program/program.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/communication_lane.h"
#include "engine/runtime/flight_recorder.h"
#include "engine/runtime/gather_parameters.h"
#include "engine/runtime/non_finite.h"
#include "engine/runtime/parameter_update.h"
#include "engine/runtime/power_sgd.h"
#include "engine/runtime/process_groups.h"
#include "engine/runtime/rank_protocol.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace trainyard::engine {

/// Sums over the rows of all ranks.
struct BatchSums {
    std::array<double, kLossSums> values{}; ///< by LossSum
    double rows = 0;
    double gradientSquares = 0; ///< of the gradients that a rank owns, where none has them all
    /// Somebody asked for the end: the same answer on all ranks.
    bool stopRequested = false;

    double operator[](LossSum sum) const { return values[sum]; }
    /// Mean over all that counts; 0 where nothing does.
    double meanLoss() const { return share(kLoss); }
    double accuracy() const { return share(kCorrect); }
    double share(LossSum sum) const {
        return values[kCounted] > 0 ? values[sum] / values[kCounted] : 0;
    }
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

/// Where a step became not finite.
struct Divergence {
    int rank = -1;                  ///< whose numbers were the first; -1: no single number is
    std::optional<NonFinite> begin; ///< on that rank only
};

/// Part of the current batch; they come in order.
struct BatchPart {
    int microBatch = 0;
    plan::RowRange rows; ///< of the global batch
};

/// Puts the rows of a part into memory.
using LoadBatch = std::function<void(const BatchMemory&, const BatchPart&)>;

class Executor {
public:
    struct Parts {
        const plan::Plan& plan;
        int rank = 0;
        std::uint64_t seed = 1;
        Backend& backend;
        ProcessGroups& groups;
        Optimizer& optimizer;
        RankStatus* status = nullptr;               ///< may be null
        const StatusHeader* statusHeader = nullptr; ///< may be null
        FlightRecorder* recorder = nullptr;         ///< may be null
        /// The communication lane has a thread of its own: worth it where there is a core for it or
        /// where it mostly waits for a network.
        bool overlaps = false;
    };

    /// Takes all memory, fills the parameters, makes every kernel. Throws std::bad_alloc.
    static Result<std::unique_ptr<Executor>> make(const Parts& parts);

    /// One update on a batch of `batchRows` rows over all ranks.
    Result<StepResult> trainStep(std::int64_t batchRows, const StepInput& input,
                                 const LoadBatch& load);
    /// Computes a step that was not finite once more, to find where it began; the same rank on all
    /// ranks. `input` and `load` as for the step; the parameters stay as they are. Collective.
    Result<Divergence> searchStep(std::int64_t batchRows, const StepInput& input,
                                  const LoadBatch& load, std::uint32_t tag);
    /// Adds what the loss sums up over this rank's share of a batch to `sums`.
    Result<void> evaluate(std::int64_t batchRows, BatchSums& sums, const LoadBatch& load);
    /// Sums `sums` over all ranks.
    Result<void> reduce(BatchSums& sums, std::uint32_t tag);
    /// Labels against predictions over all ranks' rows of what was evaluated since the last call,
    /// {classes, classes}, row = label; empty where the loss has no labels, or too many classes.
    Result<std::vector<std::int64_t>> takeConfusion(std::uint32_t tag);

    /// Swaps the parameters with their moving average, for validation and for the end. Nothing
    /// happens where the plan keeps none. No step may be trained in between.
    void swapAverage();
    /// Copies the parameters, and brings the copy back; only where the plan keeps the best.
    void keepBest();
    void restoreBest();
    /// This rank's parameters as one flat arena, as the plan lays them out.
    std::span<const std::byte> parameters() const;
    /// Those of the whole model, see gatherParameters(). Collective.
    Result<void> gatherWhole(std::uint32_t tag, const TakeParameter& take);
    /// Of all ranks. Collective.
    Result<bool> parametersAreFinite(std::uint32_t tag);
    /// Data parallel ranks have the same bits, or one of them has computed wrongly: the first world
    /// rank whose parameters differ from those of its copy 0; -1: all agree. Collective.
    Result<int> rankThatDiffers(std::uint32_t tag);
    /// This rank computes anything of samples or their targets, so it asks for batches.
    bool loadsBatches() const;
    /// Gradients of the last step, summed over ranks.
    /// Those of buckets that are whole just now, where they are sharded.
    std::span<const std::byte> gradients() const { return m_gradients; }
    /// What PowerSGD has left out so far on this rank (Section::lowRank); empty without it.
    std::span<const std::byte> compressionErrors() const {
        return m_powerSgd ? m_powerSgd->errors() : std::span<const std::byte>();
    }
    /// What was really taken, to compare with the plan.
    plan::MemoryByClass memory() const;

private:
    /// What tells the kernels of a program apart: opcode, operation, phase, place, rows, whether
    /// parameter gradients of an earlier micro-batch are there, and, where the place of parameters
    /// or gradients changes, the instruction.
    using KernelKey = std::tuple<plan::Opcode, graph::OperationId, plan::Phase, std::size_t,
                                 std::int64_t, bool, std::size_t>;
    struct Compiled {
        plan::Program program;
        std::vector<Kernel*> kernels;           ///< by instruction; null: none
        std::vector<InstructionRecord> records; ///< by instruction
        /// Micro-batches of one size share kernels.
        std::map<KernelKey, std::unique_ptr<Kernel>> owned;
    };

    explicit Executor(const Parts& parts);
    /// Batches of these sizes occur, largest first.
    static std::vector<std::pair<plan::Purpose, std::int64_t>> batchSizes(const plan::Plan& plan);
    Result<void> allocate();
    Result<void> allocateParameters(std::size_t bytes, std::size_t gathered);
    void allocateTargets(std::int64_t rows);
    void allocateStatistics();
    Result<void> allocateGradients(std::size_t bytes);
    Result<void> allocateCompression();
    void initializeParameters();
    void initializeParameter(graph::ParameterId id, std::byte* place) const;
    Compiled& compiled(plan::Purpose purpose, std::int64_t batchRows);
    void makeKernels(Compiled& compiled);
    KernelRequest requestFor(const plan::Program& program, std::size_t index);
    void addParameters(const plan::Program& program, std::size_t index, KernelRequest& request);
    BatchMemory batchMemory(const plan::Program& program, const plan::Instruction& instruction);
    void loadPart(const plan::Program& program, const plan::Instruction& instruction,
                  const LoadBatch& load);
    std::size_t firstTarget(const plan::Program& program,
                            const plan::Instruction& instruction) const;
    void setLoss(const plan::Program& program, const plan::Instruction& instruction,
                 KernelRequest& request);
    Operand activation(const plan::Placement& placement, graph::ValueId value) const;
    Operand parameter(std::byte* arena, graph::ParameterId id) const;
    Operand parameterIn(std::byte* window, graph::ParameterId id, DType type) const;
    std::byte* ownShard(std::byte* bucketData, const plan::Bucket& bucket) const;
    std::size_t shardOffset(const plan::Bucket& bucket) const;
    std::size_t ownedElements() const;
    Result<void> runProgram(Compiled& compiled, StepContext context, const LoadBatch& load,
                            const StepInput& input, StepResult& result);
    Result<void> runCompute(Compiled& compiled, std::size_t index, StepContext& context,
                            const LoadBatch& load, const StepInput& input, StepResult& result);
    Result<void> communicate(const plan::Program& program, std::size_t index);
    Result<void> exchange(const plan::Program& program, const plan::Instruction& instruction);
    Result<void> receiveGradient(const plan::Program& program,
                                 const plan::Instruction& instruction);
    Result<void> reduceBucket(const plan::Program& program, const plan::Instruction& instruction,
                              std::size_t index);
    Result<void> sumWhole(std::byte* gradients, const plan::Instruction& instruction);
    Result<void> sumRounded(std::byte* gradients, const plan::Instruction& instruction);
    bool isRounded(const plan::Instruction& instruction) const;
    bool isLowRank(const plan::Instruction& instruction) const;
    Result<void> gatherBucket(const plan::Program& program, const plan::Instruction& instruction,
                              std::size_t index);
    Result<void> scatterBucket(const plan::Program& program, const plan::Instruction& instruction,
                               std::size_t index);
    Result<void> reduceStatistics(const plan::Instruction& instruction);
    Result<void> sumShared(const plan::Instruction& instruction);
    Result<void> reduceSums(const plan::Instruction& instruction, BatchSums& sums);
    std::size_t bytesOfValue(const plan::Program& program,
                             const plan::Instruction& instruction) const;
    bool reports() const;
    bool countsSquares() const;
    void roundAllParameters();
    const std::byte* updatedGradients() const;
    double shareCounted(const BatchSums& sums) const;
    void update(const StepInput& input, StepResult& result);
    void averageParameters(const StepInput& input);
    Result<void> waitForLane(const plan::Program& program, std::size_t index);
    Result<void> communicateRecorded(std::size_t index);
    void noteBegin(const Compiled& compiled, std::size_t index);
    void noteEnd(const plan::Instruction& instruction);
    void notePlace(const plan::Instruction& instruction, std::size_t index, std::int64_t nowNs);

    void searchBefore(const plan::Program& program, std::size_t index);
    void searchAfter(const plan::Program& program, std::size_t index);

    struct Search {
        std::optional<NonFinite> begin;
        KernelRequest request; ///< of the kernel that runs
    };

    Parts m_parts;
    const plan::Section& m_section;
    const plan::Coordinate m_place;
    Arena m_ownParameters;             ///< none where the communicator owns them
    std::span<std::byte> m_parameters; ///< the communicator's where ranks gather them
    Arena m_rounded;                   ///< the parameters in bf16; empty where values are not bf16
    std::span<std::byte> m_gathered;   ///< the communicator's: buckets that are whole for a while
    std::span<std::byte> m_gradients;  ///< the communicator's
    Arena m_gradientShards;            ///< where gradients are sharded
    std::span<std::byte> m_halves;     ///< the communicator's: a bucket in bf16 or fp16, on its way
    std::unique_ptr<PowerSgd> m_powerSgd; ///< where gradients travel so
    std::unique_ptr<ParameterUpdate> m_update;
    Arena m_average; ///< of the parameters, or the parameters themselves while they are swapped
    Arena m_best;
    bool m_averageIsUsed = false;
    Arena m_activations;
    std::vector<std::int32_t> m_labels;         ///< where the loss reads labels
    Arena m_numbers;                            ///< where it reads numbers
    std::array<double, kLossSums> m_lossSums{}; ///< of this rank's rows
    std::vector<std::int64_t> m_confusion;      ///< likewise
    std::vector<double> m_statistics;           ///< of the batch norms that are reduced
    std::vector<std::size_t> m_statisticsOf;    ///< by OperationId: first, in m_statistics
    std::map<std::pair<plan::Purpose, std::int64_t>, Compiled> m_compiled;
    const Compiled* m_running = nullptr; ///< whose instructions the communication lane runs
    BatchSums m_sums;        ///< of the step that runs, as the communication lane reduces them
    std::int64_t m_step = 0; ///< that runs
    std::optional<Search> m_search;            ///< while a step is searched
    std::unique_ptr<CommunicationLane> m_lane; ///< last: its thread ends first
};

} // namespace trainyard::engine
