// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/gloo_blocks.h"

#include "engine/comm/sums.h"

#include <algorithm>

namespace trainyard::engine {

namespace {

/// Of one rank's slice in one block. Smaller ones are slower: Gloo's thread and ours contend for
/// each message.
constexpr std::size_t kSliceBytes = 1024 * 1024;
/// Blocks on their way at once.
constexpr std::size_t kWindow = 3;

} // namespace

/// All-reduce: a block is cut evenly. Reduce-scatter: it takes a piece of each rank's slice.
GlooBlocks::Slice GlooBlocks::sliceOf(std::size_t block, int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    if (m_call.kind == CollectiveKind::ReduceScatter) {
        const std::size_t whole = m_call.bytes() / ranks();
        return {whole * at + std::min(whole, block * kSliceBytes),
                whole * at + std::min(whole, (block + 1) * kSliceBytes)};
    }
    const std::size_t blockBytes = ranks() * kSliceBytes;
    const std::size_t blockBegin = block * blockBytes;
    const std::size_t blockEnd = std::min(m_call.bytes(), blockBegin + blockBytes);
    const std::size_t elementBytes = bytesOf(m_call.type);
    const std::size_t elements = (blockEnd - blockBegin) / elementBytes;
    const std::size_t share = (elements + ranks() - 1) / ranks() * elementBytes;
    return {std::min(blockEnd, blockBegin + share * at),
            std::min(blockEnd, blockBegin + share * (at + 1))};
}

std::size_t GlooBlocks::scratchOf(std::size_t block, int rank) const {
    return (block % kWindow * ranks() + static_cast<std::size_t>(rank)) * kSliceBytes;
}

/// One buffer per peer and direction: a wait is then for a known peer.
void GlooBlocks::openBuffers(std::byte* data) {
    m_peers.clear();
    m_peers.resize(ranks());
    m_link.forEachPeer([&](int rank) {
        Peer& peer = peerAt(rank);
        peer.sends = m_link.bufferFor(data, m_call.bytes());
        peer.gathers = m_link.bufferFor(data, m_call.bytes());
        peer.scatters = m_link.bufferFor(m_scratch.data(), m_scratch.size());
    });
}

void GlooBlocks::start(std::size_t block) {
    const std::size_t mine = sliceOf(block, me()).size();
    const std::uint64_t scatter = GlooLink::slotOf(m_sequence, Lane::Scatter, block);
    m_link.forEachPeer([&](int rank) {
        Peer& peer = peerAt(rank);
        m_link.expect(rank);
        if (mine > 0)
            peer.scatters->recv(rank, scatter, scratchOf(block, rank), mine);
        const Slice theirs = sliceOf(block, rank);
        if (theirs.size() == 0)
            return;
        peer.sends->send(rank, scatter, theirs.begin, theirs.size());
        ++peer.sendCount;
        if (m_call.kind != CollectiveKind::AllReduce)
            return;
        peer.gathers->recv(rank, GlooLink::slotOf(m_sequence, Lane::Gather, block), theirs.begin,
                           theirs.size());
        ++peer.gatherCount;
    });
}

void GlooBlocks::finish(std::byte* data, std::size_t block) {
    const Slice mine = sliceOf(block, me());
    if (mine.size() == 0)
        return;
    m_link.forEachPeer([&](int rank) {
        m_link.waitFor(*peerAt(rank).scatters, GlooLink::Direction::Receive, rank);
    });
    std::vector<const void*> addends;
    for (int rank = 0; rank < m_link.options().worldSize; ++rank)
        addends.push_back(rank == me() ? data + mine.begin
                                       : m_scratch.data() + scratchOf(block, rank));
    sumOver(data + mine.begin, addends, mine.size() / bytesOf(m_call.type), m_call.type);
    if (m_call.kind != CollectiveKind::AllReduce)
        return;
    m_link.forEachPeer([&](int rank) {
        m_link.expect(rank);
        peerAt(rank).sends->send(rank, GlooLink::slotOf(m_sequence, Lane::Gather, block),
                                 mine.begin, mine.size());
        ++peerAt(rank).sendCount;
    });
}

void GlooBlocks::sum(std::byte* data, const CollectiveCall& call, std::uint64_t sequence) {
    m_call = call;
    m_sequence = sequence;
    const std::size_t blockBytes = ranks() * kSliceBytes;
    const std::size_t blocks = (call.bytes() + blockBytes - 1) / blockBytes;
    m_scratch.resize(std::max(m_scratch.size(), std::min(kWindow, blocks) * blockBytes));
    openBuffers(data);
    for (std::size_t block = 0; block < std::min(kWindow, blocks); ++block)
        start(block);
    for (std::size_t block = 0; block < blocks; ++block) {
        finish(data, block);
        if (block + kWindow < blocks)
            start(block + kWindow);
    }
    m_link.forEachPeer([&](int rank) {
        Peer& peer = peerAt(rank);
        for (; peer.gatherCount > 0; --peer.gatherCount)
            m_link.waitFor(*peer.gathers, GlooLink::Direction::Receive, rank);
        for (; peer.sendCount > 0; --peer.sendCount)
            m_link.waitFor(*peer.sends, GlooLink::Direction::Send, rank);
    });
    m_peers.clear();
}

} // namespace trainyard::engine
