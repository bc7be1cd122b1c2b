// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/check.h"
#include "engine/program/place_memory.h"
#include "engine/program/program.h"
#include "engine/program/recompute.h"

#include <algorithm>
#include <utility>

namespace trainyard::plan {

namespace {

using graph::Graph;
using graph::Operation;
using graph::OperationId;
using graph::ParameterId;
using graph::ValueId;

class Compiler {
public:
    Compiler(const Plan& plan, int rank, Purpose purpose, std::int64_t batchRows)
        : m_plan(plan), m_graph(plan.graph), m_withGradient(valuesWithGradient(plan.graph)) {
        m_program.purpose = purpose;
        m_program.batchRows = batchRows;
        m_program.rows = rowsOfRank(batchRows, rank, plan.worldSize);
        m_program.microBatches =
            microBatchesOfRank(batchRows, rank, plan.worldSize, plan.accumulate);
        m_program.blocks = plan.recompute && purpose == Purpose::Training
                               ? recomputedBlocks(m_graph)
                               : std::vector<int>(m_graph.operations.size(), -1);
        m_runsAgain = runsAgain(m_graph, m_program.blocks);
    }

    Program run() {
        if (m_program.purpose == Purpose::Training)
            emitTraining();
        else
            emitEvaluation();
        placeMemory(m_plan, m_program);
        return std::move(m_program);
    }

private:
    bool training() const { return m_program.purpose == Purpose::Training; }

    int emit(Opcode opcode, Lane lane, OperationId operation = -1, int bucket = -1) {
        Instruction instruction;
        instruction.opcode = opcode;
        instruction.lane = lane;
        instruction.operation = operation;
        instruction.bucket = bucket;
        instruction.microBatch = m_microBatch;
        m_program.instructions.push_back(std::move(instruction));
        return static_cast<int>(m_program.instructions.size()) - 1;
    }

    int microBatches() const { return static_cast<int>(m_program.microBatches.size()); }

    void emitEvaluation() {
        for (m_microBatch = 0; m_microBatch < microBatches(); ++m_microBatch) {
            emit(Opcode::LoadBatch, Lane::Compute);
            for (std::size_t i = 0; i < m_graph.operations.size(); ++i)
                emit(Opcode::Inference, Lane::Compute, static_cast<OperationId>(i));
        }
    }

    void emitTraining() {
        std::vector<int> waits;
        for (m_microBatch = 0; m_microBatch < microBatches(); ++m_microBatch)
            waits = emitMicroBatch();
        const int update = emit(Opcode::Update, Lane::Compute);
        m_program.instructions[at(update)].waitsFor = std::move(waits);
        for (std::size_t bucket = 0; m_plan.shardsOptimizer && bucket < m_plan.buckets.size();
             ++bucket)
            emitReduction(Opcode::GatherParameters, update, static_cast<int>(bucket));
    }

    /// Its reductions: only gradients that all micro-batches have added to travel.
    std::vector<int> emitMicroBatch() {
        const bool last = m_microBatch + 1 == microBatches();
        emit(Opcode::LoadBatch, Lane::Compute);
        const auto count = static_cast<OperationId>(m_graph.operations.size());
        for (OperationId i = 0; i < count; ++i)
            emitOperation(Opcode::Forward, i);
        const std::vector<OperationId> writers = bucketWriters();
        std::vector<int> reductions;
        std::size_t bucket = 0;
        int done = -1;
        for (OperationId i = count - 1; i >= 0; --i) {
            emitBlockAgain(i);
            if (!needsBackward(i))
                continue;
            done = emitOperation(Opcode::Backward, i);
            for (; last && bucket < writers.size() && writers[bucket] == i; ++bucket)
                reductions.push_back(
                    emitReduction(gradientOpcode(), done, static_cast<int>(bucket)));
        }
        TRAINYARD_CHECK_EQ(bucket, last ? writers.size() : 0);
        if (last)
            reductions.push_back(emitReduction(Opcode::ReduceSums, done, -1));
        return reductions;
    }

    Opcode gradientOpcode() const {
        return m_plan.shardsOptimizer ? Opcode::ScatterGradients : Opcode::ReduceGradients;
    }

    /// Where `last` is the last operation of a block that is computed again.
    void emitBlockAgain(OperationId last) {
        const std::vector<int>& blocks = m_program.blocks;
        const int block = blocks[at(last)];
        if (block < 0 || (at(last) + 1 < blocks.size() && blocks[at(last) + 1] == block))
            return;
        const auto first = std::find(blocks.begin(), blocks.end(), block) - blocks.begin();
        bool anyBackward = false;
        for (auto i = static_cast<OperationId>(first); i <= last; ++i)
            anyBackward = anyBackward || needsBackward(i);
        for (auto i = static_cast<OperationId>(first); i <= last && anyBackward; ++i)
            if (m_runsAgain[at(i)])
                emitOperation(Opcode::Recompute, i);
    }

