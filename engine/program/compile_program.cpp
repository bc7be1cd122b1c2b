// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/check.h"
#include "engine/program/arena_planner.h"
#include "engine/program/program.h"

#include <algorithm>
#include <set>
#include <utility>

namespace trainyard::plan {

namespace {

using graph::Graph;
using graph::Operation;
using graph::OperationId;
using graph::ParameterId;
using graph::ValueId;

std::size_t at(std::int32_t id) {
    return static_cast<std::size_t>(id);
}

/// Values of one buffer are joined; the buffer's life covers all their uses.
class Buffers {
public:
    explicit Buffers(std::size_t count) : m_owner(count), m_lives(count, kUntouched) {
        for (std::size_t i = 0; i < count; ++i)
            m_owner[i] = i;
    }
    void setBytes(std::size_t id, std::size_t bytes) {
        Lifetime& life = m_lives[owner(id)];
        life.bytes = std::max(life.bytes, bytes);
    }
    /// `id` lies where `other` lies.
    void join(std::size_t id, std::size_t other) { m_owner[owner(id)] = owner(other); }
    /// Instructions come in order.
    void touch(std::size_t id, int instruction) {
        Lifetime& life = m_lives[owner(id)];
        if (life.last < 0)
            life.first = instruction;
        life.last = instruction;
    }
    std::size_t owner(std::size_t id) const {
        while (m_owner[id] != id)
            id = m_owner[id];
        return id;
    }
    /// Bytes only for owners that were touched.
    Lifetime lifetime(std::size_t id) const {
        Lifetime life = m_lives[id];
        if (owner(id) != id || life.last < 0)
            life = {};
        return life;
    }

private:
    static constexpr Lifetime kUntouched{.bytes = 0, .first = 0, .last = -1};

    std::vector<std::size_t> m_owner;
    std::vector<Lifetime> m_lives;
};

class Compiler {
public:
    Compiler(const Plan& plan, int rank, Purpose purpose, std::int64_t batchRows)
        : m_plan(plan), m_graph(plan.graph), m_withGradient(valuesWithGradient(plan.graph)) {
        m_program.purpose = purpose;
        m_program.batchRows = batchRows;
        m_program.rows = rowsOfRank(batchRows, rank, plan.worldSize);
    }

    Program run() {
        if (m_program.purpose == Purpose::Training)
            emitTraining();
        else
            emitEvaluation();
        placeBuffers();
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
        m_program.instructions.push_back(std::move(instruction));
        return static_cast<int>(m_program.instructions.size()) - 1;
    }

    void emitEvaluation() {
        emit(Opcode::LoadBatch, Lane::Compute);
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i)
            emit(Opcode::Inference, Lane::Compute, static_cast<OperationId>(i));
    }

