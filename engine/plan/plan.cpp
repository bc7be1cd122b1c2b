// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include "engine/base/check.h"
#include "engine/base/number_text.h"
#include "engine/plan/balance.h"
#include "engine/plan/bucket_size.h"
#include "engine/plan/make_sections.h"
#include "engine/program/program.h"
#include "engine/program/recompute.h"
#include "engine/program/rehearsal.h"
#include "engine/spec/experiment_json.h"
#include "engine/spec/training.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace trainyard::plan {

namespace {

/// Of one sample.
double recomputedFlops(const Plan& plan, const graph::Graph& graph) {
    if (!plan.recompute)
        return 0;
    const std::vector<bool> again = runsAgain(graph, recomputedBlocks(graph));
    double flops = 0;
    for (std::size_t i = 0; i < again.size(); ++i)
        if (again[i])
            flops += graph.forwardFlops(graph.operations[i]);
    return flops;
}

/// Of a collective of `bytes` over `ranks` that moves every byte once: reduce-scatter, all-gather.
std::size_t onceAround(std::size_t bytes, int ranks) {
    const auto count = static_cast<std::size_t>(ranks);
    return (count - 1) * bytes / count;
}

TrafficByKind trafficOf(const Plan& plan, const Section& section, const Program& program) {
    TrafficByKind sent;
    const std::size_t exact = bytesOf(exactType(plan.type));
    for (const Instruction& instruction : program.instructions) {
        const auto valueBytes = [&] {
            const graph::ValueInfo& value =
                section.graph.values[static_cast<std::size_t>(instruction.value)];
            return static_cast<std::size_t>(storedElements(value.shape, value.layout) *
                                            program.rowsOf(instruction)) *
                   bytesOf(plan.type);
        };
        switch (instruction.opcode) {
        case Opcode::SumValue:
        case Opcode::SumGradient:
            sent.tensors += 2 * onceAround(valueBytes(), plan.mesh.tensor);
            break;
        case Opcode::GatherScores:
            sent.tensors +=
                onceAround(scoreBytes(section.graph, program, instruction), plan.mesh.tensor);
            break;
        case Opcode::SendValue:
        case Opcode::SendGradient:
            sent.messages += valueBytes();
            break;
        case Opcode::ReduceGradients:
        case Opcode::ScatterGradients:
        case Opcode::GatherParameters: {
            const std::size_t times = instruction.opcode == Opcode::ReduceGradients ? 2 : 1;
            const std::size_t whole =
                section.buckets[static_cast<std::size_t>(instruction.bucket)].elements * exact;
            const std::size_t travels = instruction.opcode == Opcode::GatherParameters
                                            ? whole
                                            : wireBytes(plan, section, instruction.bucket);
            sent.gradients += times * onceAround(travels, plan.mesh.data);
            sent.uncompressedGradients += times * onceAround(whole, plan.mesh.data);
            break;
        }
        case Opcode::SumShared: {
            const SharedParameter& shared =
                section.shared[static_cast<std::size_t>(instruction.shared)];
            const auto id = static_cast<std::size_t>(shared.parameter);
            sent.messages += 2 * onceAround(static_cast<std::size_t>(
                                                elementCount(section.graph.parameters[id].shape)) *
                                                exact,
                                            static_cast<int>(shared.ranks.size()));
            break;
        }
        default:
            break;
        }
    }
    return sent;
}

/// What programs tell of a rank. They depend on its section and its number of rows only, so that a
/// thousand ranks cost as much as two.
class ProgramFigures {
public:
    explicit ProgramFigures(const Plan& plan) : m_plan(plan) {}

    /// Of the largest batch of each kind.
    std::size_t activationBytes(int rank) { return most(rank, &Figures::activationBytes); }
    /// Of buckets that are whole for a while.
    std::size_t gatheredBytes(int rank) { return most(rank, &Figures::gatheredBytes); }
    std::size_t gradientBytes(int rank) { return most(rank, &Figures::gradientBytes); }

