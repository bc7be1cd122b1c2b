// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/host_side.h"

#include <utility>

namespace trainyard::engine {

HostSide::HostSide(const CommunicatorOptions& options, std::shared_ptr<SharedSegment> segment)
    : m_options(options), m_segment(std::move(segment)) {
    if (!m_segment)
        m_pieces.resize(2 * SharedSegment::kPieceBytes);
}

Result<std::span<std::byte>> HostSide::allocate(std::size_t bytes) {
    return m_segment ? m_segment->allocateArena(bytes) : m_memory.allocate(bytes);
}

Result<void> HostSide::barrier(const CollectiveCall& call, bool compare, Clock::time_point end) {
    if (m_segment)
        return m_segment->barrier(call, compare, end);
    ++m_phase;
    return {};
}

SharedSegment::Places HostSide::find(void* data, std::size_t bytes) const {
    if (m_segment)
        return m_segment->find(data, bytes);
    return {{static_cast<std::byte*>(data)}, CollectiveCall::kElsewhere};
}

std::byte* HostSide::stageNext(int rank) {
    return m_segment ? m_segment->stagingOfNextPhase(rank)
                     : m_pieces.data() + SharedSegment::kPieceBytes * ((m_phase + 1) & 1);
}

std::byte* HostSide::stagedNow(int rank) {
    return m_segment ? m_segment->stagingOfThisPhase(rank)
                     : m_pieces.data() + SharedSegment::kPieceBytes * (m_phase & 1);
}

Result<void> HostSide::openAreas() {
    if (m_areas)
        return {};
    const std::size_t bytes = kAreaBytes * static_cast<std::size_t>(ranks() + 1);
    if (!m_segment) {
        const auto memory = m_memory.allocate(bytes);
        if (!memory)
            return memory.error();
        m_areas = memory->data();
        return {};
    }
    const Result<std::uint64_t> offset = m_segment->reserve(bytes);
    if (!offset)
        return offset.error();
    const Result<std::byte*> mapping = m_segment->map(*offset, bytes);
    if (!mapping)
        return mapping.error();
    m_areas = *mapping;
    return {};
}

void HostSide::awaitElsewhere(const Fault* awaited) {
    if (m_segment)
        m_segment->awaitElsewhere(awaited ? awaited->culprit : -1, awaited ? awaited->pid : 0);
}

void HostSide::leave() {
    if (m_segment)
        m_segment->leave();
}

} // namespace trainyard::engine
