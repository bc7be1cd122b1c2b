// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// GlooBlocks: large sums over TCP. Each rank owns a slice of a block, gets it from all, adds in
// rank order and, for an all-reduce, sends the sum to all; some blocks are on their way at once. So
// each byte crosses the network once on the way to its owner and once back. Internal to
// engine/comm.
#pragma once

#include "engine/comm/gloo_link.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::engine {

class GlooBlocks {
public:
    explicit GlooBlocks(GlooLink& link) : m_link(link) {}

    /// Of an all-reduce or a reduce-scatter. Within GlooLink::run.
    void sum(std::byte* data, const CollectiveCall& call, std::uint64_t sequence);

private:
    /// Half-open range of bytes.
    struct Slice {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::size_t size() const { return end - begin; }
    };
    struct Peer {
        GlooBuffer sends, scatters, gathers;
        std::size_t sendCount = 0;
        std::size_t gatherCount = 0;
    };

    int me() const { return m_link.options().rank; }
    std::size_t ranks() const { return static_cast<std::size_t>(m_link.options().worldSize); }
    Peer& peerAt(int rank) { return m_peers[static_cast<std::size_t>(rank)]; }
    Slice sliceOf(std::size_t block, int rank) const;
    std::size_t scratchOf(std::size_t block, int rank) const;
    void openBuffers(std::byte* data);
    void start(std::size_t block);
    void finish(std::byte* data, std::size_t block);

    GlooLink& m_link;
    std::vector<std::byte> m_scratch; ///< {window, worldSize, slice}
    std::vector<Peer> m_peers;        ///< of the sum that is running, as what follows
    CollectiveCall m_call;
    std::uint64_t m_sequence = 0;
};

} // namespace trainyard::engine