    /// Of a full batch.
    const TrafficByKind& sentPerStep(int rank) {
        return of(rank, Purpose::Training, m_plan.rowsOfStep(0)).sent;
    }

private:
    struct Figures {
        std::size_t activationBytes = 0;
        std::size_t gatheredBytes = 0;
        std::size_t gradientBytes = 0;
        TrafficByKind sent;
    };

    std::size_t most(int rank, std::size_t Figures::*figure) {
        const std::int64_t validation = m_plan.data.validationSamples;
        std::size_t most = 0;
        for (const std::int64_t rows :
             {m_plan.rowsOfStep(0), m_plan.rowsOfStep(m_plan.stepsPerEpoch - 1)})
            most = std::max(most, of(rank, Purpose::Training, rows).*figure);
        for (const std::int64_t rows :
             {std::min(m_plan.batch, validation), validation % m_plan.batch})
            most = std::max(most, of(rank, Purpose::Evaluation, rows).*figure);
        return most;
    }

    const Figures& of(int rank, Purpose purpose, std::int64_t batchRows) {
        const Section& section = m_plan.sectionOf(rank);
        const std::int64_t rows =
            m_plan.rowsOf(batchRows, m_plan.mesh.coordinateOf(rank).data).count;
        const auto [place, isNew] =
            m_figures.try_emplace({&section, purpose, batchRows, rows}, Figures{});
        if (isNew && batchRows > 0) {
            const Program program = compileProgram(m_plan, rank, purpose, batchRows);
            place->second = {rows > 0 ? program.activationBytes : 0, program.parameterBytes,
                             program.gradientBytes, trafficOf(m_plan, section, program)};
        }
        return place->second;
    }

