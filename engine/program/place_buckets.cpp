// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/program/place_buckets.h"

#include "engine/program/arena_planner.h"

#include <algorithm>
#include <map>

namespace trainyard::plan {

namespace {

using graph::at;

/// Offsets of windows in an arena of their own; its bytes.
std::size_t placeWindows(BucketWindows& windows) {
    std::vector<Lifetime> lives;
    for (const BucketWindow& window : windows.all)
        lives.push_back({window.place.bytes, window.first, window.last});
    const ArenaLayout layout = layOut(lives);
    for (std::size_t i = 0; i < windows.all.size(); ++i)
        windows.all[i].place.offset = layout.offsets[i];
    return layout.bytes;
}

class BucketPlacer {
public:
    BucketPlacer(const Plan& plan, const Section& section, Program& program)
        : m_plan(plan), m_section(section), m_program(program) {}

    void run() {
        m_program.parameterWindows.ofBucket.resize(m_section.buckets.size());
        m_program.gradientWindows.ofBucket.resize(m_section.buckets.size());
        for (std::size_t i = 0; i < m_program.instructions.size(); ++i)
            look(m_program.instructions[i], static_cast<int>(i));
        m_program.gradientBytes = placeWindows(m_program.gradientWindows);
        m_program.parameterBytes = placeWindows(m_program.parameterWindows);
        for (const BucketWindow& window : m_program.parameterWindows.all)
            orderGather(window);
        for (const BucketWindow& window : m_program.gradientWindows.all)
            waitForEarlier(window, m_program.gradientWindows.all);
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
                m_program.parameterWindows.all[m_gathered.at(bucket)].last = now;
            if (m_plan.shardsGradients && instruction.opcode == Opcode::Backward &&
                !m_written.contains(bucket))
                m_written[bucket] = open(m_program.gradientWindows, bucket, now);
        }
    }

    /// A gather waits until the bytes are free, and who reads them first waits for the gather.
    void orderGather(const BucketWindow& window) {
        waitForEarlier(window, m_program.parameterWindows.all);
        for (int i = window.first + 1; i <= window.last; ++i) {
            Instruction& reader = m_program.instructions[at(i)];
            if (!runsKernel(reader.opcode) || !uses(reader, window.bucket))
                continue;
            reader.waitsFor.push_back(window.first);
            return;
        }
    }

    bool uses(const Instruction& instruction, int bucket) const {
        return std::ranges::any_of(
            m_section.graph.operations[at(instruction.operation)].parameters,
            [&](graph::ParameterId id) { return m_section.bucketOf[at(id)] == bucket; });
    }

    /// The first instruction of a window comes after the last ones of those that lay there before.
    void waitForEarlier(const BucketWindow& window, const std::vector<BucketWindow>& windows) {
        for (const BucketWindow& other : windows)
            if (other.last < window.first &&
                other.place.offset < window.place.offset + window.place.bytes &&
                window.place.offset < other.place.offset + other.place.bytes)
                m_program.instructions[at(window.first)].waitsFor.push_back(other.last);
    }

    std::size_t open(BucketWindows& windows, int bucket, int now) const {
        const std::size_t bytes =
            m_section.buckets[at(bucket)].elements * bytesOf(exactType(m_plan.type));
        windows.ofBucket[at(bucket)].push_back(static_cast<int>(windows.all.size()));
        windows.all.push_back({bucket, now, now, {0, bytes}});
        return windows.all.size() - 1;
    }

    void close(int bucket, int now) {
        m_program.gradientWindows.all[m_written.at(bucket)].last = now;
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
