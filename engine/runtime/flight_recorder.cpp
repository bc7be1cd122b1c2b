// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/flight_recorder.h"

#include <algorithm>
#include <cstring>

namespace trainyard::engine {

namespace {

using graph::at;
using plan::Opcode;

StepPart partOf(std::uint8_t opcode) {
    switch (static_cast<Opcode>(opcode)) {
    case Opcode::LoadBatch:
        return StepPart::Data;
    case Opcode::Forward:
    case Opcode::Inference:
        return StepPart::Forward;
    case Opcode::Recompute:
    case Opcode::Backward:
        return StepPart::Backward;
    case Opcode::ReceiveValue:
    case Opcode::ReceiveGradient:
        return StepPart::Bubble;
    case Opcode::Update:
        return StepPart::Optimizer;
    default:
        return StepPart::Communication;
    }
}

constexpr std::size_t asIndex(StepPart part) {
    return static_cast<std::size_t>(part);
}

/// One writer: no need for an atomic addition.
void increase(std::atomic<std::int64_t>& sum, std::int64_t addend) {
    sum.store(sum.load(std::memory_order_relaxed) + addend, std::memory_order_relaxed);
}

std::uint64_t bytesThatTravel(const plan::Plan& plan, const plan::Section& section,
                              const plan::Program& program, const plan::Instruction& instruction) {
    const bool leavesRank = !plan::runsKernel(instruction.opcode);
    if (leavesRank && instruction.bucket >= 0) {
        if (instruction.opcode != Opcode::GatherParameters)
            return plan::wireBytes(plan, section, instruction.bucket);
        return section.buckets[at(instruction.bucket)].elements * bytesOf(exactType(plan.type));
    }
    if (instruction.opcode == Opcode::GatherScores)
        return plan::scoreBytes(section.graph, program, instruction);
    if (leavesRank && instruction.value >= 0) {
        const graph::ValueInfo& value = section.graph.values[at(instruction.value)];
        return static_cast<std::uint64_t>(storedElements(value.shape, value.layout) *
                                          program.rowsOf(instruction)) *
               bytesOf(plan.type);
    }
    return 0;
}

} // namespace

std::vector<InstructionRecord> recordsOf(const plan::Plan& plan, const plan::Section& section,
                                         const plan::Program& program) {
    std::vector<InstructionRecord> records;
    for (const plan::Instruction& instruction : program.instructions) {
        InstructionRecord record;
        record.instruction = static_cast<std::int32_t>(records.size());
        record.opcode = static_cast<std::uint8_t>(instruction.opcode);
        record.purpose = static_cast<std::uint8_t>(program.purpose);
        record.phase = static_cast<std::uint8_t>(instruction.phase);
        record.operation = instruction.operation;
        record.microBatch = instruction.microBatch;
        record.bucket = instruction.bucket;
        record.peer = instruction.peer;
        record.bytes = bytesThatTravel(plan, section, program, instruction);
        records.push_back(record);
    }
    return records;
}

StepWindow StepWindow::of(std::int64_t stepsOfRun) {
    StepWindow window;
    window.steps = std::min(window.steps, stepsOfRun);
    window.first = std::min(window.first, stepsOfRun - window.steps);
    return window;
}

void LaneRecorder::begin(const InstructionRecord& known, std::int64_t nowNs) {
    const std::uint64_t number = m_current.number + 1;
    m_current = known;
    m_current.number = number;
    m_current.beginNs = nowNs;
    m_current.step = m_step;
    slotOf(number).write(m_current);
}

void LaneRecorder::end(std::int64_t nowNs) {
    m_current.endNs = nowNs;
    slotOf(m_current.number).setEnd(nowNs);
    m_sums[asIndex(partOf(m_current.opcode))] += nowNs - m_current.beginNs;
    if (m_keepsAll && m_current.purpose == static_cast<std::uint8_t>(plan::Purpose::Training))
        keepInWindow();
}

void LaneRecorder::keepInWindow() {
    const std::uint64_t kept = m_inWindow->load(std::memory_order_relaxed);
    if (kept == m_windowRoom) {
        m_leftOut->fetch_add(1, std::memory_order_relaxed);
        return;
    }
    m_window[kept].write(m_current);
    m_inWindow->store(kept + 1, std::memory_order_release);
}

FlightRecorder::FlightRecorder(FlightRecord& memory, const plan::Section& section,
                               StepWindow window)
    : m_memory(memory), m_window(window) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        LaneRecorder& recorder = m_lanes[lane];
        recorder.m_last = memory.last[lane].data();
        recorder.m_window = memory.windowOf(lane);
        recorder.m_windowRoom = kWindowInstructions[lane];
        recorder.m_inWindow = &memory.inWindow[lane];
        recorder.m_leftOut = &memory.leftOut;
    }
    nameLayers(section.graph);
}

void FlightRecorder::nameLayers(const graph::Graph& graph) {
    std::size_t used = 0;
    for (const graph::Operation& operation : graph.operations) {
        const std::size_t bytes = operation.layer.size() + 1;
        if (used + bytes > m_memory.layers.size())
            break; // the others have numbers
        std::memcpy(m_memory.layers.data() + used, operation.layer.c_str(), bytes);
        used += bytes;
    }
    m_memory.layerBytes.store(used, std::memory_order_release);
}

void FlightRecorder::beginStep(std::int64_t step, std::int64_t nowNs) {
    m_stepBeginNs = nowNs;
    for (LaneRecorder& lane : m_lanes) {
        lane.m_step = step;
        lane.m_keepsAll = m_window.has(step);
        lane.m_sums = {};
    }
}

/// What no lane computes in is waiting: as much of it as there was to receive is bubble, the rest
/// communication that nothing hides. Holds whether the lanes take turns or run at the same time.
void FlightRecorder::endStep(std::int64_t nowNs) {
    LaneRecorder::Sums sums{};
    for (const LaneRecorder& lane : m_lanes)
        for (std::size_t part = 0; part < kStepParts; ++part)
            sums[part] += lane.m_sums[part];
    const std::int64_t wholeNs = nowNs - m_stepBeginNs;
    const std::int64_t busyNs = sums[asIndex(StepPart::Data)] + sums[asIndex(StepPart::Forward)] +
                                sums[asIndex(StepPart::Backward)] +
                                sums[asIndex(StepPart::Optimizer)];
    const std::int64_t idleNs = std::max<std::int64_t>(wholeNs - busyNs, 0);
    std::int64_t& bubbleNs = sums[asIndex(StepPart::Bubble)];
    bubbleNs = std::min(bubbleNs, idleNs);
    sums[asIndex(StepPart::Exposed)] =
        std::min(sums[asIndex(StepPart::Communication)], idleNs - bubbleNs);
    StepTimes& times = m_memory.times;
    for (std::size_t part = 0; part < kStepParts; ++part)
        increase(times.partNs[part], sums[part]);
    increase(times.wholeNs, wholeNs);
    increase(times.steps, 1);
    for (LaneRecorder& lane : m_lanes)
        lane.m_keepsAll = false;
}

} // namespace trainyard::engine
