// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/plan/memory_machine.h"

#include "engine/program/arena_planner.h"

#include <algorithm>

namespace trainyard::test {

using graph::at;
using graph::Operation;
using graph::OperationId;
using graph::ValueId;
using plan::Placement;

namespace {

std::size_t blocksOf(std::size_t bytes) {
    return (bytes + plan::kArenaAlignment - 1) / plan::kArenaAlignment;
}

bool overlap(const Placement& a, const Placement& b) {
    return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes &&
           b.offset < a.offset + a.bytes;
}

} // namespace

MemoryMachine::MemoryMachine(const plan::Plan& plan, int rank, const plan::Program& program)
    : m_plan(plan), m_section(plan.sectionOf(rank)), m_graph(m_section.graph), m_program(program),
      m_blocks(blocksOf(program.activationBytes)), m_alive(program.instructions.size()) {}

std::string MemoryMachine::run() {
    for (m_now = 0; m_now < m_program.instructions.size() && m_problem.empty(); ++m_now) {
        const plan::Instruction& instruction = m_program.instructions[m_now];
        switch (instruction.opcode) {
        case plan::Opcode::LoadBatch:
            load();
            break;
        case plan::Opcode::Forward:
        case plan::Opcode::Inference:
        case plan::Opcode::Recompute:
            forward(instruction);
            break;
        case plan::Opcode::Backward:
            backward(instruction);
            break;
        case plan::Opcode::GatherScores:
            gather(instruction);
            break;
        default:
            if (instruction.value >= 0)
                exchange(instruction);
            break;
        }
    }
    return m_problem;
}

std::size_t MemoryMachine::mostAlive() const {
    return *std::max_element(m_alive.begin(), m_alive.end()) * plan::kArenaAlignment;
}

void MemoryMachine::load() {
    if (m_section.readsInput())
        write(placeOf(m_graph.input), bytesOf(m_graph.input), contentOf(m_graph.input));
}

/// With other ranks. Sums change bytes where they lie.
void MemoryMachine::exchange(const plan::Instruction& instruction) {
    const ValueId value = instruction.value;
    switch (instruction.opcode) {
    case plan::Opcode::SendValue:
    case plan::Opcode::SumValue:
        read(placeOf(value), bytesOf(value), contentOf(value));
        break;
    case plan::Opcode::ReceiveValue:
        write(placeOf(value), bytesOf(value), contentOf(value));
        break;
    case plan::Opcode::SendGradient:
    case plan::Opcode::SumGradient:
        read(gradientPlaceOf(value), bytesOf(value), gradientOf(value));
        if (gradientParts(value) != gradientsDue(value))
            fail("the gradient of value " + std::to_string(value) + " is not complete");
        break;
    default:
        if (instruction.adds) {
            const Placement& received = m_program.placesOf(instruction).received;
            mayShare(received, gradientPlaceOf(value), false, "what it adds to");
            write(received, bytesOf(value), "received");
            read(received, bytesOf(value), "received");
        }
        addToGradient(value, instruction.adds);
        break;
    }
}

void MemoryMachine::addToGradient(ValueId value, bool adds) {
    const Placement& place = gradientPlaceOf(value);
    if (adds != (gradientParts(value) > 0))
        fail("the first gradient must be written, the others added");
    if (adds)
        read(place, bytesOf(value), gradientOf(value));
    ++gradientParts(value);
    write(place, bytesOf(value), gradientOf(value));
}

/// Collect only reads: what it makes are statistics, outside the arena.
void MemoryMachine::forward(const plan::Instruction& instruction) {
    const OperationId id = instruction.operation;
    const plan::Phase phase = instruction.phase;
    const Placement& saved = m_program.savedPlaceOf(instruction);
    const Operation& operation = m_graph.operations[at(id)];
    const bool mayRunInPlace = graph::traits(operation.kind).mayRunInPlace;
    for (const ValueId input : operation.inputs)
        read(placeOf(input), bytesOf(input), contentOf(input));
    if (graph::isLoss(operation.kind)) {
        score(instruction, saved);
        return;
    }
    if (phase == plan::Phase::Collect)
        return;
    for (const ValueId output : operation.outputs) {
        const Placement& place = placeOf(output);
        for (const ValueId input : operation.inputs)
            mayShare(place, placeOf(input), mayRunInPlace, "its input");
        mayShare(place, saved, false, "what it saves");
        write(place, bytesOf(output), contentOf(output));
    }
    if (m_program.purpose == plan::Purpose::Training)
        write(saved, savedBytesOf(id), savedBy(operation));
}

/// What it saves is its own part first, then those of all ranks.
void MemoryMachine::score(const plan::Instruction& instruction, const Placement& saved) {
    const std::size_t bytes = savedBytesOf(instruction.operation);
    const Content content = savedBy(m_graph.operations[at(instruction.operation)]);
    const bool whole = instruction.phase == plan::Phase::Whole;
    if (whole ? bytes > 0 : bytes == 0 && m_program.microBatches.front().count > 0)
        fail("a loss over slices needs what all ranks know of them");
    else if (instruction.phase == plan::Phase::Collect)
        write(saved, bytes, content + ", one part");
    else
        read(saved, bytes, content);
}

/// The parts of the other ranks.
void MemoryMachine::gather(const plan::Instruction& instruction) {
    const Placement& saved = m_program.savedPlaceOf(instruction);
    const std::size_t bytes = savedBytesOf(instruction.operation);
    const Content content = savedBy(m_graph.operations[at(instruction.operation)]);
    read(saved, bytes, content + ", one part");
    write(saved, bytes, content);
}

void MemoryMachine::backward(const plan::Instruction& instruction) {
    const OperationId id = instruction.operation;
    const plan::Phase phase = instruction.phase;
    const Placement& saved = m_program.savedPlaceOf(instruction);
    const Operation& operation = m_graph.operations[at(id)];
    const graph::OperationTraits& traits = graph::traits(operation.kind);
    read(saved, savedBytesOf(id), savedBy(operation));
    std::vector<Placement> reads = {saved};
    for (const ValueId output : operation.outputs) {
        read(gradientPlaceOf(output), bytesOf(output), gradientOf(output));
        if (gradientParts(output) != gradientsDue(output))
            fail("the gradient of value " + std::to_string(output) + " is not complete");
        if (traits.readsOutput) {
            read(placeOf(output), bytesOf(output), contentOf(output));
            reads.push_back(placeOf(output));
        }
    }
    for (const ValueId input : operation.inputs)
        if (traits.readsInput) {
            read(placeOf(input), bytesOf(input), contentOf(input));
            reads.push_back(placeOf(input));
        }
    if (phase == plan::Phase::Collect)
        return;
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
        const ValueId input = operation.inputs[i];
        if (!m_section.withGradient[at(input)])
            continue;
        const Placement& place = gradientPlaceOf(input);
        for (const Placement& other : reads)
            mayShare(place, other, false, "what its backward reads");
        for (const ValueId output : operation.outputs)
            mayShare(place, gradientPlaceOf(output), traits.mayRunInPlace, "its output's gradient");
        addToGradient(input, m_program.addsToGradient[at(id)][i]);
    }
}

