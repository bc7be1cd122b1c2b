// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The executor's search for where a step that diverged became not finite.
#include "engine/runtime/executor.h"

#include <algorithm>

namespace trainyard::engine {

using graph::at;

void Executor::searchBefore(const plan::Program& program, std::size_t index) {
    const plan::Instruction& instruction = program.instructions[index];
    if (m_search->begin || !plan::runsKernel(instruction.opcode))
        return;
    m_search->request = requestFor(program, index);
    m_search->begin = nonFiniteBefore(m_search->request, m_section.graph, instruction.operation);
    if (m_search->begin)
        m_search->begin->instruction = static_cast<std::int64_t>(index);
}

void Executor::searchAfter(const plan::Program& program, std::size_t index) {
    const plan::Instruction& instruction = program.instructions[index];
    if (m_search->begin || !plan::runsKernel(instruction.opcode))
        return;
    m_search->begin = nonFiniteAfter(m_search->request, m_section.graph, instruction.operation);
    if (m_search->begin)
        m_search->begin->instruction = static_cast<std::int64_t>(index);
}

/// The step is computed once more, with a look at everything: it left the parameters as they were,
/// and the same numbers come out again.
Result<Divergence> Executor::searchStep(std::int64_t batchRows, const StepInput& input,
                                        const LoadBatch& load, std::uint32_t tag) {
    m_search.emplace();
    const Result<StepResult> again = trainStep(batchRows, input, load);
    const std::optional<NonFinite> begin = std::move(m_search->begin);
    m_search.reset();
    if (!again)
        return again.error();
    // Where it was computed and not received, the first in the program; of several ranks the
    // lowest.
    const bool own = begin && begin->what != NonFinite::What::Received;
    std::vector<double> places(static_cast<std::size_t>(m_parts.plan.worldSize), 0);
    places[static_cast<std::size_t>(m_parts.rank)] =
        own ? static_cast<double>(begin->instruction + 1) : 0;
    Communicator& world = m_parts.groups.world();
    if (world.worldSize() > 1)
        if (auto told = world.allReduceSum(places.data(), places.size(), DType::Fp64, tag); !told)
            return told.error();
    Divergence divergence;
    for (std::size_t rank = 0; rank < places.size(); ++rank)
        if (places[rank] > 0 && (divergence.rank < 0 ||
                                 places[rank] < places[static_cast<std::size_t>(divergence.rank)]))
            divergence.rank = static_cast<int>(rank);
    if (divergence.rank == m_parts.rank)
        divergence.begin = begin;
    return divergence;
}

} // namespace trainyard::engine
