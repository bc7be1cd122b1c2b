// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// GlooChannels: messages between two ranks over TCP. Either end has a ring of `depth` places, each
// with a head (size and tag) before the bytes. The receiver asks for the next `depth` messages in
// advance, so that they come while it is at something else; the sender copies into its ring and
// goes on. Internal to engine/comm.
#pragma once

#include "engine/comm/gloo_link.h"
#include "engine/comm/private_memory.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

namespace trainyard::engine {

class GlooChannels {
public:
    explicit GlooChannels(GlooLink& link) : m_link(link) {}

    /// On all ranks with the same list. This and what follows within GlooLink::run.
    Result<void> open(std::span<const Channel> channels);
    void send(const void* data, const MessageHead& head, int to);
    Result<void> receive(void* data, const MessageHead& expected, int from);
    /// Until all that was sent has left this process.
    void finish();

private:
    struct Place {
        std::byte* memory = nullptr;
        GlooBuffer buffer;
        /// Why the message for this place cannot come: matters only when it is waited for.
        std::exception_ptr gone;
    };
    struct Ring {
        Channel channel;
        std::vector<Place> places;
        std::uint64_t passed = 0; ///< messages that this rank has sent or received

        Place& place(std::uint64_t message) { return places[message % places.size()]; }
    };

    Ring& ringOf(int from, int to);
    void awaitMessage(Ring& ring, std::uint64_t number);
    void awaitSent(Ring& ring, std::uint64_t number);

    GlooLink& m_link;
    PrivateMemory m_memory;
    std::vector<Ring> m_rings; ///< of this rank, in either direction
};

} // namespace trainyard::engine
