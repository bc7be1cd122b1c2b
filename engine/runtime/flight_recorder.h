// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// FlightRecorder: writes a rank's FlightRecord while it works. Costs a few stores at the begin and
// at the end of an instruction; allocates nothing after its layers are named.
// Threads: each lane belongs to the thread that runs its instructions; the rest is called by the
// thread that begins and ends steps, while no lane runs.
#pragma once

#include "engine/plan/plan.h"
#include "engine/program/program.h"
#include "engine/runtime/flight_record.h"

#include <array>
#include <cstdint>
#include <vector>

namespace trainyard::engine {

/// What is known of the instructions of a program before they run.
std::vector<InstructionRecord> recordsOf(const plan::Plan& plan, const plan::Section& section,
                                         const plan::Program& program);

/// Steps whose every instruction is kept.
struct StepWindow {
    std::int64_t first = 10;
    std::int64_t steps = 5;
    /// The default, or the end of a run that has fewer steps.
    static StepWindow of(std::int64_t stepsOfRun);
    bool has(std::int64_t step) const { return step >= first && step < first + steps; }
};

class LaneRecorder {
public:
    /// An instruction begins; a second begin without an end never happens.
    void begin(const InstructionRecord& known, std::int64_t nowNs);
    /// It has ended well. One that fails stays open: that is where the rank stood.
    void end(std::int64_t nowNs);

private:
    friend class FlightRecorder;
    using Sums = std::array<std::int64_t, kStepParts>;

    RecordSlot& slotOf(std::uint64_t number) { return m_last[(number - 1) % kLastInstructions]; }
    void keepInWindow();

    RecordSlot* m_last = nullptr;
    RecordSlot* m_window = nullptr;
    std::size_t m_windowRoom = 0;
    std::atomic<std::uint64_t>* m_inWindow = nullptr;
    std::atomic<std::uint64_t>* m_leftOut = nullptr;
    InstructionRecord m_current;
    std::int64_t m_step = 0;
    bool m_keepsAll = false;
    Sums m_sums{}; ///< of this step
};

class FlightRecorder {
public:
    /// `memory` is kept and written; all zero.
    FlightRecorder(FlightRecord& memory, const plan::Section& section, StepWindow window);

    LaneRecorder& lane(plan::Lane lane) { return m_lanes[static_cast<std::size_t>(lane)]; }
    void beginStep(std::int64_t step, std::int64_t nowNs);
    /// A step that failed has no end.
    void endStep(std::int64_t nowNs);

private:
    void nameLayers(const graph::Graph& graph);

    FlightRecord& m_memory;
    StepWindow m_window;
    std::array<LaneRecorder, kLanes> m_lanes;
    std::int64_t m_stepBeginNs = 0;
};

} // namespace trainyard::engine
