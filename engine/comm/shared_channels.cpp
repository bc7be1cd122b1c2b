// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/shared_channels.h"

#include "engine/base/check.h"

#include <algorithm>
#include <cstring>

namespace trainyard::engine {

std::size_t SharedChannels::slotBytes(const Channel& channel) {
    constexpr std::size_t kLine = SharedSegment::kCacheLine;
    return kLine + (channel.bytes + kLine - 1) / kLine * kLine;
}

Result<void> SharedChannels::open(std::span<const Channel> channels) {
    for (const Channel& channel : channels) {
        const std::size_t depth = static_cast<std::size_t>(channel.depth);
        // A size that no machine has must not wrap to a small one.
        const std::size_t bytes = channel.bytes < SharedSegment::kMostBytes / depth
                                      ? sizeof(Counters) + depth * slotBytes(channel)
                                      : SharedSegment::kMostBytes;
        const Result<std::uint64_t> offset = m_segment.reserve(bytes);
        if (!offset)
            return offset.error();
        if (channel.from != m_options.rank && channel.to != m_options.rank)
            continue;
        const Result<std::byte*> mapping = m_segment.map(*offset, bytes);
        if (!mapping)
            return mapping.error();
        m_rings.push_back(
            {channel, reinterpret_cast<Counters*>(*mapping), *mapping + sizeof(Counters), 0});
    }
    return {};
}

SharedChannels::Ring& SharedChannels::ringOf(int from, int to) {
    const auto found = std::ranges::find_if(m_rings, [&](const Ring& ring) {
        return ring.channel.from == from && ring.channel.to == to;
    });
    TRAINYARD_CHECK_MSG(found != m_rings.end(), "no channel " + describePair(from, to));
    return *found;
}

std::byte* SharedChannels::nextSlot(const Ring& ring) {
    return ring.slots +
           ring.passed % static_cast<std::uint64_t>(ring.channel.depth) * slotBytes(ring.channel);
}

Result<void> SharedChannels::waitFor(SharedCounter& counter, std::uint64_t target, int peer,
                                     const MessageHead& head, const Channel& channel,
                                     Clock::time_point end) {
    const auto fault =
        m_segment.waitForPeer(counter, static_cast<std::uint32_t>(target), peer, end);
    if (!fault)
        return {};
    return m_segment.fail(*fault,
                          head.text(m_options.nameOf(channel.from), m_options.nameOf(channel.to)));
}

Result<void> SharedChannels::send(const void* data, std::size_t bytes, int to, std::uint32_t tag,
                                  Clock::time_point end) {
    Ring& ring = ringOf(m_options.rank, to);
    TRAINYARD_CHECK_MSG(bytes <= ring.channel.bytes, describePair(bytes, ring.channel.bytes));
    const MessageHead head{bytes, tag};
    const auto depth = static_cast<std::uint64_t>(ring.channel.depth);
    if (ring.passed >= depth)
        if (Result<void> isFree =
                waitFor(ring.counters->read, ring.passed + 1 - depth, to, head, ring.channel, end);
            !isFree)
            return isFree;
    std::byte* const slot = nextSlot(ring);
    std::memcpy(slot, &head, sizeof(head));
    if (bytes > 0)
        std::memcpy(slot + SharedSegment::kCacheLine, data, bytes);
    ring.counters->written.raiseTo(static_cast<std::uint32_t>(++ring.passed));
    return {};
}

Result<void> SharedChannels::receive(void* data, std::size_t bytes, int from, std::uint32_t tag,
                                     Clock::time_point end) {
    Ring& ring = ringOf(from, m_options.rank);
    const MessageHead expected{bytes, tag};
    if (Result<void> isFull =
            waitFor(ring.counters->written, ring.passed + 1, from, expected, ring.channel, end);
        !isFull)
        return isFull;
    const std::byte* const slot = nextSlot(ring);
    MessageHead found;
    std::memcpy(&found, slot, sizeof(found));
    if (!(found == expected)) {
        m_segment.publishFault({FaultKind::Differs, m_options.nameOf(from)});
        return messagesDiffer(m_options.nameOf(m_options.rank), expected, m_options.nameOf(from),
                              found);
    }
    if (bytes > 0)
        std::memcpy(data, slot + SharedSegment::kCacheLine, bytes);
    ring.counters->read.raiseTo(static_cast<std::uint32_t>(++ring.passed));
    return {};
}

} // namespace trainyard::engine
