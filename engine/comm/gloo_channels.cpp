// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/gloo_channels.h"

#include "engine/base/check.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace trainyard::engine {

namespace {

/// Before the bytes of a message, which are then as well aligned as the place.
constexpr std::size_t kHeadBytes = 64;

std::size_t placeBytes(const Channel& channel) {
    return kHeadBytes + (channel.bytes + kHeadBytes - 1) / kHeadBytes * kHeadBytes;
}

std::size_t ringBytes(const Channel& channel) {
    const auto depth = static_cast<std::size_t>(channel.depth);
    // A size that no machine has must not wrap to a small one.
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 4;
    return channel.bytes < kMost / depth ? depth * placeBytes(channel) : kMost;
}

} // namespace

Result<void> GlooChannels::open(std::span<const Channel> channels) {
    const int me = m_link.options().rank;
    for (const Channel& channel : channels) {
        if (channel.from != me && channel.to != me)
            continue;
        const auto memory = m_memory.allocate(ringBytes(channel));
        if (!memory)
            return memory.error();
        Ring& ring = m_rings.emplace_back(Ring{channel, {}, 0});
        for (std::size_t i = 0; i < static_cast<std::size_t>(channel.depth); ++i) {
            std::byte* const place = memory->data() + i * placeBytes(channel);
            ring.places.push_back(
                {place, m_link.bufferFor(place, kHeadBytes + channel.bytes), nullptr});
        }
        for (std::uint64_t i = 0; channel.to == me && i < ring.places.size(); ++i)
            awaitMessage(ring, i);
    }
    return {};
}

GlooChannels::Ring& GlooChannels::ringOf(int from, int to) {
    const auto found = std::ranges::find_if(m_rings, [&](const Ring& ring) {
        return ring.channel.from == from && ring.channel.to == to;
    });
    TRAINYARD_CHECK_MSG(found != m_rings.end(), "no channel " + describePair(from, to));
    return *found;
}

/// The sender may have sent its last message and be gone.
void GlooChannels::awaitMessage(Ring& ring, std::uint64_t number) {
    Place& place = ring.place(number);
    try {
        place.buffer->recv(ring.channel.from, GlooLink::slotOfMessage(number));
    } catch (const std::exception&) {
        place.gone = std::current_exception();
    }
}

void GlooChannels::awaitSent(Ring& ring, std::uint64_t number) {
    m_link.waitFor(*ring.place(number).buffer, GlooLink::Direction::Send, ring.channel.to);
}

void GlooChannels::send(const void* data, const MessageHead& head, int to) {
    Ring& ring = ringOf(m_link.options().rank, to);
    TRAINYARD_CHECK_MSG(head.bytes <= ring.channel.bytes,
                        describePair(head.bytes, ring.channel.bytes));
    if (ring.passed >= ring.places.size())
        awaitSent(ring, ring.passed - ring.places.size());
    Place& place = ring.place(ring.passed);
    std::memcpy(place.memory, &head, sizeof(head));
    if (head.bytes > 0)
        std::memcpy(place.memory + kHeadBytes, data, head.bytes);
    m_link.expect(to);
    place.buffer->send(to, GlooLink::slotOfMessage(ring.passed), 0, kHeadBytes + head.bytes);
    ++ring.passed;
}

Result<void> GlooChannels::receive(void* data, const MessageHead& expected, int from) {
    const CommunicatorOptions& options = m_link.options();
    Ring& ring = ringOf(from, options.rank);
    Place& place = ring.place(ring.passed);
    m_link.expect(from);
    if (place.gone)
        std::rethrow_exception(place.gone);
    m_link.waitFor(*place.buffer, GlooLink::Direction::Receive, from);
    MessageHead found;
    std::memcpy(&found, place.memory, sizeof(found));
    if (!(found == expected)) {
        const Error error =
            messagesDiffer(options.nameOf(options.rank), expected, options.nameOf(from), found);
        return m_link.breakUp(error, error.sentence());
    }
    if (expected.bytes > 0)
        std::memcpy(data, place.memory + kHeadBytes, expected.bytes);
    awaitMessage(ring, ring.passed + ring.places.size());
    ++ring.passed;
    return {};
}

void GlooChannels::finish() {
    for (Ring& ring : m_rings) {
        if (ring.channel.from != m_link.options().rank)
            continue;
        const std::uint64_t depth = ring.places.size();
        for (std::uint64_t i = ring.passed - std::min(ring.passed, depth); i < ring.passed; ++i)
            awaitSent(ring, i);
    }
}

} // namespace trainyard::engine
