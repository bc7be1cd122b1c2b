// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/program/place_memory.h"

#include "engine/program/arena_planner.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace trainyard::plan {

namespace {

using graph::at;
using graph::Graph;
using graph::Operation;
using graph::OperationId;
using graph::ParameterId;
using graph::ValueId;

/// Values of one buffer are joined; the buffer's life covers all their uses.
class Buffers {
public:
    explicit Buffers(std::size_t count)
        : m_owner(count), m_lives(count, kUntouched), m_turns(count, 0) {
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
    void touch(std::size_t id, int instruction, int turn) {
        Lifetime& life = m_lives[owner(id)];
        if (life.last < 0) {
            life.first = instruction;
            m_turns[owner(id)] = turn;
        }
        life.last = instruction;
        if (m_turns[owner(id)] != turn)
            m_turns[owner(id)] = kSeveral;
    }
    /// It is alive in several turns, so that other micro-batches come in between.
    bool isKept(std::size_t id) const { return m_turns[owner(id)] == kSeveral; }
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
    static constexpr int kSeveral = -1;
    static constexpr Lifetime kUntouched{.bytes = 0, .first = 0, .last = -1};

    std::vector<std::size_t> m_owner;
    std::vector<Lifetime> m_lives;
    std::vector<int> m_turns; ///< the only one a buffer was touched in
};

class MemoryPlanner {
public:
    MemoryPlanner(const Plan& plan, const Section& section, Program& program)
        : m_plan(plan), m_graph(section.graph), m_withGradient(section.withGradient),
          m_program(program) {}

    void run() {
        joinBuffers();
        setSizes();
        findLifetimes();
        assignOffsets();
    }

private:
    bool training() const { return m_program.purpose == Purpose::Training; }

    std::int64_t rowsAtOnce() const { return m_program.microBatches.front().count; }

    std::size_t valueBytes(ValueId id) const {
        const graph::ValueInfo& value = m_graph.values[at(id)];
        return static_cast<std::size_t>(storedElements(value.shape, value.layout)) *
               static_cast<std::size_t>(rowsAtOnce()) *
               bytesOf(value.indices ? DType::Int32 : m_plan.type);
    }

    std::size_t loadedBytes() const {
        const graph::ValueInfo& input = m_graph.values[at(m_graph.input)];
        if (input.indices || m_plan.type != DType::Bf16)
            return 0;
        return static_cast<std::size_t>(elementCount(input.shape) * rowsAtOnce()) *
               bytesOf(exactType(m_plan.type));
    }