    void emitTraining() {
        emit(Opcode::LoadBatch, Lane::Compute);
        const auto count = static_cast<OperationId>(m_graph.operations.size());
        for (OperationId i = 0; i < count; ++i)
            emitOperation(Opcode::Forward, i);
        const std::vector<OperationId> writers = bucketWriters();
        std::vector<int> waits;
        std::size_t bucket = 0;
        int done = -1;
        for (OperationId i = count - 1; i >= 0; --i) {
            if (!needsBackward(i))
                continue;
            done = emitOperation(Opcode::Backward, i);
            for (; bucket < writers.size() && writers[bucket] == i; ++bucket)
                waits.push_back(
                    emitReduction(Opcode::ReduceGradients, done, static_cast<int>(bucket)));
        }
        TRAINYARD_CHECK_EQ(bucket, writers.size());
        waits.push_back(emitReduction(Opcode::ReduceSums, done, -1));
        const int update = emit(Opcode::Update, Lane::Compute);
        m_program.instructions[at(update)].waitsFor = std::move(waits);
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
        const Operation& operation = m_graph.operations[at(id)];
        if (!operation.parameters.empty())
            return true;
        return std::any_of(operation.inputs.begin(), operation.inputs.end(),
                           [this](ValueId input) { return m_withGradient[at(input)]; });
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

    std::size_t valueBytes(ValueId id) const {
        const graph::ValueInfo& value = m_graph.values[at(id)];
        return static_cast<std::size_t>(storedElements(value.shape, value.layout)) *
               static_cast<std::size_t>(m_program.rows.count) *
               bytesOf(value.indices ? DType::Int32 : m_plan.type);
    }

    std::size_t savedBytes(OperationId id) const {
        const Operation& operation = m_graph.operations[at(id)];
        if (operation.outputs.empty() || !training() || !needsBackward(id) ||
            m_program.rows.count == 0)
            return 0;
        const graph::ValueInfo& output = m_graph.values[at(operation.outputs.front())];
        return graph::savedBytes(operation.kind, operation.attributes,
                                 m_graph.values[at(operation.inputs.front())].shape, output.shape,
                                 output.layout, m_program.rows.count, m_plan.type);
    }

    /// The output is the input's bytes under another shape.
    bool isSameBytes(const Operation& operation) const {
        return operation.kind == graph::OperationKind::Reshape && keepsLayout(operation);
    }

    bool keepsLayout(const Operation& operation, std::size_t input = 0) const {
        return m_graph.values[at(operation.inputs[input])].layout ==
               m_graph.values[at(operation.outputs.front())].layout;
    }

    /// `value` and all that are its bytes under other shapes.
    std::vector<ValueId> valuesInPlaceOf(ValueId value) const {
        const auto producer = [&](ValueId id) -> const Operation* {
            const OperationId operation = m_graph.values[at(id)].producer;
            return operation < 0 ? nullptr : &m_graph.operations[at(operation)];
        };
        while (producer(value) && isSameBytes(*producer(value)))
            value = producer(value)->inputs.front();
        std::vector<ValueId> same = {value};
        for (std::size_t i = 0; i < same.size(); ++i)
            for (const OperationId consumer : m_graph.values[at(same[i])].consumers)
                if (isSameBytes(m_graph.operations[at(consumer)]))
                    same.push_back(m_graph.operations[at(consumer)].outputs.front());
        return same;
    }

    /// The forward result may overwrite this input: nobody else reads these bytes, now or in
    /// backward.
    bool runsInPlace(OperationId id, std::size_t input) const {
        const Operation& operation = m_graph.operations[at(id)];
        if (!graph::traits(operation.kind).mayRunInPlace || !keepsLayout(operation, input))
            return false;
        if (isSameBytes(operation))
            return true;
        const std::vector<ValueId> same = valuesInPlaceOf(operation.inputs[input]);
        return std::all_of(same.begin(), same.end(), [&](ValueId value) {
            const graph::ValueInfo& info = m_graph.values[at(value)];
            if (info.producer < 0)
                return false;
            const Operation& producer = m_graph.operations[at(info.producer)];
            if (training() && graph::traits(producer.kind).readsOutput)
                return false;
            return std::all_of(
                info.consumers.begin(), info.consumers.end(), [&](OperationId consumer) {
                    return consumer == id || isSameBytes(m_graph.operations[at(consumer)]);
                });
        });
    }

    /// Backward may overwrite the output's gradient with this input's.
    bool gradientInPlace(OperationId id, std::size_t input) const {
        const Operation& operation = m_graph.operations[at(id)];
        if (!training() || !graph::traits(operation.kind).mayRunInPlace)
            return false;
        return keepsLayout(operation, input) &&
               m_graph.values[at(operation.inputs[input])].consumers.size() == 1;
    }

    /// The first input for which `may` holds; -1: none.
    ValueId firstInput(OperationId id, bool (Compiler::*may)(OperationId, std::size_t) const) const {
        const Operation& operation = m_graph.operations[at(id)];
        for (std::size_t i = 0; i < operation.inputs.size(); ++i)
            if ((this->*may)(id, i))
                return operation.inputs[i];
        return -1;
    }

    void placeBuffers() {
        // Buffers are numbered: values, then gradients, then what operations save.
        m_values = m_graph.values.size();
        m_buffers = Buffers(2 * m_values + m_graph.operations.size());
        m_program.addsToGradient.resize(m_graph.operations.size());
        m_program.addsToParameterGradient.resize(m_graph.operations.size());
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i) {
            const Operation& operation = m_graph.operations[i];
            if (operation.outputs.empty())
                continue;
            const auto id = static_cast<OperationId>(i);
            const std::size_t out = at(operation.outputs.front());
            if (const ValueId in = firstInput(id, &Compiler::runsInPlace); in >= 0)
                m_buffers.join(out, at(in));
            if (const ValueId in = firstInput(id, &Compiler::gradientInPlace); in >= 0)
                m_buffers.join(m_values + at(in), m_values + out);
        }
        for (std::size_t i = 0; i < m_values; ++i) {
            m_buffers.setBytes(i, valueBytes(static_cast<ValueId>(i)));
            if (m_withGradient[i])
                m_buffers.setBytes(m_values + i, valueBytes(static_cast<ValueId>(i)));
        }
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i)
            m_buffers.setBytes(2 * m_values + i, savedBytes(static_cast<OperationId>(i)));
        findLifetimes();
        assignOffsets();
    }

