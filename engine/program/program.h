// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Program: what one rank does for one batch, as a flat list of instructions over memory that is
// laid out beforehand. Collectives and messages are instructions like any other, so their order and
// sizes on all ranks agree by construction, and each has a tag that is compared when ranks meet.
#pragma once

#include "engine/plan/plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::plan {

enum class Opcode : std::uint8_t {
    LoadBatch,        ///< inputs and labels of this rank's rows
    Forward,          ///< of `operation`, training
    Recompute,        ///< of `operation`: forward once more, for the backward of its block
    Backward,         ///< of `operation`
    Inference,        ///< of `operation`, without leaving anything for backward
    SumValue,         ///< `value`, of which each tensor rank has a part of the sum
    SumGradient,      ///< likewise its gradient
    GatherScores,     ///< what each tensor rank knows of its slice of the scores of `operation`
    SendValue,        ///< `value` to `peer`, a pipeline rank, which needs it for a later stage
    ReceiveValue,     ///< from `peer`
    SendGradient,     ///< what this rank adds to the gradient of `value`, to `peer`, which made it
    ReceiveGradient,  ///< from `peer`
    SumShared,        ///< gradient of a parameter that stages of several ranks use
    ReduceGradients,  ///< sum of `bucket` over the data parallel ranks
    ScatterGradients, ///< likewise, each rank gets its shard of the sum
    ReduceStatistics, ///< batch statistics of `operation` over the data parallel ranks
    ReduceSums,       ///< loss, correct rows and the wish to stop, over all ranks
    Update,           ///< clip and apply the optimizer to all parameters, or to this rank's shards
    GatherParameters  ///< shards of `bucket` from the data parallel ranks: after the update, or,
                      ///< where parameters are sharded, before they are used
};
std::string_view name(Opcode opcode);
/// An operation's computation; the others load, communicate or update.
bool runsKernel(Opcode opcode);

/// An operation whose statistics are reduced over the ranks runs in two instructions; so does the
/// forward pass of a loss over slices of the scores, with a GatherScores between.
enum class Phase : std::uint8_t {
    Whole,
    Collect, ///< fills the statistics of this rank's rows
    Apply    ///< computes with the statistics of all ranks
};

/// Which queue runs it. Instructions of one lane run in order.
enum class Lane : std::uint8_t { Compute, Communication };

struct Instruction {
    Opcode opcode = Opcode::LoadBatch;
    Lane lane = Lane::Compute;
    graph::OperationId operation = -1;
    int bucket = -1;
    int microBatch = 0; ///< whose rows it works on
    int turn = 0;       ///< of the schedule; other micro-batches may come between two of one's
    Phase phase = Phase::Whole;
    graph::ValueId value = -1;
    int peer = -1;
    int shared = -1;    ///< SumShared: index in Section::shared
    bool again = false; ///< SumValue of a block that is computed again
    bool adds = false;  ///< ReceiveGradient: to what is there already
    std::uint32_t tag = 0;
    /// Instructions of the other lane that must be done before this one starts.
    std::vector<int> waitsFor;
};

/// A buffer of the activation arena; bytes 0: there is none.
struct Placement {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool operator==(const Placement&) const = default;
};

/// While a rank has a bucket whole, from the instruction that first needs it to the last.
struct BucketWindow {
    int bucket = 0;
    int first = 0;
    int last = 0;
    Placement place;
};

/// In the order they open.
struct BucketWindows {
    std::vector<BucketWindow> all;
    std::vector<std::vector<int>> ofBucket; ///< indices, by bucket

    /// Of a window of the bucket that is open at an instruction; there must be one.
    const Placement& placeAt(int bucket, int instruction) const;
};

enum class Purpose : std::uint8_t { Training, Evaluation };

/// Where the values of one micro-batch lie.
struct Places {
    std::vector<Placement> values;           ///< by ValueId; values that run in place share one
    std::vector<Placement> gradients;        ///< by ValueId
    std::vector<Placement> saved;            ///< by OperationId
    std::vector<Placement> recomputedValues; ///< by ValueId, of blocks that are computed again
    std::vector<Placement> recomputedSaved;  ///< by OperationId
    /// Where values are bf16: a batch's numbers as they are loaded, in fp32, before they are
    /// rounded to the model's input.
    Placement loaded;
    Placement received; ///< a gradient that is then added to what is there
};

struct Program {
    Purpose purpose = Purpose::Training;
    std::int64_t batchRows = 0; ///< global
    RowRange rows;              ///< of this rank
    /// Of this rank; as many on all ranks, some may be empty. The first is the largest.
    std::vector<RowRange> microBatches;
    std::vector<Instruction> instructions;

    std::size_t activationBytes = 0;
    /// As many as micro-batches are alive at once, which take them in turn: one without a pipeline.
    std::vector<Places> places;

    /// Where parameters (ZeRO 3) and gradients (2 and 3) are sharded: the buckets that are whole
    /// for a while, in arenas of their own.
    BucketWindows parameterWindows;
    BucketWindows gradientWindows;
    std::size_t parameterBytes = 0;
    std::size_t gradientBytes = 0;

    /// By OperationId: the block that is computed again before its backward; -1: none.
    std::vector<int> blocks;
    /// By OperationId, then input: backward adds to the gradient instead of writing it.
    std::vector<std::vector<bool>> addsToGradient;
    /// By OperationId, then parameter: likewise, for parameters that operations share. Of the first
    /// micro-batch: in the others everything is added.
    std::vector<std::vector<bool>> addsToParameterGradient;

    std::size_t slotOf(const Instruction& instruction) const {
        return static_cast<std::size_t>(instruction.microBatch) % places.size();
    }
    const Places& placesOf(const Instruction& instruction) const {
        return places[slotOf(instruction)];
    }
    std::int64_t rowsOf(const Instruction& instruction) const {
        return microBatches[static_cast<std::size_t>(instruction.microBatch)].count;
    }
    /// The value is made by an operation of the recomputed block that `operation` belongs to.
    bool isMadeInBlockOf(graph::ValueId value, const graph::Graph& graph,
                         graph::OperationId operation) const;
    /// Where `instruction` finds or leaves a value: in a block that is computed again, recompute
    /// and backward have their own values.
    const Placement& placeOf(graph::ValueId value, const graph::Graph& graph,
                             const Instruction& instruction) const;
    const Placement& gradientPlaceOf(graph::ValueId value, const Instruction& instruction) const {
        return placesOf(instruction).gradients[static_cast<std::size_t>(value)];
    }
    /// Likewise what the instruction's operation saves.
    const Placement& savedPlaceOf(const Instruction& instruction) const;
};

/// By ParameterId: the operation whose backward is the last to write its gradient, which is the
/// first one in the graph that uses it.
std::vector<graph::OperationId> lastGradientWriters(const graph::Graph& graph);

/// The gradient of this value is asked for (something before it has parameters).
std::vector<bool> valuesWithGradient(const graph::Graph& graph);

/// The operation has a backward: it has parameters, or something before it has. `withGradient`: of
/// valuesWithGradient().
bool needsBackward(const graph::Graph& graph, const std::vector<bool>& withGradient,
                   graph::OperationId id);

/// Bytes that a GatherScores of this program brings together, those of all tensor ranks.
std::size_t scoreBytes(const graph::Graph& graph, const Program& program,
                       const Instruction& instruction);

/// For a batch of `batchRows` rows over all ranks.
Program compileProgram(const Plan& plan, int rank, Purpose purpose, std::int64_t batchRows);

} // namespace trainyard::plan
