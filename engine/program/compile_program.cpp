// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/check.h"
#include "engine/program/place_buckets.h"
#include "engine/program/place_memory.h"
#include "engine/program/program.h"
#include "engine/program/recompute.h"
#include "engine/program/schedule.h"

#include <algorithm>
#include <set>
#include <utility>

namespace trainyard::plan {

namespace {

using graph::at;
using graph::Graph;
using graph::Operation;
using graph::OperationId;
using graph::ParameterId;
using graph::TensorSum;
using graph::ValueId;

/// Of the one collective of a step that all ranks take part in.
constexpr std::uint32_t kSumsTag = 0x40000000u;
/// Messages are told apart by value and micro-batch.
constexpr std::uint32_t kMostMicroBatches = 1u << 12;

class Compiler {
public:
    Compiler(const Plan& plan, int rank, Purpose purpose, std::int64_t batchRows)
        : m_plan(plan), m_section(plan.sectionOf(rank)), m_graph(m_section.graph),
          m_place(plan.mesh.coordinateOf(rank)) {
        m_program.purpose = purpose;
        m_program.batchRows = batchRows;
        m_program.rows = plan.rowsOf(batchRows, m_place.data);
        m_program.microBatches = plan.microBatchesOf(batchRows, m_place.data);
        m_turns = purpose == Purpose::Training ? trainingTurns(shape(), m_place.pipeline)
                                               : evaluationTurns(shape(), m_place.pipeline);
        m_program.places.resize(static_cast<std::size_t>(microBatchesAlive(m_turns)));
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
        placeMemory(m_plan, m_section, m_program);
        placeBuckets(m_plan, m_section, m_program);
        return std::move(m_program);
    }

private:
    PipelineShape shape() const {
        PipelineShape shape = m_plan.pipelineShape();
        shape.microBatches = microBatches();
        return shape;
    }

    int emit(Opcode opcode, Lane lane, OperationId operation = -1, int bucket = -1) {
        Instruction instruction;
        instruction.opcode = opcode;
        instruction.lane = lane;
        instruction.operation = operation;
        instruction.bucket = bucket;
        instruction.microBatch = m_microBatch;
        instruction.turn = m_turn;
        instruction.tag = static_cast<std::uint32_t>(m_program.instructions.size());
        m_program.instructions.push_back(std::move(instruction));
        return static_cast<int>(m_program.instructions.size()) - 1;
    }

    Instruction& last() { return m_program.instructions.back(); }

    int microBatches() const { return static_cast<int>(m_program.microBatches.size()); }

    void emitEvaluation() {
        for (const Turn& turn : m_turns)
            emitForward(turn, Opcode::Inference);
    }

    void emitTraining() {
        for (const Turn& turn : m_turns) {
            if (turn.backward)
                emitBackward(turn);
            else
                emitForward(turn, Opcode::Forward);
        }
        m_microBatch = microBatches() - 1;
        emitRemainingReductions();
        m_reductions.push_back(emitReduction(Opcode::ReduceSums, m_done, -1));
        last().tag = kSumsTag;
        const int update = emit(Opcode::Update, Lane::Compute);
        m_program.instructions[at(update)].waitsFor = std::move(m_reductions);
        const bool gathers = m_plan.shardsOptimizer && !m_plan.shardsParameters;
        for (std::size_t bucket = 0; gathers && bucket < m_section.buckets.size(); ++bucket)
            emitReduction(Opcode::GatherParameters, update, static_cast<int>(bucket));
    }

    void begin(const Turn& turn) {
        m_microBatch = turn.microBatch;
        ++m_turn;
    }

    // ---- Forward ------------------------------------------------------------------------------

    void emitForward(const Turn& turn, Opcode opcode) {
        begin(turn);
        loadOnce();
        for (const Transfer& transfer : m_section.arriving)
            if (transfer.neededIn == turn.stage)
                emitMessages(transfer, Opcode::ReceiveValue, transfer.from);
        for (OperationId i = 0; i < operationCount(); ++i)
            if (m_section.stageOf[at(i)] == turn.stage)
                m_done = emitOperation(opcode, i);
        for (const Transfer& transfer : m_section.leaving)
            if (transfer.madeIn == turn.stage)
                emitMessages(transfer, Opcode::SendValue, transfer.to);
    }

    void loadOnce() {
        if ((m_section.readsInput() || m_section.hasLoss()) && m_loaded.insert(m_microBatch).second)
            emit(Opcode::LoadBatch, Lane::Compute);
    }

    /// One for each value; in backward one for each gradient that is asked for.
    void emitMessages(const Transfer& transfer, Opcode opcode, int peer) {
        const bool gradient = opcode == Opcode::SendGradient || opcode == Opcode::ReceiveGradient;
        for (const ValueId value : transfer.values) {
            if (gradient && !m_section.withGradient[at(value)])
                continue;
            emit(opcode, Lane::Compute);
            last().value = value;
            last().peer = peer;
            last().tag = static_cast<std::uint32_t>(value) * kMostMicroBatches +
                         static_cast<std::uint32_t>(m_microBatch);
        }
    }

