// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// HostLeaders: what the leaders of a group's hosts send each other over TCP. Every collective
// begins with a head from each to each: the call, to be compared, and small data. A large sum goes
// from host to host in chunks: each adds its ranks to the sum of the hosts before it, the last one
// has the total and sends it back around, or to whom it belongs. Several chunks are on their way at
// once, so that all hosts work, and each host sends about what one rank has, however many ranks
// there are. Internal to engine/comm; used by leaders only, within GlooLink::run.
#pragma once

#include "engine/comm/collective_call.h"
#include "engine/comm/gloo_link.h"
#include "engine/comm/host_layout.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <vector>

namespace trainyard::engine {

class HostLeaders {
public:
    /// What a host's ranks may send with a head, together.
    static constexpr std::size_t kInlineBytes = 4096;

    /// `awaits`: told of the rank that this one begins to wait for, -1 when it waits no more.
    HostLeaders(GlooLink& link, const HostLayout& layout, std::function<void(int)> awaits);

    /// The heads; `small` is of at most kInlineBytes. `inBlocks`: this host will have the sum block
    /// by block.
    Result<void> meet(const CollectiveCall& call, std::span<const std::byte> small,
                      bool inBlocks = false);
    /// One host or more: then all must, or a host that waits for the rest of its block would wait
    /// for a host that waits for the next one.
    bool isInBlocks() const { return m_isInBlocks; }
    /// That came with the head of another host.
    const std::byte* smallOf(int host) { return received(host).small.data(); }

    /// Of a sum or a reduce-scatter: bytes that travel together, which ranks of one host get.
    struct Chunk {
        std::size_t begin = 0;
        std::size_t end = 0;
        int owner = -1;         ///< rank that gets the total, -1 for all
        std::size_t number = 0; ///< among all of the call's
        std::size_t size() const { return end - begin; }
    };
    /// Alike on all ranks.
    static std::vector<Chunk> chunksOf(const CollectiveCall& call, int ranks);
    /// Chunks that follow each other, at most so many bytes.
    static std::vector<std::span<const Chunk>> blocksOf(std::span<const Chunk> chunks,
                                                        std::size_t bytes);

    /// Where a host's ranks have their data from byte `begin` of the call's on.
    struct Places {
        std::size_t begin = 0;
        std::vector<const std::byte*> addends; ///< of all local ranks, in their order
        /// Where the total goes: of all local ranks in their order, or one for all.
        std::vector<std::byte*> targets;
    };
    /// `chunks`: all of the call's, or a block.
    void sum(const CollectiveCall& call, std::span<const Chunk> chunks, const Places& places);

    /// Each host's part of [data, ...): `bytes` for each of its ranks, in rank order.
    void gather(std::byte* data, std::size_t bytes, std::size_t piece);

    /// A part of a broadcast on its way from host to host. Afterwards `await...` it.
    void receivePart(std::byte* data, std::size_t bytes, int rootHost, std::size_t piece);
    void awaitPart(int rootHost);
    void passOnPart(std::byte* data, std::size_t bytes, int rootHost, std::size_t piece);
    void awaitPassedOn(int rootHost);

    /// Ends the collective.
    void finish();
    /// After the last collective: until the others have done theirs.
    void sayGoodbye();
    /// A leader whose connection closed between two collectives.
    bool isGone() const { return m_gone != nullptr; }

private:
    struct Head {
        CollectiveCall call;
        bool inBlocks = false;
        std::array<std::byte, kInlineBytes> small;
    };
    /// Of a chunk on its way; every so many chunks share one.
    struct Place {
        GlooBuffer running;
        GlooBuffer total;
        int sendsTotalTo = -1; ///< leader, -1: nobody
    };
    struct Running;

    void waitFor(gloo::transport::UnboundBuffer& buffer, GlooLink::Direction direction, int peer);
    template <class Function>
    void forEachOther(Function function) const;
    Head& received(int host) { return m_received[parity()][static_cast<std::size_t>(host)]; }
    std::size_t parity() const { return m_sequence & 1; }
    void postHeads(std::uint64_t sequence);
    void sendHeads(const CollectiveCall& call, std::span<const std::byte> small, bool inBlocks);

    void post(Running& sum, std::size_t number);
    void add(Running& sum, std::size_t number);
    void keepTotal(Running& sum, std::size_t number, Place& place);
    void retire(Running& sum, std::size_t number);
    void awaitTotalSent(Place& place);
    int totalFrom(const Chunk& chunk) const;
    int before() const { return m_layout.leaderOf(m_layout.host() - 1); }
    int after() const { return m_layout.leaderOf(m_layout.host() + 1); }
    bool isFirst() const { return m_layout.host() == 0; }
    bool isLast() const { return m_layout.host() == m_layout.hosts() - 1; }
    /// Along the chain of a broadcast, in which the root's host is the first.
    int neighbour(int rootHost, int step) const;

    GlooLink& m_link;
    const HostLayout& m_layout;
    const std::function<void(int)> m_awaits;
    std::uint64_t m_sequence = 0; ///< of the collective
    std::exception_ptr m_gone;
    int m_goneLeader = -1;
    bool m_isInBlocks = false;

    /// By parity of the sequence, the received ones also by host: a peer may be one collective
    /// ahead.
    std::array<Head, 2> m_sent = {};
    std::array<std::vector<Head>, 2> m_received;
    std::array<std::vector<GlooBuffer>, 2> m_headSends;
    std::array<std::vector<GlooBuffer>, 2> m_headReceives;

    std::vector<std::byte> m_running; ///< {place, chunk}: sums that go on
    std::vector<std::byte> m_rounded; ///< {place, chunk}: totals for other hosts
    std::vector<Place> m_places;
    std::array<GlooBuffer, 2> m_parts; ///< of a broadcast: received, passed on
};

} // namespace trainyard::engine