    int emitReduction(Opcode opcode, int after, int bucket) {
        const int index = emit(opcode, Lane::Communication, -1, bucket);
        m_program.instructions[at(index)].waitsFor = {after};
        return index;
    }

    /// The last instruction of the operation. Statistics over all ranks need three.
    int emitOperation(Opcode opcode, OperationId id) {
        if (!reducesStatistics(m_graph.operations[at(id)]))
            return emit(opcode, Lane::Compute, id);
        const int collect = emit(opcode, Lane::Compute, id);
        m_program.instructions[at(collect)].phase = Phase::Collect;
        const int reduce = emitReduction(Opcode::ReduceStatistics, collect, -1);
        m_program.instructions[at(reduce)].operation = id;
        const int apply = emit(opcode, Lane::Compute, id);
        m_program.instructions[at(apply)].phase = Phase::Apply;
        m_program.instructions[at(apply)].waitsFor = {reduce};
        return apply;
    }

    bool reducesStatistics(const Operation& operation) const {
        return m_plan.worldSize > 1 && operation.kind == graph::OperationKind::BatchNorm &&
               std::get<graph::NormAttributes>(operation.attributes).synchronized;
    }

    bool needsBackward(OperationId id) const {
        return plan::needsBackward(m_graph, m_withGradient, id);
    }

    /// For each bucket the operation whose backward writes its last gradient.
    std::vector<OperationId> bucketWriters() const {
        const std::vector<OperationId> last = lastGradientWriters(m_graph);
        std::vector<OperationId> writers;
        for (const Bucket& bucket : m_plan.buckets) {
            OperationId first = last[at(bucket.parameters.front())];
            for (const ParameterId parameter : bucket.parameters)
                first = std::min(first, last[at(parameter)]);
            writers.push_back(first);
        }
        return writers;
    }

    const Plan& m_plan;
    const Graph& m_graph;
    std::vector<bool> m_withGradient;
    Program m_program;
    int m_microBatch = 0;          ///< whose instructions are being emitted
    std::vector<bool> m_runsAgain; ///< by OperationId
};

} // namespace

std::string_view name(Opcode opcode) {
    switch (opcode) {
    case Opcode::LoadBatch:
        return "load batch";
    case Opcode::Forward:
        return "forward";
    case Opcode::Recompute:
        return "recompute";
    case Opcode::Backward:
        return "backward";
    case Opcode::Inference:
        return "inference";
    case Opcode::ReduceGradients:
        return "all-reduce gradients";
    case Opcode::ScatterGradients:
        return "reduce-scatter gradients";
    case Opcode::ReduceStatistics:
        return "all-reduce batch statistics";
    case Opcode::ReduceSums:
        return "all-reduce sums";
    case Opcode::Update:
        return "update";
    case Opcode::GatherParameters:
        return "all-gather parameters";
    }
    return "?";
}

bool Program::isMadeInBlockOf(ValueId value, const Graph& graph, OperationId operation) const {
    const OperationId producer = graph.values[at(value)].producer;
    return producer >= 0 && blocks[at(operation)] >= 0 &&
           blocks[at(producer)] == blocks[at(operation)];
}

const Placement& Program::placeOf(ValueId value, const Graph& graph,
                                  const Instruction& instruction) const {
    const bool again =
        instruction.opcode == Opcode::Recompute || instruction.opcode == Opcode::Backward;
    return again && isMadeInBlockOf(value, graph, instruction.operation)
               ? recomputedValues[at(value)]
               : values[at(value)];
}

const Placement& Program::savedPlaceOf(const Instruction& instruction) const {
    const OperationId id = instruction.operation;
    const bool again =
        instruction.opcode == Opcode::Recompute || instruction.opcode == Opcode::Backward;
    return again && blocks[at(id)] >= 0 ? recomputedSaved[at(id)] : saved[at(id)];
}

std::vector<bool> valuesWithGradient(const Graph& graph) {
    std::vector<bool> with(graph.values.size(), false);
    for (const Operation& operation : graph.operations) {
        bool any = !operation.parameters.empty();
        for (const ValueId input : operation.inputs)
            any = any || with[at(input)];
        for (const ValueId output : operation.outputs)
            with[at(output)] = any;
    }
    return with;
}

bool needsBackward(const Graph& graph, const std::vector<bool>& withGradient, OperationId id) {
    const Operation& operation = graph.operations[at(id)];
    return !operation.parameters.empty() ||
           std::ranges::any_of(operation.inputs,
                               [&](ValueId input) { return withGradient[at(input)]; });
}

std::vector<OperationId> lastGradientWriters(const Graph& graph) {
    std::vector<OperationId> writers(graph.parameters.size(), -1);
    for (std::size_t i = graph.operations.size(); i-- > 0;)
        for (const ParameterId parameter : graph.operations[i].parameters)
            writers[at(parameter)] = static_cast<OperationId>(i);
    return writers;
}

Program compileProgram(const Plan& plan, int rank, Purpose purpose, std::int64_t batchRows) {
    return Compiler(plan, rank, purpose, batchRows).run();
}

} // namespace trainyard::plan
