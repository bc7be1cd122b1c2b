// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/program/price.h"

#include "engine/plan/kernel_task.h"
#include "engine/program/program.h"
#include "engine/program/rehearsal.h"
#include "engine/spec/devices.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace trainyard::plan {

namespace {

using graph::at;

/// Sums of a step that all ranks add up, as fp64.
constexpr double kSumsBytes = 88;

std::string transportOf(const PriceSetting& setting) {
    return setting.overNetwork ? "gloo" : "shared_memory";
}

bool communicates(Opcode opcode) {
    return !runsKernel(opcode) && opcode != Opcode::LoadBatch && opcode != Opcode::Update;
}

/// Seconds of the instructions of one plan.
class Pricer {
public:
    Pricer(const Plan& plan, const Calibration& calibration, const PriceSetting& setting)
        : m_plan(plan), m_calibration(calibration), m_setting(setting) {}

    double secondsOf(int rank, const Program& program, const Instruction& instruction) const {
        const Section& section = m_plan.sectionOf(rank);
        double seconds = communicates(instruction.opcode) ? exchange(section, program, instruction)
                                                          : timeOf(instructionTask());
        if (runsKernel(instruction.opcode))
            seconds += kernel(section, program, instruction);
        else if (instruction.opcode == Opcode::LoadBatch)
            seconds += load(program, instruction);
        else if (instruction.opcode == Opcode::Update)
            seconds += update(section);
        return seconds;
    }

private:
    double timeOf(const CalibrationTask& task) const {
        return m_calibration.seconds(task, m_setting.threadsPerRank, m_plan.worldSize);
    }

    double kernel(const Section& section, const Program& program,
                  const Instruction& instruction) const {
        const graph::Operation& operation = section.graph.operations[at(instruction.operation)];
        const std::int64_t rows = program.rowsOf(instruction);
        if (rows == 0)
            return 0;
        const graph::ValueId input = operation.inputs.front();
        const Shape& in = section.graph.values[at(input)].shape;
        const Shape& out = operation.outputs.empty()
                               ? in
                               : section.graph.values[at(operation.outputs.front())].shape;
        if (operation.kind == graph::OperationKind::Reshape && copiesNothing(section, operation))
            return 0;
        const double seconds =
            timeOf(kernelTask({.kind = operation.kind,
                               .attributes = operation.attributes,
                               .input = in,
                               .output = out,
                               .type = m_plan.type,
                               .rows = rows,
                               .backward = instruction.opcode == Opcode::Backward,
                               .inputGradient = section.withGradient[at(input)]}));
        // Statistics in one pass over the values, their use in another.
        return instruction.phase == Phase::Whole ? seconds : seconds / 2;
    }

    static bool copiesNothing(const Section& section, const graph::Operation& operation) {
        return section.graph.values[at(operation.inputs.front())].layout ==
               section.graph.values[at(operation.outputs.front())].layout;
    }

    double load(const Program& program, const Instruction& instruction) const {
        const std::int64_t elements =
            elementCount(m_plan.data.sampleShape) * program.rowsOf(instruction);
        return timeOf(
            copyTask(elements * static_cast<std::int64_t>(bytesOf(exactType(m_plan.type)))));
    }

    double update(const Section& section) const {
        auto elements = static_cast<std::int64_t>(section.arenaElements);
        if (m_plan.shardsOptimizer)
            elements /= m_plan.mesh.data;
        return timeOf(updateTask(m_plan.optimizerSlots, elements)) + timeOf(squaresTask(elements)) +
               (m_plan.emaDecay ? timeOf(updateTask(0, elements)) : 0);
    }

    double valueBytes(const Section& section, const Program& program,
                      const Instruction& instruction) const {
        const graph::ValueInfo& value = section.graph.values[at(instruction.value)];
        return static_cast<double>(storedElements(value.shape, value.layout) *
                                   program.rowsOf(instruction)) *
               static_cast<double>(bytesOf(m_plan.type));
    }

    double bucketBytes(const Section& section, const Instruction& instruction) const {
        return static_cast<double>(section.buckets[at(instruction.bucket)].elements *
                                   bytesOf(exactType(m_plan.type)));
    }

    /// Of a bucket's gradients, with what makes them smaller before and whole again after.
    double reduced(const char* collective, const Section& section,
                   const Instruction& instruction) const {
        const Bucket& bucket = section.buckets[at(instruction.bucket)];
        if (bucket.compressed && m_plan.compression == Compression::PowerSgd)
            return lowRank(section.lowRank, section.lowRank.buckets[at(instruction.bucket)]);
        const auto bytes = static_cast<double>(wireBytes(m_plan, section, instruction.bucket));
        const double seconds = along(collective, bytes, m_plan.mesh.data);
        if (!bucket.compressed)
            return seconds;
        const double rounding =
            timeOf(copyTask(static_cast<std::int64_t>(bucketBytes(section, instruction))));
        return seconds + 2 * rounding;
    }