    const Plan& m_plan;
    std::map<std::tuple<const Section*, Purpose, std::int64_t, std::int64_t>, Figures> m_figures;
};

/// All but activations. `gathered`, `reduced`: of buckets that are whole for a while.
MemoryByClass memoryOf(const Plan& plan, const Section& section, std::size_t gathered,
                       std::size_t reduced) {
    const std::size_t arena = section.arenaElements * bytesOf(exactType(plan.type));
    const std::size_t shard = arena / static_cast<std::size_t>(plan.mesh.data);
    const auto copies =
        static_cast<std::size_t>((plan.emaDecay ? 1 : 0) + (plan.keepsBest ? 1 : 0));
    const auto slots = static_cast<std::size_t>(plan.optimizerSlots);
    MemoryByClass memory;
    memory.parameters =
        (plan.shardsParameters ? shard + gathered : arena) + roundedBytes(plan, section, gathered);
    memory.gradients =
        (plan.shardsGradients ? shard + reduced : arena) + compressionBytes(plan, section);
    memory.optimizer = slots * (plan.shardsOptimizer ? shard : arena) +
                       copies * (plan.shardsParameters ? shard : arena);
    return memory;
}

RankPlan planRank(const Plan& plan, int rank, const spec::Experiment& experiment,
                  ProgramFigures& figures) {
    RankPlan result;
    result.rank = rank;
    result.place = plan.mesh.coordinateOf(rank);
    const Section& section = plan.sectionOf(rank);
    const auto index = static_cast<std::size_t>(rank);
    result.device = experiment.devices.empty() ? "local/cpu:" + std::to_string(rank)
                                               : experiment.devices[index];
    result.rows = plan.rowsOf(plan.rowsOfStep(0), result.place.data);
    result.memory =
        memoryOf(plan, section, figures.gatheredBytes(rank), figures.gradientBytes(rank));
    result.memory.activations = figures.activationBytes(rank);
    const double share = static_cast<double>(result.rows.count);
    result.flopsPerStep =
        share * (3 * section.graph.forwardFlops() + recomputedFlops(plan, section.graph));
    result.sentPerStep = figures.sentPerStep(rank);
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
    for (const int extent : {plan.mesh.data, plan.mesh.tensor, plan.mesh.pipeline})
        hasher.add(static_cast<std::uint64_t>(extent));
    hasher.add(static_cast<std::uint64_t>(plan.data.trainSamples));
    hasher.add(static_cast<std::uint64_t>(plan.data.validationSamples));
    for (const std::int64_t count : {plan.data.classes, plan.data.numbers, plan.data.vocabulary})
        hasher.add(static_cast<std::uint64_t>(count));
    hasher.add(static_cast<std::uint64_t>(plan.steps));
    for (const double end : plan.shareEnds)
        hasher.add(std::bit_cast<std::uint64_t>(end));
    for (const Section& section : plan.sections) {
        for (const graph::ValueInfo& value : section.graph.values)
            hasher.add(static_cast<std::uint64_t>(value.layout));
        for (const int stage : section.stageOf)
            hasher.add(static_cast<std::uint64_t>(stage));
        for (const std::size_t offset : section.parameterOffset)
            hasher.add(offset);
        for (const Bucket& bucket : section.buckets)
            hasher.add(bucket.elements);
    }
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

/// Skip connections may cross the stages of an interleaved pipeline in an order that it cannot
/// keep.
void checkSchedule(const Plan& plan, Problems& problems) {
    if (plan.stagesOfRank == 1)
        return;
    for (const Purpose purpose : {Purpose::Training, Purpose::Evaluation}) {
        const Rehearsal rehearsal =
            rehearse(plan, purpose, plan.rowsOfStep(0),
                     [](int, const Program&, const Instruction&) { return 1.0; });
        if (!rehearsal.problem.empty()) {
            problems.push_back(
                {{"The interleaved schedule cannot run this model in these stages: %1.",
                  {rehearsal.problem}},
                 "parallel.schedule",
                 {"Choose the schedule 1f1b, or other cuts."}});
            return;
        }
    }
}

/// What was chosen, else what was measured for the transport, else the usual size.
std::size_t bucketBytesOf(const spec::ParallelSpec& parallel, const MachineFacts& machine) {
    if (parallel.bucketBytes > 0)
        return static_cast<std::size_t>(parallel.bucketBytes);
    const std::size_t measured =
        parallel.transport == "gloo" ? machine.networkBucketBytes : machine.bucketBytes;
    return measured > 0 ? measured : kUsualBucketBytes;
}

/// As given, or as the speeds say.
Balance balanceOf(const Plan& plan, const spec::Experiment& experiment,
                  const MachineFacts& machine) {
    return experiment.parallel.balance == "measured"
               ? balanceOf(plan.mesh, experiment.training.batch, machine.speeds)
               : Balance{experiment.parallel.shares, {}};
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

std::size_t roundedBytes(const Plan& plan, const Section& section, std::size_t gathered) {
    if (plan.type != DType::Bf16)
        return 0;
    const std::size_t elements =
        plan.shardsParameters ? gathered / bytesOf(exactType(plan.type)) : section.arenaElements;
    return (elements * bytesOf(DType::Bf16) + 63) / 64 * 64;
}

std::size_t compressionBytes(const Plan& plan, const Section& section) {
    if (rounds(plan.compression))
        return section.compressedElements() * bytesOf(DType::Bf16); // fp16 takes as much
    return section.lowRank.elements() * bytesOf(exactType(plan.type));
}

RowRange evenRows(std::int64_t count, std::int64_t part, std::int64_t parts) {
    const std::int64_t each = count / parts;
    const std::int64_t extra = count % parts;
    return {part * each + std::min(part, extra), each + (part < extra ? 1 : 0)};
}

std::vector<double> shareEndsOf(const std::vector<double>& shares) {
    std::vector<double> ends;
    double sum = 0;
    for (const double share : shares)
        ends.push_back(sum += share);
    for (double& end : ends)
        end /= sum;
    return ends;
}

RowRange rowsOfShare(std::int64_t batchRows, int coordinate, int dataRanks,
                     const std::vector<double>& shareEnds) {
    if (shareEnds.empty())
        return evenRows(batchRows, coordinate, dataRanks);
    const auto end = [&](int rank) {
        return rank < 0 ? std::int64_t{0}
                        : std::llround(static_cast<double>(batchRows) *
                                       shareEnds[static_cast<std::size_t>(rank)]);
    };
    const std::int64_t first = end(coordinate - 1);
    return {first, end(coordinate) - first};
}

Shard shardOf(const Bucket& bucket, int rank, int worldSize) {
    const std::size_t elements = bucket.elements / static_cast<std::size_t>(worldSize);
    return {bucket.firstElement + elements * static_cast<std::size_t>(rank), elements};
}

RowRange Plan::rowsOf(std::int64_t batchRows, int dataCoordinate) const {
    return rowsOfShare(batchRows, dataCoordinate, mesh.data, shareEnds);
}

std::int64_t Plan::mostRowsOf(std::int64_t batchRows) const {
    std::int64_t most = 0;
    for (int coordinate = 0; coordinate < mesh.data; ++coordinate)
        most = std::max(most, rowsOf(batchRows, coordinate).count);
    return most;
}

std::vector<RowRange> Plan::microBatchesOf(std::int64_t batchRows, int dataCoordinate) const {
    const RowRange rows = rowsOf(batchRows, dataCoordinate);
    // A pipeline's schedule needs its number of micro-batches, even if some have no rows.
    const std::int64_t most = mesh.pipeline > 1 ? microBatches : mostRowsOf(batchRows);
    const std::int64_t parts = std::clamp(most, std::int64_t{1}, microBatches);
    std::vector<RowRange> all;
    for (std::int64_t part = 0; part < parts; ++part) {
        RowRange micro = evenRows(rows.count, part, parts);
        micro.first += rows.first;
        all.push_back(micro);
    }
    return all;
}

const Section& Plan::sectionOf(int rank) const {
    const Coordinate place = mesh.coordinateOf(rank);
    return sections[static_cast<std::size_t>(place.pipeline * mesh.tensor + place.tensor)];
}

PipelineShape Plan::pipelineShape() const {
    // Alone, a rank takes one micro-batch after the other.
    const bool alone = mesh.pipeline == 1;
    return {.kind = alone ? ScheduleKind::OneForwardOneBackward : schedule,
            .ranks = mesh.pipeline,
            .stagesOfRank = stagesOfRank,
            .microBatches = static_cast<int>(microBatches)};
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
    plan.mesh = {.data = static_cast<int>(experiment.parallel.data),
                 .tensor = static_cast<int>(experiment.parallel.tensor),
                 .pipeline = static_cast<int>(experiment.parallel.pipeline)};
    plan.worldSize = plan.mesh.worldSize();
    const Balance balance = balanceOf(plan, experiment, machine);
    plan.shareEnds = shareEndsOf(balance.shares);
    plan.awaitsSpeeds = experiment.parallel.balance == "measured" && machine.speeds.empty() &&
                        plan.mesh.data * plan.mesh.pipeline > 1;
    plan.schedule = scheduleOf(experiment.parallel.schedule);
    plan.stagesOfRank = plan.mesh.pipeline > 1 && plan.schedule == ScheduleKind::Interleaved
                            ? static_cast<int>(experiment.parallel.stagesPerRank)
                            : 1;
    if (plan.mesh.data > 1)
        plan.compression = compressionOf(experiment.parallel.compression);
    if (plan.compression == Compression::PowerSgd) {
        plan.compressionRank = experiment.parallel.compressionRank;
        plan.compressionWarmup = experiment.parallel.compressionWarmup;
    }
    plan.bucketBytes = bucketBytesOf(experiment.parallel, machine);
    plan.batch = experiment.training.batch;
    plan.microBatches = experiment.parallel.accumulate * experiment.parallel.microBatches;
    if (plan.mesh.data > 1) {
        plan.shardsOptimizer = experiment.parallel.zero >= 1;
        plan.shardsGradients = experiment.parallel.zero >= 2;
        plan.shardsParameters = experiment.parallel.zero >= 3;
    }
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
    outcome.problems = makeSections(plan, machine, experiment.parallel.cuts, balance.stageSpeeds);
    if (!outcome.problems.empty())
        return outcome;
    checkSchedule(plan, outcome.problems);
    if (!outcome.problems.empty())
        return outcome;
    ProgramFigures figures(plan);
    for (int rank = 0; rank < plan.worldSize; ++rank)
        plan.ranks.push_back(planRank(plan, rank, experiment, figures));
    plan.hash = hashOf(plan, experiment);
    return outcome;
}

} // namespace trainyard::plan
