// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Plan: the graph cut over the ranks. Who computes which rows, where each parameter lies, which
// gradients travel together, how many bytes each rank holds. A pure function of experiment, data
// counts and machine facts: every rank makes the same plan, and its hash is compared before the
// first step.
#pragma once

#include "engine/base/result.h"
#include "engine/graph/graph.h"
#include "engine/spec/experiment.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::plan {

/// What must be known of the data.
struct DataCounts {
    std::int64_t trainSamples = 0;
    std::int64_t validationSamples = 0;
    Shape sampleShape;
    std::int64_t classes = 0;    ///< of labels; 0: targets are numbers
    std::int64_t numbers = 0;    ///< to predict for each sample; 0: targets are labels
    std::int64_t vocabulary = 0; ///< inputs are indices below it; 0: inputs are numbers
};

/// What must be known of the machine that computes.
struct MachineFacts {
    /// Pictures with at least 16 channels lie in blocks of 16 (Layout::Blocked16).
    bool blockedPictures = false;
    /// It computes in bf16, faster than in fp32; none: not known yet.
    std::optional<bool> bf16 = {};
};

/// What values are stored in.
DType valueType(spec::Precision precision);

/// Consecutive rows of a batch.
struct RowRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// Rows of a global batch that a rank computes: consecutive, the first ranks take one more where it
/// does not divide, late ranks may get none. Each row belongs to exactly one rank.
RowRange rowsOfRank(std::int64_t batchRows, std::int64_t rank, std::int64_t worldSize);

/// The same rows in up to `accumulate` consecutive parts: as many on all ranks, none that is empty
/// everywhere.
std::vector<RowRange> microBatchesOfRank(std::int64_t batchRows, std::int64_t rank,
                                         std::int64_t worldSize, std::int64_t accumulate);

/// Gradients that travel together: one slice of the gradient arena.
struct Bucket {
    std::size_t firstElement = 0;
    std::size_t elements = 0; ///< with padding to worldSize x 64 bytes
    std::vector<graph::ParameterId> parameters;
};

/// A rank's part of a bucket: the equal slice that it updates where the optimizer is sharded.
struct Shard {
    std::size_t firstElement = 0;
    std::size_t elements = 0;
};
Shard shardOf(const Bucket& bucket, int rank, int worldSize);

struct MemoryByClass {
    std::size_t parameters = 0; ///< and their copy in bf16
    std::size_t gradients = 0;
    std::size_t optimizer = 0; ///< its state, and averaged and best weights
    std::size_t activations = 0;
    std::size_t total() const { return parameters + gradients + optimizer + activations; }
};

struct RankPlan {
    int rank = 0;
    std::string device;
    RowRange rows; ///< of a full batch
    MemoryByClass memory;
    std::size_t bytesSentPerStep = 0; ///< gradients and sums that leave this rank
    double flopsPerStep = 0;          ///< forward and backward
};

struct Plan {
    graph::Graph graph;
    DType type = DType::Fp32; ///< of values; all that is trained is of exactType(type)
    int worldSize = 1;
    std::int64_t batch = 0;
    std::int64_t accumulate = 1;  ///< micro-batches whose gradients are added up before an update
    bool shardsOptimizer = false; ///< ZeRO 1: a rank has the state of its shards only
    bool recompute = false;       ///< blocks are computed again before their backward
    DataCounts data;

    std::int64_t stepsPerEpoch = 0; ///< the last one may have fewer rows
    std::int64_t steps = 0;         ///< in all
    int optimizerSlots = 0;
    std::optional<double> emaDecay; ///< given: a moving average of the weights is kept
    bool keepsBest = false;         ///< a copy of the best epoch's weights is kept
    double learningRateFactor = 1;

    /// First element of each parameter in the parameter, gradient and optimizer arenas.
    std::vector<std::size_t> parameterOffset;
    std::size_t arenaElements = 0;
    std::vector<Bucket> buckets; ///< in the order their gradients are finished

    std::vector<RankPlan> ranks;
    std::uint64_t hash = 0;

    /// Rows of the batch of 0-based step `index` of an epoch.
    std::int64_t rowsOfStep(std::int64_t index) const;
};

/// Bytes of the parameters' copy in bf16; 0 where values are not bf16.
std::size_t roundedBytes(const Plan& plan);

struct PlanOutcome {
    Plan plan;
    Problems problems; ///< empty: the plan can run
};

PlanOutcome makePlan(const spec::Experiment& experiment, const DataCounts& data,
                     const MachineFacts& machine);

/// The plan as JSON ("trainyard.plan/1"), for people and scripts.
std::string toJson(const Plan& plan);

} // namespace trainyard::plan