    /// Two sums one after the other; each matrix is multiplied four times with a thin one, which
    /// takes what a linear layer of that size takes and one way through the memory, for gradients
    /// and errors are too large for a cache.
    double lowRank(const LowRankLayout& layout, const LowRankBucket& bucket) const {
        const DType type = exactType(m_plan.type);
        const auto bytes = [&](std::size_t elements) {
            return static_cast<double>(elements * bytesOf(type));
        };
        double seconds = along("all_reduce", bytes(bucket.leftElements), m_plan.mesh.data) +
                         along("all_reduce", bytes(bucket.rightElements), m_plan.mesh.data);
        for (const LowRankMatrix& matrix : bucket.matrices) {
            const graph::OperationAttributes thin =
                graph::LinearAttributes{matrix.columns, layout.rank};
            const double product = timeOf(kernelTask({.kind = graph::OperationKind::Linear,
                                                      .attributes = thin,
                                                      .input = {matrix.columns},
                                                      .output = {layout.rank},
                                                      .type = type,
                                                      .rows = matrix.rows}));
            const auto elements = static_cast<std::size_t>(matrix.rows * matrix.columns);
            const double pass =
                timeOf(copyTask(static_cast<std::int64_t>(elements * bytesOf(type))));
            seconds += 4 * (product + pass);
        }
        return seconds;
    }

    double exchange(const Section& section, const Program& program,
                    const Instruction& instruction) const {
        const Mesh& mesh = m_plan.mesh;
        switch (instruction.opcode) {
        case Opcode::SumValue:
        case Opcode::SumGradient:
            return along("all_reduce_elsewhere", valueBytes(section, program, instruction),
                         mesh.tensor);
        case Opcode::GatherScores:
            return along("all_gather",
                         static_cast<double>(scoreBytes(section.graph, program, instruction)),
                         mesh.tensor);
        case Opcode::SendValue:
        case Opcode::ReceiveValue:
        case Opcode::SendGradient:
        case Opcode::ReceiveGradient: // a copy on each side
            return along("message", valueBytes(section, program, instruction), 2) / 2;
        case Opcode::SumShared:
            return shared(section, instruction);
        case Opcode::ReduceGradients:
            return reduced("all_reduce", section, instruction);
        case Opcode::ScatterGradients:
            return reduced("reduce_scatter", section, instruction);
        case Opcode::GatherParameters:
            return along("all_gather", bucketBytes(section, instruction), mesh.data);
        case Opcode::ReduceStatistics:
            return along("all_reduce_elsewhere", statisticsBytes(section, instruction), mesh.data);
        default:
            return along("all_reduce_elsewhere", kSumsBytes, m_plan.worldSize);
        }
    }

    double along(const std::string& collective, double bytes, int ranks) const {
        return m_calibration.exchangeSeconds(transportOf(m_setting) + "/" + collective, bytes,
                                             ranks);
    }

    double shared(const Section& section, const Instruction& instruction) const {
        const SharedParameter& parameter = section.shared[at(instruction.shared)];
        const double elements = static_cast<double>(
            elementCount(section.graph.parameters[at(parameter.parameter)].shape));
        return along("all_reduce", elements * static_cast<double>(bytesOf(exactType(m_plan.type))),
                     static_cast<int>(parameter.ranks.size()));
    }

    static double statisticsBytes(const Section& section, const Instruction& instruction) {
        const graph::Operation& operation = section.graph.operations[at(instruction.operation)];
        const Shape& shape = section.graph.values[at(operation.inputs.front())].shape;
        return static_cast<double>((2 * shape.front() + 1) *
                                   static_cast<std::int64_t>(sizeof(double)));
    }

    const Plan& m_plan;
    const Calibration& m_calibration;
    const PriceSetting& m_setting;
};

/// One rank's program in two lanes, each in its order, which wait for each other where the program
/// says so (engine/runtime/communication_lane.h).
double secondsInTwoLanes(const Program& program,
                         const std::function<double(const Instruction&)>& cost) {
    std::vector<double> ends(program.instructions.size(), 0);
    double clocks[2] = {0, 0};
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        const Instruction& instruction = program.instructions[i];
        double& clock = clocks[instruction.lane == Lane::Compute ? 0 : 1];
        for (const int other : instruction.waitsFor)
            clock = std::max(clock, ends[at(other)]);
        clock += cost(instruction);
        ends[i] = clock;
    }
    return std::max(clocks[0], clocks[1]);
}

