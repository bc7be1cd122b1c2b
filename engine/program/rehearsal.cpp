// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/program/rehearsal.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

namespace trainyard::plan {

namespace {

struct Sent {
    std::uint32_t tag = 0;
    double arrives = 0;
};

struct Queue {
    std::deque<Sent> messages;
    std::size_t depth = 0;
};

/// Direction, from, to.
using ChannelKey = std::tuple<bool, int, int>;

struct Actor {
    Program program;
    std::size_t next = 0;
    double clock = 0;
    double busy = 0;
    bool isDone() const { return next == program.instructions.size(); }
    const Instruction& instruction() const { return program.instructions[next]; }
};

class Theatre {
public:
    Theatre(const Plan& plan, Purpose purpose, std::int64_t batchRows, const InstructionCost& cost,
            int dataCoordinate)
        : m_plan(plan), m_cost(cost) {
        for (int rank = 0; rank < plan.mesh.pipeline; ++rank) {
            const int worldRank = plan.mesh.rankOf({dataCoordinate, 0, rank});
            m_actors.push_back({compileProgram(plan, worldRank, purpose, batchRows), 0, 0, 0});
            for (const Transfer& transfer : plan.sectionOf(worldRank).leaving)
                openChannels(transfer);
        }
    }

    Rehearsal run() {
        bool moved = true;
        while (moved) {
            moved = false;
            for (std::size_t rank = 0; rank < m_actors.size(); ++rank)
                while (m_problem.empty() && advance(static_cast<int>(rank)))
                    moved = true;
            moved = meet() || moved;
        }
        Rehearsal result;
        result.problem = m_problem;
        result.times = std::move(m_times);
        for (std::size_t rank = 0; rank < m_actors.size(); ++rank) {
            const Actor& actor = m_actors[rank];
            if (!actor.isDone() && result.problem.empty())
                result.problem = "rank " + std::to_string(rank) + " waits for ever to " +
                                 std::string(name(actor.instruction().opcode));
            result.seconds = std::max(result.seconds, actor.clock);
            result.busy.push_back(actor.busy);
        }
        return result;
    }

private:
    void openChannels(const Transfer& transfer) {
        const std::size_t room =
            static_cast<std::size_t>(microBatchesOnTheWay(m_plan.pipelineShape())) *
            transfer.values.size();
        m_queues[{false, transfer.from, transfer.to}].depth += room;
        m_queues[{true, transfer.to, transfer.from}].depth += room;
    }

    static bool needsAll(Opcode opcode) {
        return opcode == Opcode::ReduceSums || opcode == Opcode::SumShared;
    }

    /// One instruction, if it need not wait for somebody who has not come yet.
    bool advance(int rank) {
        Actor& actor = m_actors[static_cast<std::size_t>(rank)];
        if (actor.isDone() || needsAll(actor.instruction().opcode))
            return false;
        const Instruction& instruction = actor.instruction();
        const bool gradient = instruction.opcode == Opcode::SendGradient ||
                              instruction.opcode == Opcode::ReceiveGradient;
        switch (instruction.opcode) {
        case Opcode::SendValue:
        case Opcode::SendGradient: {
            Queue& queue = m_queues[{gradient, rank, instruction.peer}];
            if (queue.messages.size() >= queue.depth)
                return false;
            take(rank, actor);
            queue.messages.push_back({instruction.tag, actor.clock});
            break;
        }
        case Opcode::ReceiveValue:
        case Opcode::ReceiveGradient: {
            Queue& queue = m_queues[{gradient, instruction.peer, rank}];
            if (queue.messages.empty())
                return false;
            if (queue.messages.front().tag != instruction.tag)
                m_problem = "rank " + std::to_string(rank) + " gets messages of rank " +
                            std::to_string(instruction.peer) + " in another order than it needs";
            actor.clock = std::max(actor.clock, queue.messages.front().arrives);
            queue.messages.pop_front();
            take(rank, actor);
            break;
        }
        default:
            take(rank, actor);
            break;
        }
        ++actor.next;
        return true;
    }