const Placement& MemoryMachine::placeOf(ValueId value) const {
    return m_program.placeOf(value, m_graph, m_program.instructions[m_now]);
}

const Placement& MemoryMachine::gradientPlaceOf(ValueId value) const {
    return m_program.gradientPlaceOf(value, m_program.instructions[m_now]);
}

std::size_t& MemoryMachine::gradientParts(ValueId value) {
    return m_gradientParts[{m_program.instructions[m_now].microBatch, value}];
}

std::string MemoryMachine::ofMicroBatch() const {
    return " of micro-batch " + std::to_string(m_program.instructions[m_now].microBatch);
}

MemoryMachine::Content MemoryMachine::savedBy(const Operation& operation) const {
    return "saved by " + operation.layer + ofMicroBatch();
}

void MemoryMachine::read(const Placement& place, std::size_t bytes, const Content& content) {
    if (place.bytes < bytes)
        fail(content + " has too little room");
    for (std::size_t i = 0; i < blocksOf(bytes) && m_problem.empty(); ++i) {
        Block& block = m_blocks[place.offset / plan::kArenaAlignment + i];
        if (block.content != content)
            fail("expected " + content + ", found " + block.content);
        // It was alive from then to now.
        for (std::size_t when = block.writtenAt; when <= m_now; ++when)
            ++m_alive[when];
        block.writtenAt = m_now + 1;
    }
}