    std::size_t savedBytes(OperationId id) const {
        const Operation& operation = m_graph.operations[at(id)];
        const bool loss = operation.outputs.empty(); // its ranks tell each other always
        if (rowsAtOnce() == 0 ||
            (!loss && (!training() || !needsBackward(m_graph, m_withGradient, id))))
            return 0;
        const graph::ValueInfo& output =
            m_graph.values[at((loss ? operation.inputs : operation.outputs).front())];
        return graph::savedBytes(operation.kind, operation.attributes,
                                 m_graph.values[at(operation.inputs.front())].shape, output.shape,
                                 output.layout, rowsAtOnce(), m_plan.type);
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
    /// What lies outside a block that runs again is needed then.
    bool runsInPlace(OperationId id, std::size_t input) const {
        const Operation& operation = m_graph.operations[at(id)];
        if (!graph::traits(operation.kind).mayRunInPlace || !keepsLayout(operation, input))
            return false;
        if (isSameBytes(operation))
            return true;
        const std::vector<ValueId> same = valuesInPlaceOf(operation.inputs[input]);
        return std::all_of(same.begin(), same.end(), [&](ValueId value) {
            const graph::ValueInfo& info = m_graph.values[at(value)];
            if (info.producer < 0 || info.leaves ||
                (m_program.blocks[at(id)] >= 0 && !isInBlockOf(value, id)))
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
        const graph::ValueInfo& info = m_graph.values[at(operation.inputs[input])];
        return keepsLayout(operation, input) && info.consumers.size() == 1 && !info.leaves;
    }

    /// The first input for which `may` holds; -1: none.
    ValueId firstInput(OperationId id,
                       bool (MemoryPlanner::*may)(OperationId, std::size_t) const) const {
        const Operation& operation = m_graph.operations[at(id)];
        for (std::size_t i = 0; i < operation.inputs.size(); ++i)
            if ((this->*may)(id, i))
                return operation.inputs[i];
        return -1;
    }

    /// The value is made by an operation of the block that `id` belongs to.
    bool isInBlockOf(ValueId value, OperationId id) const {
        return m_program.isMadeInBlockOf(value, m_graph, id);
    }

    // Buffers are numbered: values, gradients, what operations save; values and what is saved once
    // more, for blocks that are computed again.
    std::size_t gradientBuffer(ValueId id) const { return m_graph.values.size() + at(id); }
    std::size_t savedBuffer(OperationId id) const { return 2 * m_graph.values.size() + at(id); }
    std::size_t valueAgainBuffer(ValueId id) const {
        return savedBuffer(static_cast<OperationId>(m_graph.operations.size())) + at(id);
    }
    std::size_t savedAgainBuffer(OperationId id) const {
        return valueAgainBuffer(static_cast<ValueId>(m_graph.values.size())) + at(id);
    }
    std::size_t loadedBuffer() const {
        return savedAgainBuffer(static_cast<OperationId>(m_graph.operations.size()));
    }
    std::size_t receivedBuffer() const { return loadedBuffer() + 1; }
    std::size_t bufferCount() const { return receivedBuffer() + 1; }

    void joinBuffers() {
        m_program.addsToGradient.resize(m_graph.operations.size());
        m_program.addsToParameterGradient.resize(m_graph.operations.size());
        m_buffers = Buffers(bufferCount());
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i) {
            const Operation& operation = m_graph.operations[i];
            if (operation.outputs.empty())
                continue;
            const auto id = static_cast<OperationId>(i);
            const ValueId out = operation.outputs.front();
            if (const ValueId in = firstInput(id, &MemoryPlanner::runsInPlace); in >= 0) {
                m_buffers.join(at(out), at(in));
                m_buffers.join(valueAgainBuffer(out),
                               isInBlockOf(in, id) ? valueAgainBuffer(in) : at(in));
            }
            if (const ValueId in = firstInput(id, &MemoryPlanner::gradientInPlace); in >= 0)
                m_buffers.join(gradientBuffer(in), gradientBuffer(out));
        }
    }

    void setSizes() {
        for (std::size_t i = 0; i < m_graph.values.size(); ++i) {
            const auto id = static_cast<ValueId>(i);
            m_buffers.setBytes(i, valueBytes(id));
            m_buffers.setBytes(valueAgainBuffer(id), valueBytes(id));
            if (m_withGradient[i])
                m_buffers.setBytes(gradientBuffer(id), valueBytes(id));
            if (m_withGradient[i] && m_graph.values[i].leaves)
                m_buffers.setBytes(receivedBuffer(), valueBytes(id));
        }
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i) {
            const auto id = static_cast<OperationId>(i);
            m_buffers.setBytes(savedBuffer(id), savedBytes(id));
            m_buffers.setBytes(savedAgainBuffer(id), savedBytes(id));
        }
        m_buffers.setBytes(loadedBuffer(), loadedBytes());
    }

    /// In recompute and backward.
    std::size_t againBuffer(ValueId value, OperationId reader) const {
        return isInBlockOf(value, reader) ? valueAgainBuffer(value) : at(value);
    }

    /// Of the first micro-batch: the others do the same, in its place or in one like it.
    void findLifetimes() {
        for (std::size_t i = 0; i < m_program.instructions.size(); ++i) {
            Instruction& instruction = m_program.instructions[i];
            m_turn = instruction.turn;
            if (instruction.microBatch == 0)
                touchAll(instruction, static_cast<int>(i));
            else if (instruction.opcode == Opcode::ReceiveGradient)
                instruction.adds = m_receivedAdds.at({instruction.value, instruction.peer});
        }
    }

    void touch(std::size_t buffer, int now) { m_buffers.touch(buffer, now, m_turn); }

    void touchAll(Instruction& instruction, int now) {
        const ValueId value = instruction.value;
        switch (instruction.opcode) {
        case Opcode::LoadBatch:
            if (m_graph.values[at(m_graph.input)].consumers.empty())
                break; // only targets are loaded
            touch(at(m_graph.input), now);
            touch(loadedBuffer(), now);
            break;
        case Opcode::Forward:
        case Opcode::Inference:
            touchForward(instruction.operation, now);
            break;
        case Opcode::Recompute:
            touchRecompute(instruction.operation, now);
            break;
        case Opcode::Backward:
            touchBackward(instruction.operation, now);
            break;
        case Opcode::SumValue:
            touch(instruction.again ? againBuffer(value, instruction.operation) : at(value), now);
            break;
        case Opcode::GatherScores:
            touch(savedBuffer(instruction.operation), now);
            break;
        case Opcode::SendValue:
        case Opcode::ReceiveValue:
            touch(at(value), now);
            break;
        case Opcode::SumGradient:
        case Opcode::SendGradient:
            touch(gradientBuffer(value), now);
            break;
        case Opcode::ReceiveGradient:
            touchReceived(instruction, now);
            break;
        default:
            break;
        }
    }

    /// The first of a value's gradients is written, the others are added.
    void touchReceived(Instruction& instruction, int now) {
        instruction.adds = !m_written.insert(instruction.value).second;
        m_receivedAdds[{instruction.value, instruction.peer}] = instruction.adds;
        if (instruction.adds)
            touch(receivedBuffer(), now);
        touch(gradientBuffer(instruction.value), now);
    }

    void touchForward(OperationId id, int now) {
        const Operation& operation = m_graph.operations[at(id)];
        for (const ValueId input : operation.inputs)
            touch(at(input), now);
        for (const ValueId output : operation.outputs)
            touch(at(output), now);
        touch(savedBuffer(id), now);
    }

    void touchRecompute(OperationId id, int now) {
        const Operation& operation = m_graph.operations[at(id)];
        for (const ValueId input : operation.inputs)
            touch(againBuffer(input, id), now);
        for (const ValueId output : operation.outputs)
            touch(valueAgainBuffer(output), now);
        touch(savedAgainBuffer(id), now);
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
                touch(againBuffer(input, id), now);
            if (!m_withGradient[at(input)])
                continue;
            if (!again)
                adds[i] = !m_written.insert(input).second;
            touch(gradientBuffer(input), now);
        }
        for (const ValueId output : operation.outputs) {
            if (traits.readsOutput)
                touch(againBuffer(output, id), now);
            touch(gradientBuffer(output), now);
        }
        touch(m_program.blocks[at(id)] >= 0 ? savedAgainBuffer(id) : savedBuffer(id), now);
    }