    void take(int rank, Actor& actor) {
        const double seconds = m_cost(rank, actor.program, actor.instruction());
        if (runsKernel(actor.instruction().opcode))
            noteTime(rank, actor, seconds);
        actor.clock += seconds;
        actor.busy += seconds;
    }

    void noteTime(int rank, const Actor& actor, double seconds) {
        const Instruction& instruction = actor.instruction();
        const Section& section = m_plan.sectionOf(m_plan.mesh.rankOf({0, 0, rank}));
        const Opcode opcode = instruction.opcode;
        const Turn turn{opcode == Opcode::Backward || opcode == Opcode::Recompute,
                        section.stageOf[graph::at(instruction.operation)], instruction.microBatch};
        const bool goesOn =
            !m_times.empty() && m_times.back().rank == rank && m_times.back().turn == turn;
        if (!goesOn)
            m_times.push_back({rank, turn, actor.clock, actor.clock});
        m_times.back().end = actor.clock + seconds;
    }

    /// A collective that everybody has come to; shared gradients: those that have the parameter.
    bool meet() {
        for (std::size_t rank = 0; rank < m_actors.size(); ++rank) {
            if (m_actors[rank].isDone() || !needsAll(m_actors[rank].instruction().opcode))
                continue;
            const std::vector<std::size_t> members = membersOf(rank);
            const std::uint32_t tag = m_actors[rank].instruction().tag;
            const bool all = std::ranges::all_of(members, [&](std::size_t member) {
                const Actor& actor = m_actors[member];
                return !actor.isDone() && needsAll(actor.instruction().opcode) &&
                       actor.instruction().tag == tag;
            });
            if (!all)
                continue;
            double clock = 0;
            for (const std::size_t member : members)
                clock = std::max(clock, m_actors[member].clock);
            for (const std::size_t member : members) {
                m_actors[member].clock = clock;
                take(static_cast<int>(member), m_actors[member]);
                ++m_actors[member].next;
            }
            return true;
        }
        return false;
    }

    std::vector<std::size_t> membersOf(std::size_t rank) const {
        const Instruction& instruction = m_actors[rank].instruction();
        std::vector<std::size_t> members;
        if (instruction.opcode == Opcode::SumShared) {
            const Section& section =
                m_plan.sectionOf(m_plan.mesh.rankOf({0, 0, static_cast<int>(rank)}));
            for (const int member :
                 section.shared[static_cast<std::size_t>(instruction.shared)].ranks)
                members.push_back(static_cast<std::size_t>(member));
            return members;
        }
        for (std::size_t i = 0; i < m_actors.size(); ++i)
            members.push_back(i);
        return members;
    }

    const Plan& m_plan;
    const InstructionCost& m_cost;
    std::vector<Actor> m_actors;
    std::map<ChannelKey, Queue> m_queues;
    std::string m_problem;
    std::vector<StageTime> m_times;
};

} // namespace

InstructionCost costByFlops(const Plan& plan) {
    return [&plan](int rank, const Program& program, const Instruction& instruction) {
        if (!runsKernel(instruction.opcode))
            return 0.0;
        const graph::Graph& graph = plan.sectionOf(plan.mesh.rankOf({0, 0, rank})).graph;
        const double once = graph.forwardFlops(graph.operations[graph::at(instruction.operation)]) *
                            static_cast<double>(program.rowsOf(instruction));
        return instruction.opcode == Opcode::Backward ? 2 * once : once;
    };
}

Rehearsal rehearse(const Plan& plan, Purpose purpose, std::int64_t batchRows,
                   const InstructionCost& cost, int dataCoordinate) {
    return Theatre(plan, purpose, batchRows, cost, dataCoordinate).run();
}

} // namespace trainyard::plan
