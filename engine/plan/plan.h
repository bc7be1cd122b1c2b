// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Plan: the graph cut over a mesh of ranks. Who computes which layers of which rows, where each
// parameter lies, which gradients travel together, how many bytes each rank holds. A pure function
// of experiment, data counts and machine facts: every rank makes the same plan, and its hash is
// compared before the first step.
#pragma once

#include "engine/base/result.h"
#include "engine/graph/graph.h"
#include "engine/plan/compression.h"
#include "engine/plan/mesh.h"
#include "engine/plan/section.h"
#include "engine/program/schedule.h"
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
    /// automaticBucketBytes() inside the machine and over a network; 0: not known. The process that
    /// starts a run looks them up once and tells all ranks, so that they cut the same buckets.
    std::size_t bucketBytes = 0;
    std::size_t networkBucketBytes = 0;
    /// Of the ranks, as they were measured, in any unit; empty: not measured. Used where
    /// `parallel.balance` asks for it.
    std::vector<double> speeds = {};
};

/// What values are stored in.
DType valueType(spec::Precision precision);

/// Consecutive rows of a batch.
struct RowRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// `count` rows in `parts` consecutive ranges: the first ones take one more where it does not
/// divide, late ones may be empty. Each row belongs to exactly one part.
RowRange evenRows(std::int64_t count, std::int64_t part, std::int64_t parts);

/// Where the shares of the data parallel ranks end, of 1; empty where all are alike.
std::vector<double> shareEndsOf(const std::vector<double>& shares);
/// Rows of a global batch that the ranks of one data coordinate compute.
RowRange rowsOfShare(std::int64_t batchRows, int coordinate, int dataRanks,
                     const std::vector<double>& shareEnds);

/// A rank's part of a bucket: the equal slice that it updates where the optimizer is sharded.
struct Shard {
    std::size_t firstElement = 0;
    std::size_t elements = 0;
};
Shard shardOf(const Bucket& bucket, int rank, int worldSize);

struct MemoryByClass {
    std::size_t parameters = 0; ///< and their copy in bf16; with shards what is gathered, too
    std::size_t gradients = 0;
    std::size_t optimizer = 0; ///< its state, and averaged and best weights
    std::size_t activations = 0;
    std::size_t total() const { return parameters + gradients + optimizer + activations; }
};

/// Bytes that leave a rank, in a full batch. With PowerSGD after its warm-up.
struct TrafficByKind {
    std::size_t gradients = 0;             ///< to data parallel ranks; with ZeRO parameters, too
    std::size_t uncompressedGradients = 0; ///< what `gradients` would be without compression
    std::size_t tensors = 0;  ///< sums over tensor ranks, and what a loss over slices gathers
    std::size_t messages = 0; ///< values and gradients to other stages of the pipeline
    std::size_t total() const { return gradients + tensors + messages; }
};

struct RankPlan {
    int rank = 0;
    Coordinate place;
    std::string device;
    RowRange rows; ///< of a full batch
    MemoryByClass memory;
    TrafficByKind sentPerStep;
    double flopsPerStep = 0; ///< forward and backward
};

struct Plan {
    graph::Graph graph;       ///< of the whole model
    DType type = DType::Fp32; ///< of values; all that is trained is of exactType(type)
    Mesh mesh;
    int worldSize = 1;             ///< of the mesh
    std::vector<double> shareEnds; ///< see shareEndsOf()
    /// Shares and cuts are to follow from speeds, which were not measured yet: they are equal.
    bool awaitsSpeeds = false;
    std::int64_t batch = 0;
    std::int64_t microBatches = 1; ///< whose gradients are added up before an update
    ScheduleKind schedule = ScheduleKind::OneForwardOneBackward;
    int stagesOfRank = 1;
    bool shardsOptimizer = false;  ///< ZeRO 1 and up: a rank has the state of its shards only
    bool shardsGradients = false;  ///< ZeRO 2 and up: likewise the gradients
    bool shardsParameters = false; ///< ZeRO 3: likewise the parameters
    Compression compression = Compression::None; ///< None where no gradients travel
    std::int64_t compressionRank = 0;            ///< of PowerSGD, as the next
    std::int64_t compressionWarmup = 0;          ///< updates with whole gradients before it
    std::size_t bucketBytes = 0;                 ///< a bucket of gradients ends when it is so large
    bool recompute = false; ///< blocks are computed again before their backward
    DataCounts data;

    std::int64_t stepsPerEpoch = 0; ///< the last one may have fewer rows
    std::int64_t steps = 0;         ///< in all
    int optimizerSlots = 0;
    std::optional<double> emaDecay; ///< given: a moving average of the weights is kept
    bool keepsBest = false;         ///< a copy of the best epoch's weights is kept
    double learningRateFactor = 1;

    std::vector<Section> sections;   ///< by pipeline, then tensor coordinate
    std::vector<std::string> stages; ///< the first layer of each
    std::vector<RankPlan> ranks;
    std::uint64_t hash = 0;

    /// Rows of the batch of 0-based step `index` of an epoch.
    std::int64_t rowsOfStep(std::int64_t index) const;
    const Section& sectionOf(int rank) const;
    int zero() const { return int{shardsOptimizer} + int{shardsGradients} + int{shardsParameters}; }
    PipelineShape pipelineShape() const;
    /// rowsOfShare() of this plan.
    RowRange rowsOf(std::int64_t batchRows, int dataCoordinate) const;
    /// Of the data coordinate that has most.
    std::int64_t mostRowsOf(std::int64_t batchRows) const;
    /// The same rows in consecutive parts: as many on all ranks, the first is the largest. Without
    /// a pipeline none is empty everywhere.
    std::vector<RowRange> microBatchesOf(std::int64_t batchRows, int dataCoordinate) const;
};

/// Bytes of the section's parameters' copy in bf16; 0 where values are not bf16. `gathered`: bytes
/// of the parameters that are whole for a while, where they are sharded.
std::size_t roundedBytes(const Plan& plan, const Section& section, std::size_t gathered = 0);

/// Bytes of what compression keeps: the largest bucket rounded, or all that PowerSGD needs.
std::size_t compressionBytes(const Plan& plan, const Section& section);

struct PlanOutcome {
    Plan plan;
    Problems problems; ///< empty: the plan can run
};

PlanOutcome makePlan(const spec::Experiment& experiment, const DataCounts& data,
                     const MachineFacts& machine);

struct Price;

/// The plan as JSON ("trainyard.plan/1"), for people and scripts; with a price also the seconds of
/// a step.
std::string toJson(const Plan& plan, const Price* price = nullptr);

} // namespace trainyard::plan
