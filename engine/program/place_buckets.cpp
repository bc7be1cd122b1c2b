// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/program/place_buckets.h"

#include "engine/program/arena_planner.h"

#include <map>

namespace trainyard::plan {

namespace {

using graph::at;

/// Offsets of windows in an arena of their own; its bytes.
std::size_t placeWindows(std::vector<BucketWindow>& windows) {
    std::vector<Lifetime> lives;
    for (const BucketWindow& window : windows)
        lives.push_back({window.place.bytes, window.first, window.last});
    const ArenaLayout layout = layOut(lives);
    for (std::size_t i = 0; i < windows.size(); ++i)
        windows[i].place.offset = layout.offsets[i];
    return layout.bytes;
}

class BucketPlacer {
public:
    BucketPlacer(const Plan& plan, const Section& section, Program& program)
        : m_plan(plan), m_section(section), m_program(program) {}

    void run() {
        for (std::size_t i = 0; i < m_program.instructions.size(); ++i)
            look(m_program.instructions[i], static_cast<int>(i));
        m_program.gradientBytes = placeWindows(m_program.gradientWindows);
        m_program.parameterBytes = placeWindows(m_program.parameterWindows);
    }

private:
    void look(const Instruction& instruction, int now) {
        if (instruction.opcode == Opcode::GatherParameters && m_plan.shardsParameters)
            m_gathered[instruction.bucket] =
                open(m_program.parameterWindows, instruction.bucket, now);
        if (instruction.opcode == Opcode::ScatterGradients && m_plan.shardsGradients)
            close(instruction.bucket, now);
        if (!runsKernel(instruction.opcode))
            return;
        const graph::Operation& operation = m_section.graph.operations[at(instruction.operation)];
        for (const graph::ParameterId parameter : operation.parameters) {
            const int bucket = m_section.bucketOf[at(parameter)];
            if (m_plan.shardsParameters)
                m_program.parameterWindows[m_gathered.at(bucket)].last = now;
            if (m_plan.shardsGradients && instruction.opcode == Opcode::Backward &&
                !m_written.contains(bucket))
                m_written[bucket] = open(m_program.gradientWindows, bucket, now);
        }
    }

    std::size_t open(std::vector<BucketWindow>& windows, int bucket, int now) const {
        const std::size_t bytes =
            m_section.buckets[at(bucket)].elements * bytesOf(exactType(m_plan.type));
        windows.push_back({bucket, now, now, {0, bytes}});
        return windows.size() - 1;
    }

    void close(int bucket, int now) {
        m_program.gradientWindows[m_written.at(bucket)].last = now;
        m_written.erase(bucket);
    }

    const Plan& m_plan;
    const Section& m_section;
    Program& m_program;
    std::map<int, std::size_t> m_gathered; ///< bucket -> window
    std::map<int, std::size_t> m_written;  ///< likewise, of gradients not yet reduced
};

} // namespace

void placeBuckets(const Plan& plan, const Section& section, Program& program) {
    if (plan.shardsGradients || plan.shardsParameters)
        BucketPlacer(plan, section, program).run();
}

} // namespace trainyard::plan