void MemoryMachine::write(const Placement& place, std::size_t bytes, const Content& content) {
    if (place.bytes < bytes || place.offset + place.bytes > m_program.activationBytes)
        fail(content + " has too little room");
    for (std::size_t i = 0; i < blocksOf(bytes) && m_problem.empty(); ++i) {
        Block& block = m_blocks[place.offset / plan::kArenaAlignment + i];
        // Read and written by the same instruction: counted once.
        const bool countedNow = block.writtenAt == m_now + 1;
        block = {content, countedNow ? m_now + 1 : m_now};
    }
}

void MemoryMachine::mayShare(const Placement& a, const Placement& b, bool inPlace,
                             const std::string& what) {
    if (overlap(a, b) && !(inPlace && a.offset == b.offset))
        fail("it writes over " + what);
}

std::size_t MemoryMachine::bytesOf(ValueId value) const {
    const graph::ValueInfo& info = m_graph.values[at(value)];
    return static_cast<std::size_t>(storedElements(info.shape, info.layout) *
                                    m_program.microBatches.front().count) *
           trainyard::bytesOf(info.indices ? DType::Int32 : m_plan.type);
}

std::size_t MemoryMachine::savedBytesOf(OperationId id) const {
    const Operation& operation = m_graph.operations[at(id)];
    const bool loss = graph::isLoss(operation.kind);
    if (m_program.microBatches.front().count == 0 ||
        (!loss && !m_section.withGradient[at(operation.outputs.front())]))
        return 0;
    const graph::ValueInfo& output =
        m_graph.values[at((loss ? operation.inputs : operation.outputs).front())];
    return graph::savedBytes(operation.kind, operation.attributes,
                             m_graph.values[at(operation.inputs.front())].shape, output.shape,
                             output.layout, m_program.microBatches.front().count, m_plan.type);
}

bool MemoryMachine::sameBytes(const Operation& operation) const {
    return operation.kind == graph::OperationKind::Reshape &&
           m_graph.values[at(operation.inputs.front())].layout ==
               m_graph.values[at(operation.outputs.front())].layout;
}

/// A flatten gives its input's bytes on.
MemoryMachine::Content MemoryMachine::contentOf(ValueId value) const {
    OperationId producer = m_graph.values[at(value)].producer;
    while (producer >= 0 && sameBytes(m_graph.operations[at(producer)])) {
        value = m_graph.operations[at(producer)].inputs.front();
        producer = m_graph.values[at(value)].producer;
    }
    return "value " + std::to_string(value) + ofMicroBatch();
}

/// With the number of parts that are summed up in it; a flatten with one reader gives it on.
MemoryMachine::Content MemoryMachine::gradientOf(ValueId value) {
    return "gradient of value " + std::to_string(value) + ofMicroBatch() + " with " +
           std::to_string(gradientParts(value)) + " parts";
}

/// Consumers whose backward gives a gradient, here and on other ranks; all of them, as the value
/// has one.
std::size_t MemoryMachine::gradientsDue(ValueId value) const {
    std::size_t due = m_graph.values[at(value)].consumers.size();
    for (const plan::Transfer& transfer : m_section.leaving)
        due += static_cast<std::size_t>(std::ranges::count(transfer.values, value));
    return due;
}

void MemoryMachine::fail(const std::string& what) {
    if (!m_problem.empty())
        return;
    const plan::Instruction& instruction = m_program.instructions[m_now];
    m_problem =
        "instruction " + std::to_string(m_now) + ", " + std::string(plan::name(instruction.opcode));
    if (instruction.operation >= 0)
        m_problem += " of " + m_graph.operations[at(instruction.operation)].layer;
    m_problem += ": " + what;
}

} // namespace trainyard::test
