// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// SharedChannels: messages between two ranks of one host. A channel is a ring of `depth` slots in
// the segment, with two counters: messages written (the sender raises it) and messages read (the
// receiver does). A sender waits for a free slot, a receiver for a full one, nobody for anybody
// else.
//
//   channel   written | read | slot 0: head, bytes | slot 1 ...      whole pages
// Internal to engine/comm.
#pragma once

#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"
#include "engine/comm/shared_counter.h"
#include "engine/comm/shared_segment.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::engine {

class SharedChannels {
public:
    using Clock = SharedSegment::Clock;

    /// `segment` outlives it.
    SharedChannels(const CommunicatorOptions& options, SharedSegment& segment)
        : m_options(options), m_segment(segment) {}

    /// On all ranks with the same list; takes the memory of this rank's channels.
    Result<void> open(std::span<const Channel> channels);
    Result<void> send(const void* data, std::size_t bytes, int to, std::uint32_t tag,
                      Clock::time_point end);
    Result<void> receive(void* data, std::size_t bytes, int from, std::uint32_t tag,
                         Clock::time_point end);

private:
    struct Counters {
        alignas(64) SharedCounter written;
        alignas(64) SharedCounter read;
    };
    struct Ring {
        Channel channel;
        Counters* counters = nullptr;
        std::byte* slots = nullptr;
        std::uint64_t passed = 0; ///< messages that this rank has written or read
    };

    static std::size_t slotBytes(const Channel& channel);
    Ring& ringOf(int from, int to);
    static std::byte* nextSlot(const Ring& ring);
    Result<void> waitFor(SharedCounter& counter, std::uint64_t target, int peer,
                         const MessageHead& head, const Channel& channel, Clock::time_point end);

    const CommunicatorOptions& m_options;
    SharedSegment& m_segment;
    std::vector<Ring> m_rings; ///< of this rank, in either direction
};

} // namespace trainyard::engine