    // ---- Backward -----------------------------------------------------------------------------

    /// Only gradients that all micro-batches have added to travel, where they are kept whole.
    void emitBackward(const Turn& turn) {
        begin(turn);
        for (const Transfer& transfer : m_section.leaving)
            if (transfer.madeIn == turn.stage)
                emitMessages(transfer, Opcode::ReceiveGradient, transfer.to);
        const bool isLast = m_plan.mesh.pipeline == 1 && m_microBatch + 1 == microBatches();
        const bool reduces = isLast || m_plan.shardsGradients;
        for (OperationId i = operationCount() - 1; i >= 0; --i) {
            if (m_section.stageOf[at(i)] != turn.stage)
                continue;
            emitBlockAgain(i);
            if (!needsBackward(i))
                continue;
            m_done = emitOperation(Opcode::Backward, i);
            if (reduces)
                emitReductionsAfter(i);
        }
        for (const Transfer& transfer : m_section.arriving)
            if (transfer.neededIn == turn.stage)
                emitMessages(transfer, Opcode::SendGradient, transfer.from);
    }

    void emitReductionsAfter(OperationId id) {
        if (m_writers.empty())
            m_writers = bucketWriters();
        for (std::size_t bucket = 0; bucket < m_writers.size(); ++bucket)
            if (m_writers[bucket] == id)
                emitBucket(bucket);
    }

    void emitBucket(std::size_t bucket) {
        m_reduced.insert(bucket);
        m_reductions.push_back(emitReduction(m_plan.shardsOptimizer ? Opcode::ScatterGradients
                                                                    : Opcode::ReduceGradients,
                                             m_done, static_cast<int>(bucket)));
    }

    void emitRemainingReductions() {
        for (std::size_t i = 0; i < m_section.shared.size(); ++i) {
            emitReduction(Opcode::SumShared, m_done, -1);
            last().shared = static_cast<int>(i);
            last().tag = static_cast<std::uint32_t>(m_section.shared[i].parameter);
        }
        for (std::size_t bucket = 0; bucket < m_section.buckets.size(); ++bucket)
            if (!m_reduced.contains(bucket))
                emitBucket(bucket);
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
        if (after >= 0)
            m_program.instructions[at(index)].waitsFor = {after};
        return index;
    }

    // ---- Operations ---------------------------------------------------------------------------

    OperationId operationCount() const {
        return static_cast<OperationId>(m_graph.operations.size());
    }

    /// The last instruction of the operation. Statistics and sums over ranks need several.
    int emitOperation(Opcode opcode, OperationId id) {
        const Operation& operation = m_graph.operations[at(id)];
        const bool backward = opcode == Opcode::Backward;
        gatherFor(operation);
        if (backward && operation.tensorSum == TensorSum::OutputGradient)
            emitTensorSum(Opcode::SumGradient, opcode, id);
        int done = -1;
        if (reducesStatistics(operation, opcode))
            done = emitWithStatistics(opcode, id);
        else if (!backward && gathersScores(operation))
            done = emitWithScores(opcode, id);
        else
            done = emit(opcode, Lane::Compute, id);
        if (!backward && operation.tensorSum == TensorSum::Output)
            done = emitTensorSum(Opcode::SumValue, opcode, id);
        return done;
    }

    /// What it needs is gathered, unless the operation before it needed that, too; the rest is let
    /// go.
    void gatherFor(const Operation& operation) {
        if (!m_plan.shardsParameters || operation.parameters.empty())
            return;
        std::set<int> needed;
        for (const ParameterId parameter : operation.parameters)
            needed.insert(m_section.bucketOf[at(parameter)]);
        for (const int bucket : needed)
            if (!m_gathered.contains(bucket))
                emitReduction(Opcode::GatherParameters, -1, bucket);
        m_gathered = std::move(needed);
    }

    int emitTensorSum(Opcode opcode, Opcode during, OperationId id) {
        const int index = emit(opcode, Lane::Compute, id);
        last().value = m_graph.operations[at(id)].outputs.front();
        last().again = during == Opcode::Recompute;
        last().tag = m_tensorSums++;
        return index;
    }

    int emitWithStatistics(Opcode opcode, OperationId id) {
        const int collect = emit(opcode, Lane::Compute, id);
        m_program.instructions[at(collect)].phase = Phase::Collect;
        const int reduce = emitReduction(Opcode::ReduceStatistics, collect, -1);
        m_program.instructions[at(reduce)].operation = id;
        const int apply = emit(opcode, Lane::Compute, id);
        m_program.instructions[at(apply)].phase = Phase::Apply;
        m_program.instructions[at(apply)].waitsFor = {reduce};
        return apply;
    }

    /// The gather is between kernels that wait for it, like the other sums over tensor ranks.
    int emitWithScores(Opcode opcode, OperationId id) {
        emit(opcode, Lane::Compute, id);
        last().phase = Phase::Collect;
        emit(Opcode::GatherScores, Lane::Compute, id);
        last().tag = m_tensorSums++;
        const int apply = emit(opcode, Lane::Compute, id);
        last().phase = Phase::Apply;
        return apply;
    }

