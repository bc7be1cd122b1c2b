// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include "engine/base/check.h"
#include "engine/base/number_text.h"
#include "engine/plan/layouts.h"
#include "engine/program/program.h"
#include "engine/program/recompute.h"
#include "engine/spec/experiment_json.h"
#include "engine/spec/training.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace trainyard::plan {

namespace {

/// Gradients of a bucket wait for each other, so large buckets overlap less; small ones pay the
/// latency more often. Shared memory reduces 1 MiB in well under a millisecond.
constexpr std::size_t kBucketBytes = std::size_t{1} << 20;

std::size_t roundUp(std::size_t value, std::size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// Lays the parameters out in the order their gradients are finished (last operation first) and
/// closes a bucket when it is full.
void placeParameters(Plan& plan) {
    const std::size_t elementBytes = bytesOf(exactType(plan.type));
    const std::size_t padding = static_cast<std::size_t>(plan.worldSize) * 64 / elementBytes;
    plan.parameterOffset.assign(plan.graph.parameters.size(), 0);
    const std::vector<graph::OperationId> lastWriter = lastGradientWriters(plan.graph);
    Bucket open;
    std::size_t next = 0;
    const auto close = [&] {
        if (open.parameters.empty())
            return;
        next = open.firstElement + roundUp(next - open.firstElement, padding);
        open.elements = next - open.firstElement;
        plan.buckets.push_back(open);
        open = {next, 0, {}};
    };
    for (std::size_t i = plan.graph.operations.size(); i-- > 0;) {
        for (const graph::ParameterId id : plan.graph.operations[i].parameters) {
            const auto index = static_cast<std::size_t>(id);
            if (lastWriter[index] != static_cast<graph::OperationId>(i))
                continue; // shared with an earlier operation, which adds to its gradient later
            plan.parameterOffset[index] = next;
            const auto elements =
                static_cast<std::size_t>(elementCount(plan.graph.parameters[index].shape));
            next += roundUp(elements, 64 / elementBytes);
            open.parameters.push_back(id);
        }
        if ((next - open.firstElement) * elementBytes >= kBucketBytes)
            close();
    }
    close();
    plan.arenaElements = next;
}

/// Activation bytes of the largest batch of each kind. They depend on a rank's number of rows only,
/// so that a thousand ranks cost as much as two.
class ActivationBytes {
public:
    explicit ActivationBytes(const Plan& plan) : m_plan(plan) {}

    std::size_t ofRank(int rank) {
        const std::int64_t validation = m_plan.data.validationSamples;
        return std::max({of(rank, Purpose::Training, m_plan.rowsOfStep(0)),
                         of(rank, Purpose::Training, m_plan.rowsOfStep(m_plan.stepsPerEpoch - 1)),
                         of(rank, Purpose::Evaluation, std::min(m_plan.batch, validation)),
                         of(rank, Purpose::Evaluation, validation % m_plan.batch)});
    }

private:
    std::size_t of(int rank, Purpose purpose, std::int64_t batchRows) {
        const std::int64_t rows = rowsOfRank(batchRows, rank, m_plan.worldSize).count;
        const auto [place, isNew] = m_bytes.try_emplace({purpose, rows}, 0);
        if (isNew && rows > 0)
            place->second = compileProgram(m_plan, rank, purpose, batchRows).activationBytes;
        return place->second;
    }

    const Plan& m_plan;
    std::map<std::pair<Purpose, std::int64_t>, std::size_t> m_bytes;
};

/// Of one sample.
double recomputedFlops(const Plan& plan) {
    if (!plan.recompute)
        return 0;
    const std::vector<bool> again = runsAgain(plan.graph, recomputedBlocks(plan.graph));
    double flops = 0;
    for (std::size_t i = 0; i < again.size(); ++i)
        if (again[i])
            flops += plan.graph.forwardFlops(plan.graph.operations[i]);
    return flops;
}

RankPlan planRank(const Plan& plan, int rank, const spec::Experiment& experiment,
                  ActivationBytes& activations) {
    RankPlan result;
    result.rank = rank;
    const auto index = static_cast<std::size_t>(rank);
    result.device = experiment.devices.empty() ? "local/cpu:" + std::to_string(rank)
                                               : experiment.devices[index];
    result.rows = rowsOfRank(plan.rowsOfStep(0), rank, plan.worldSize);
    const std::size_t arena = plan.arenaElements * bytesOf(exactType(plan.type));
    result.memory.parameters = arena + roundedBytes(plan);
    result.memory.gradients = arena;
    const int copies = plan.optimizerSlots + (plan.emaDecay ? 1 : 0) + (plan.keepsBest ? 1 : 0);
    result.memory.optimizer = arena * static_cast<std::size_t>(copies);
    if (plan.shardsOptimizer)
        result.memory.optimizer -= static_cast<std::size_t>(plan.optimizerSlots) *
                                   (arena - arena / static_cast<std::size_t>(plan.worldSize));
    result.memory.activations = activations.ofRank(rank);
    const double share = static_cast<double>(result.rows.count);
    result.flopsPerStep = share * (3 * plan.graph.forwardFlops() + recomputedFlops(plan));
    // Reduce-scatter and all-gather each move (n - 1) / n of the bytes.
    const auto world = static_cast<std::size_t>(plan.worldSize);
    result.bytesSentPerStep = world == 1 ? 0 : 2 * (world - 1) * arena / world;
    return result;
}

class Hasher {
public:
    void add(std::string_view text) {
        for (const char c : text)
            step(static_cast<unsigned char>(c));
        step(0xff);
    }
    void add(std::uint64_t number) {
        for (int i = 0; i < 8; ++i)
            step(static_cast<unsigned char>(number >> (8 * i)));
    }
    std::uint64_t value() const { return m_value; }

private:
    // FNV-1a, 64 bit: http://www.isthe.com/chongo/tech/comp/fnv/
    void step(unsigned char byte) { m_value = (m_value ^ byte) * 0x100000001b3ull; }
    std::uint64_t m_value = 0xcbf29ce484222325ull;
};

/// Everything that must be alike on all ranks.
std::uint64_t hashOf(const Plan& plan, const spec::Experiment& experiment) {
    Hasher hasher;
    hasher.add(spec::toJson(experiment));
    hasher.add(static_cast<std::uint64_t>(plan.worldSize));
    hasher.add(static_cast<std::uint64_t>(plan.data.trainSamples));
    hasher.add(static_cast<std::uint64_t>(plan.data.validationSamples));
    for (const std::int64_t count : {plan.data.classes, plan.data.numbers, plan.data.vocabulary})
        hasher.add(static_cast<std::uint64_t>(count));
    hasher.add(static_cast<std::uint64_t>(plan.steps));
    for (const graph::ValueInfo& value : plan.graph.values)
        hasher.add(static_cast<std::uint64_t>(value.layout));
    for (const std::size_t offset : plan.parameterOffset)
        hasher.add(offset);
    for (const Bucket& bucket : plan.buckets)
        hasher.add(bucket.elements);
    return hasher.value();
}

void checkStopping(const spec::Experiment& experiment, const DataCounts& data, Problems& problems) {
    const auto& stopping = experiment.training.earlyStopping;
    if (stopping && stopping->metric == "validation_accuracy" && data.numbers > 0)
        problems.push_back({{"Numbers to predict have no accuracy."},
                            "training.early_stopping.metric",
                            {"Choose validation_loss."}});
}

void checkPrecision(const spec::Experiment& experiment, const MachineFacts& machine,
                    Problems& problems) {
    if (experiment.precision == spec::Precision::Bf16 && machine.bf16 == false)
        problems.push_back(
            {{"This machine cannot train in bf16: its processor has no matrix unit (AMX), and "
              "without one bf16 is slower than fp32."},
             "precision",
             {"Choose fp32."}});
}

void checkInput(const spec::Experiment& experiment, const DataCounts& data, Problems& problems) {
    if (data.sampleShape.empty() || data.sampleShape == experiment.model.inputShape)
        return;
    problems.push_back({{"The model takes %1, the data gives %2.",
                         {describe(experiment.model.inputShape), describe(data.sampleShape)}},
                        "model.input.shape",
                        {"Set the input shape to %1.", {describe(data.sampleShape)}}});
}

} // namespace

DType valueType(spec::Precision precision) {
    switch (precision) {
    case spec::Precision::Fp64:
        return DType::Fp64;
    case spec::Precision::Bf16:
        return DType::Bf16;
    case spec::Precision::Fp32:
        break;
    }
    return DType::Fp32;
}

std::size_t roundedBytes(const Plan& plan) {
    return plan.type == DType::Bf16 ? roundUp(plan.arenaElements * bytesOf(DType::Bf16), 64) : 0;
}

RowRange rowsOfRank(std::int64_t batchRows, std::int64_t rank, std::int64_t worldSize) {
    const std::int64_t each = batchRows / worldSize;
    const std::int64_t extra = batchRows % worldSize;
    return {rank * each + std::min(rank, extra), each + (rank < extra ? 1 : 0)};
}

std::vector<RowRange> microBatchesOfRank(std::int64_t batchRows, std::int64_t rank,
                                         std::int64_t worldSize, std::int64_t accumulate) {
    const RowRange rows = rowsOfRank(batchRows, rank, worldSize);
    const std::int64_t parts =
        std::clamp(rowsOfRank(batchRows, 0, worldSize).count, std::int64_t{1}, accumulate);
    std::vector<RowRange> microBatches;
    for (std::int64_t part = 0; part < parts; ++part) {
        RowRange micro = rowsOfRank(rows.count, part, parts);
        micro.first += rows.first;
        microBatches.push_back(micro);
    }
    return microBatches;
}

Shard shardOf(const Bucket& bucket, int rank, int worldSize) {
    const std::size_t elements = bucket.elements / static_cast<std::size_t>(worldSize);
    return {bucket.firstElement + elements * static_cast<std::size_t>(rank), elements};
}

std::int64_t Plan::rowsOfStep(std::int64_t index) const {
    return std::min(batch, data.trainSamples - index * batch);
}

PlanOutcome makePlan(const spec::Experiment& experiment, const DataCounts& data,
                     const MachineFacts& machine) {
    PlanOutcome outcome;
    outcome.problems = spec::validate(experiment);
    if (!outcome.problems.empty())
        return outcome;
    graph::BuiltGraph built = graph::buildGraph(
        experiment.model,
        {.classes = data.classes, .numbers = data.numbers, .vocabulary = data.vocabulary});
    outcome.problems = std::move(built.problems);
    checkInput(experiment, data, outcome.problems);
    checkStopping(experiment, data, outcome.problems);
    checkPrecision(experiment, machine, outcome.problems);
    if (data.trainSamples < 1)
        outcome.problems.push_back({{"The training data has no samples."}, "data.train"});
    if (!outcome.problems.empty())
        return outcome;

    Plan& plan = outcome.plan;
    plan.graph = std::move(built.graph);
    if (plan.graph.parameterElements() == 0) {
        outcome.problems.push_back({{"The model has nothing to learn."},
                                    "model.layers",
                                    {"Add a linear or conv2d layer."}});
        return outcome;
    }
    plan.type = valueType(experiment.precision);
    if (plan.type == DType::Bf16)
        assignLayouts(plan.graph, Layout::ChannelsLast);
    else if (machine.blockedPictures)
        assignLayouts(plan.graph, Layout::Blocked16);
    plan.worldSize = static_cast<int>(experiment.parallel.data);
    plan.batch = experiment.training.batch;
    plan.accumulate = experiment.parallel.accumulate;
    plan.shardsOptimizer = experiment.parallel.zero == 1 && plan.worldSize > 1;
    plan.recompute = experiment.parallel.recompute == "blocks";
    plan.data = data;
    plan.stepsPerEpoch = (data.trainSamples + plan.batch - 1) / plan.batch;
    plan.steps = plan.stepsPerEpoch * experiment.training.epochs;
    if (experiment.training.maxSteps)
        plan.steps = std::min(plan.steps, *experiment.training.maxSteps);
    plan.optimizerSlots = spec::optimizerSlots(experiment.training.optimizer);
    plan.emaDecay = experiment.training.emaDecay;
    plan.keepsBest = experiment.training.earlyStopping.has_value();
    plan.learningRateFactor = spec::learningRateFactor(experiment.training);
    placeParameters(plan);
    ActivationBytes activations(plan);
    for (int rank = 0; rank < plan.worldSize; ++rank)
        plan.ranks.push_back(planRank(plan, rank, experiment, activations));
    plan.hash = hashOf(plan, experiment);
    return outcome;
}

} // namespace trainyard::plan