/// What the ranks of one data coordinate do; `ranks` by pipeline coordinate.
struct Column {
    std::vector<RankSeconds> ranks;
    double seconds = 0;
};

Column priceColumn(const Plan& plan, const Pricer& pricer, bool overlaps, int data) {
    Column column;
    column.ranks.resize(static_cast<std::size_t>(plan.mesh.pipeline));
    const auto cost = [&](int stage, const Program& program, const Instruction& instruction) {
        const double seconds =
            pricer.secondsOf(plan.mesh.rankOf({data, 0, stage}), program, instruction);
        RankSeconds& rank = column.ranks[static_cast<std::size_t>(stage)];
        (communicates(instruction.opcode) ? rank.communication : rank.compute) += seconds;
        return seconds;
    };
    if (plan.mesh.pipeline == 1 && overlaps) {
        const Program program =
            compileProgram(plan, plan.mesh.rankOf({data, 0, 0}), Purpose::Training, plan.batch);
        column.seconds = secondsInTwoLanes(
            program, [&](const Instruction& instruction) { return cost(0, program, instruction); });
        column.ranks.front().communication = column.seconds - column.ranks.front().compute;
    } else {
        column.seconds = rehearse(plan, Purpose::Training, plan.batch, cost, data).seconds;
    }
    return column;
}

} // namespace

Result<Price> priceOf(const Plan& plan, const Calibration& calibration, const PriceSetting& setting,
                      const Plan* oneDevice) {
    if (!calibration.knows(name(plan.type)))
        return Error({"The times of this computer were measured without %1.",
                      {std::string(name(plan.type))}},
                     {}, {"Choose the precision fp32 to see a predicted step time."});
    if (plan.worldSize > 1 && !calibration.knowsExchange(transportOf(setting)))
        return Error({"The times of this computer were measured without exchanges over %1.",
                      {transportOf(setting)}});
    const Pricer pricer(plan, calibration, setting);
    Price price;
    price.measuredAt = calibration.measuredAt;
    std::map<std::int64_t, Column> columns; // of as many rows each: they take as long
    for (int data = 0; data < plan.mesh.data; ++data) {
        const std::int64_t rows = plan.rowsOf(plan.batch, data).count;
        if (!columns.contains(rows))
            columns[rows] = priceColumn(plan, pricer, setting.overNetwork, data);
        price.stepSeconds = std::max(price.stepSeconds, columns[rows].seconds);
    }
    for (int rank = 0; rank < plan.worldSize; ++rank) {
        const Coordinate place = plan.mesh.coordinateOf(rank);
        RankSeconds seconds = columns[plan.rowsOf(plan.batch, place.data).count]
                                  .ranks[static_cast<std::size_t>(place.pipeline)];
        seconds.bubble = std::max(0.0, price.stepSeconds - seconds.compute - seconds.communication);
        price.ranks.push_back(seconds);
    }
    price.samplesPerSecond =
        price.stepSeconds > 0 ? static_cast<double>(plan.batch) / price.stepSeconds : 0;
    if (plan.worldSize == 1)
        price.efficiency = 1;
    else if (oneDevice)
        if (const Result<Price> alone = priceOf(*oneDevice, calibration, setting);
            alone && price.stepSeconds > 0)
            price.efficiency = alone->stepSeconds / (plan.worldSize * price.stepSeconds);
    return price;
}

std::optional<Plan> oneDevicePlan(const spec::Experiment& experiment, const DataCounts& data,
                                  const MachineFacts& machine) {
    spec::Experiment alone = experiment;
    alone.parallel = {};
    alone.parallel.recompute = experiment.parallel.recompute;
    alone.devices.clear();
    PlanOutcome outcome = makePlan(alone, data, machine);
    if (!outcome.problems.empty())
        return std::nullopt;
    return std::move(outcome.plan);
}

Result<Price> priceOf(const spec::Experiment& experiment, const Plan& plan,
                      const MachineFacts& machine, const Calibration& calibration,
                      int threadsPerRank) {
    const PriceSetting setting{.threadsPerRank = threadsPerRank,
                               .overNetwork = (experiment.parallel.transport == "gloo" ||
                                               spec::isOnSeveralHosts(experiment)) &&
                                              plan.worldSize > 1};
    const std::optional<Plan> alone =
        plan.worldSize > 1 ? oneDevicePlan(experiment, plan.data, machine) : std::nullopt;
    return priceOf(plan, calibration, setting, alone ? &*alone : nullptr);
}

} // namespace trainyard::plan