    void noteParameters(OperationId id) {
        std::vector<bool>& adds = m_program.addsToParameterGradient[at(id)];
        for (const ParameterId parameter : m_graph.operations[at(id)].parameters)
            adds.push_back(!m_writtenParameters.insert(parameter).second);
    }

    /// One place: all buffers share one layout. Several: what a micro-batch keeps from turn to turn
    /// lies in a part of its own for each place, what is alive within a turn lies behind them,
    /// once.
    void assignOffsets() {
        std::vector<Lifetime> lives(bufferCount());
        for (std::size_t i = 0; i < lives.size(); ++i)
            lives[i] = m_buffers.lifetime(i);
        const std::size_t places = m_program.places.size();
        std::vector<Lifetime> kept(lives.size());
        std::vector<Lifetime> passing(lives.size());
        for (std::size_t i = 0; i < lives.size(); ++i)
            (places == 1 || m_buffers.isKept(i) ? kept : passing)[i] = lives[i];
        const ArenaLayout keptLayout = layOut(kept);
        const ArenaLayout passingLayout = layOut(passing);
        m_program.activationBytes = places * keptLayout.bytes + passingLayout.bytes;
        for (std::size_t place = 0; place < places; ++place)
            fillPlaces(m_program.places[place], [&](std::size_t buffer) {
                const std::size_t owner = m_buffers.owner(buffer);
                const bool passes = passing[owner].bytes > 0;
                return Placement{passes ? places * keptLayout.bytes + passingLayout.offsets[owner]
                                        : place * keptLayout.bytes + keptLayout.offsets[owner],
                                 lives[owner].bytes};
            });
    }

    template <class PlacementOf>
    void fillPlaces(Places& places, const PlacementOf& placement) const {
        for (std::size_t i = 0; i < m_graph.values.size(); ++i) {
            const auto id = static_cast<ValueId>(i);
            places.values.push_back(placement(i));
            places.gradients.push_back(placement(gradientBuffer(id)));
            places.recomputedValues.push_back(placement(valueAgainBuffer(id)));
        }
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i) {
            const auto id = static_cast<OperationId>(i);
            places.saved.push_back(placement(savedBuffer(id)));
            places.recomputedSaved.push_back(placement(savedAgainBuffer(id)));
        }
        places.loaded = placement(loadedBuffer());
        places.received = placement(receivedBuffer());
    }

    const Plan& m_plan;
    const Graph& m_graph;
    const std::vector<bool>& m_withGradient;
    Program& m_program;
    Buffers m_buffers{0};
    int m_turn = 0; ///< of the instruction that is looked at
    std::set<ValueId> m_written;
    std::set<ParameterId> m_writtenParameters;
    std::map<std::pair<ValueId, int>, bool> m_receivedAdds; ///< by value and peer
};

} // namespace

void placeMemory(const Plan& plan, const Section& section, Program& program) {
    MemoryPlanner(plan, section, program).run();
}

} // namespace trainyard::plan