    static bool gathersScores(const Operation& operation) {
        const auto* loss = std::get_if<graph::CrossEntropyAttributes>(&operation.attributes);
        return loss && loss->parts > 1;
    }

    bool reducesStatistics(const Operation& operation, Opcode opcode) const {
        return m_plan.mesh.data > 1 && opcode != Opcode::Inference &&
               operation.kind == graph::OperationKind::BatchNorm &&
               std::get<graph::NormAttributes>(operation.attributes).synchronized;
    }

    bool needsBackward(OperationId id) const {
        return plan::needsBackward(m_graph, m_section.withGradient, id);
    }

    /// For each bucket the operation whose backward writes its last gradient.
    std::vector<OperationId> bucketWriters() const {
        const std::vector<OperationId> last = lastGradientWriters(m_graph);
        std::vector<OperationId> writers;
        for (const Bucket& bucket : m_section.buckets) {
            OperationId first = last[at(bucket.parameters.front())];
            for (const ParameterId parameter : bucket.parameters)
                first = std::min(first, last[at(parameter)]);
            writers.push_back(first);
        }
        return writers;
    }

    const Plan& m_plan;
    const Section& m_section;
    const Graph& m_graph;
    const Coordinate m_place;
    Program m_program;
    std::vector<Turn> m_turns;
    int m_turn = 0;                ///< whose instructions are being emitted, as is
    int m_microBatch = 0;          ///< whose instructions are being emitted
    int m_done = -1;               ///< last instruction of the compute lane that computes
    std::set<int> m_loaded;        ///< micro-batches
    std::vector<bool> m_runsAgain; ///< by OperationId
    std::vector<int> m_reductions; ///< that the update waits for
    std::vector<OperationId> m_writers;
    std::set<std::size_t> m_reduced; ///< buckets
    std::set<int> m_gathered;        ///< buckets that are whole just now
    std::uint32_t m_tensorSums = 0;
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
    case Opcode::SumValue:
        return "all-reduce values";
    case Opcode::SumGradient:
        return "all-reduce gradients of values";
    case Opcode::GatherScores:
        return "all-gather parts of the loss";
    case Opcode::SendValue:
        return "send values";
    case Opcode::ReceiveValue:
        return "receive values";
    case Opcode::SendGradient:
        return "send gradients";
    case Opcode::ReceiveGradient:
        return "receive gradients";
    case Opcode::SumShared:
        return "all-reduce shared gradients";
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

bool runsKernel(Opcode opcode) {
    return opcode == Opcode::Forward || opcode == Opcode::Recompute || opcode == Opcode::Backward ||
           opcode == Opcode::Inference;
}

bool Program::isMadeInBlockOf(ValueId value, const Graph& graph, OperationId operation) const {
    const OperationId producer = graph.values[at(value)].producer;
    return producer >= 0 && blocks[at(operation)] >= 0 &&
           blocks[at(producer)] == blocks[at(operation)];
}

const Placement& Program::placeOf(ValueId value, const Graph& graph,
                                  const Instruction& instruction) const {
    const bool again = instruction.again || instruction.opcode == Opcode::Recompute ||
                       instruction.opcode == Opcode::Backward;
    const Places& here = placesOf(instruction);
    return again && isMadeInBlockOf(value, graph, instruction.operation)
               ? here.recomputedValues[at(value)]
               : here.values[at(value)];
}

const Placement& BucketWindows::placeAt(int bucket, int instruction) const {
    const std::vector<int>& mine = ofBucket[at(bucket)];
    const auto after =
        std::ranges::upper_bound(mine, instruction, {}, [this](int i) { return all[at(i)].first; });
    TRAINYARD_CHECK(after != mine.begin());
    const BucketWindow& window = all[at(*(after - 1))];
    TRAINYARD_CHECK(instruction <= window.last);
    return window.place;
}

const Placement& Program::savedPlaceOf(const Instruction& instruction) const {
    const OperationId id = instruction.operation;
    const bool again =
        instruction.opcode == Opcode::Recompute || instruction.opcode == Opcode::Backward;
    const Places& here = placesOf(instruction);
    return again && blocks[at(id)] >= 0 ? here.recomputedSaved[at(id)] : here.saved[at(id)];
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

std::size_t scoreBytes(const Graph& graph, const Program& program, const Instruction& instruction) {
    const Operation& loss = graph.operations[at(instruction.operation)];
    const graph::ValueInfo& scores = graph.values[at(loss.inputs.front())];
    return graph::savedBytes(loss.kind, loss.attributes, scores.shape, scores.shape, scores.layout,
                             program.rowsOf(instruction), DType::Fp64);
}

Program compileProgram(const Plan& plan, int rank, Purpose purpose, std::int64_t batchRows) {
    return Compiler(plan, rank, purpose, batchRows).run();
}

} // namespace trainyard::plan