    void findLifetimes() {
        for (std::size_t i = 0; i < m_program.instructions.size(); ++i) {
            const Instruction& instruction = m_program.instructions[i];
            const int now = static_cast<int>(i);
            if (instruction.opcode == Opcode::LoadBatch)
                m_buffers.touch(at(m_graph.input), now);
            else if (instruction.opcode == Opcode::ReduceStatistics)
                continue;
            else if (instruction.opcode == Opcode::Backward)
                touchBackward(instruction.operation, now);
            else if (instruction.operation >= 0)
                touchForward(instruction.operation, now);
        }
    }

    void touchForward(OperationId id, int now) {
        const Operation& operation = m_graph.operations[at(id)];
        for (const ValueId input : operation.inputs)
            m_buffers.touch(at(input), now);
        for (const ValueId output : operation.outputs)
            m_buffers.touch(at(output), now);
        m_buffers.touch(2 * m_values + at(id), now);
    }

    void touchBackward(OperationId id, int now) {
        const Operation& operation = m_graph.operations[at(id)];
        const graph::OperationTraits& traits = graph::traits(operation.kind);
        std::vector<bool>& adds = m_program.addsToGradient[at(id)];
        const bool again = !adds.empty(); // the second phase of the same backward
        if (!again)
            noteParameters(id);
        adds.resize(operation.inputs.size(), false);
        for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
            const ValueId input = operation.inputs[i];
            if (traits.readsInput)
                m_buffers.touch(at(input), now);
            if (!m_withGradient[at(input)])
                continue;
            if (!again)
                adds[i] = !m_written.insert(input).second;
            m_buffers.touch(m_values + at(input), now);
        }
        for (const ValueId output : operation.outputs) {
            if (traits.readsOutput)
                m_buffers.touch(at(output), now);
            m_buffers.touch(m_values + at(output), now);
        }
        m_buffers.touch(2 * m_values + at(id), now);
    }

    void noteParameters(OperationId id) {
        std::vector<bool>& adds = m_program.addsToParameterGradient[at(id)];
        for (const ParameterId parameter : m_graph.operations[at(id)].parameters)
            adds.push_back(!m_writtenParameters.insert(parameter).second);
    }

    void assignOffsets() {
        const std::size_t count = 2 * m_values + m_graph.operations.size();
        std::vector<Lifetime> lives(count);
        for (std::size_t i = 0; i < count; ++i)
            lives[i] = m_buffers.lifetime(i);
        const ArenaLayout layout = layOut(lives);
        m_program.activationBytes = layout.bytes;
        const auto placement = [&](std::size_t id) {
            const std::size_t owner = m_buffers.owner(id);
            return Placement{layout.offsets[owner], lives[owner].bytes};
        };
        for (std::size_t i = 0; i < m_values; ++i) {
            m_program.values.push_back(placement(i));
            m_program.gradients.push_back(placement(m_values + i));
        }
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i)
            m_program.saved.push_back(placement(2 * m_values + i));
    }

    const Plan& m_plan;
    const Graph& m_graph;
    std::vector<bool> m_withGradient;
    Program m_program;
    std::size_t m_values = 0;
    Buffers m_buffers{0};
    std::set<ValueId> m_written;
    std::set<ParameterId> m_writtenParameters;
};

} // namespace

std::string_view name(Opcode opcode) {
    switch (opcode) {
    case Opcode::LoadBatch:
        return "load batch";
    case Opcode::Forward:
        return "forward";
    case Opcode::Backward:
        return "backward";
    case Opcode::Inference:
        return "inference";
    case Opcode::ReduceGradients:
        return "all-reduce gradients";
    case Opcode::ReduceStatistics:
        return "all-reduce batch statistics";
    case Opcode::ReduceSums:
        return "all-reduce sums";
    case Opcode::Update:
        return "update";
    }
    return "?";
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
