// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/host_leaders.h"

#include <cstddef>
#include <cstring>
#include <utility>

namespace trainyard::engine {

namespace {

using Direction = GlooLink::Direction;

} // namespace

HostLeaders::HostLeaders(GlooLink& link, const HostLayout& layout, std::function<void(int)> awaits)
    : m_link(link), m_layout(layout), m_awaits(std::move(awaits)) {
    const auto hosts = static_cast<std::size_t>(layout.hosts());
    for (std::size_t half = 0; half < 2; ++half) {
        m_received[half].resize(hosts);
        m_headSends[half].resize(hosts);
        m_headReceives[half].resize(hosts);
        forEachOther([&](int host, int) {
            const auto at = static_cast<std::size_t>(host);
            m_headSends[half][at] = m_link.bufferFor(&m_sent[half], sizeof(Head));
            m_headReceives[half][at] = m_link.bufferFor(&m_received[half][at], sizeof(Head));
        });
    }
    postHeads(0);
}

/// The next host first, so that not all talk to the first one at once.
template <class Function>
void HostLeaders::forEachOther(Function function) const {
    for (int step = 1; step < m_layout.hosts(); ++step) {
        const int host = (m_layout.host() + step) % m_layout.hosts();
        function(host, m_layout.leaderOf(host));
    }
}

void HostLeaders::waitFor(gloo::transport::UnboundBuffer& buffer, Direction direction, int peer) {
    m_awaits(peer);
    m_link.waitFor(buffer, direction, peer);
}

// ---- Heads -----------------------------------------------------------------------------------

/// A leader that has done its last collective may be gone by now: that matters only if another
/// follows.
void HostLeaders::postHeads(std::uint64_t sequence) {
    forEachOther([&](int host, int leader) {
        try {
            m_headReceives[sequence & 1][static_cast<std::size_t>(host)]->recv(
                leader, GlooLink::slotOf(sequence, Lane::Envelope));
        } catch (const std::exception&) {
            m_gone = std::current_exception();
            m_goneLeader = leader;
        }
    });
}

void HostLeaders::sendHeads(const CollectiveCall& call, std::span<const std::byte> small,
                            bool inBlocks) {
    Head& mine = m_sent[parity()];
    mine.call = call;
    mine.inBlocks = inBlocks;
    if (!small.empty())
        std::memcpy(mine.small.data(), small.data(), small.size());
    forEachOther([&](int host, int leader) {
        m_link.expect(leader);
        m_headSends[parity()][static_cast<std::size_t>(host)]->send(
            leader, GlooLink::slotOf(m_sequence, Lane::Envelope), 0,
            offsetof(Head, small) + small.size());
    });
}

Result<void> HostLeaders::meet(const CollectiveCall& call, std::span<const std::byte> small,
                               bool inBlocks) {
    if (m_gone) {
        m_link.expect(m_goneLeader);
        std::rethrow_exception(m_gone);
    }
    sendHeads(call, small, inBlocks);
    m_isInBlocks = inBlocks;
    const CommunicatorOptions& options = m_link.options();
    for (int host = 0; host < m_layout.hosts(); ++host) {
        if (host == m_layout.host())
            continue;
        const int leader = m_layout.leaderOf(host);
        waitFor(*m_headReceives[parity()][static_cast<std::size_t>(host)], Direction::Receive,
                leader);
        const CollectiveCall& other = received(host).call;
        if (other.kind == CollectiveKind::Leave)
            return m_link.peerHasLeft(leader, call.text());
        if (!(other == call))
            return callsDiffer(options.nameOf(options.rank), call, options.nameOf(leader), other);
        m_isInBlocks = m_isInBlocks || received(host).inBlocks;
    }
    // The next collective's heads may come from now on: a receive that is already posted saves its
    // sender a round trip.
    postHeads(m_sequence + 1);
    return {};
}

void HostLeaders::finish() {
    forEachOther([&](int host, int leader) {
        waitFor(*m_headSends[parity()][static_cast<std::size_t>(host)], Direction::Send, leader);
    });
    m_awaits(-1);
    ++m_sequence;
}

void HostLeaders::sayGoodbye() {
    sendHeads({CollectiveKind::Leave, 0}, {}, false);
    forEachOther([&](int host, int leader) {
        const auto at = static_cast<std::size_t>(host);
        waitFor(*m_headReceives[parity()][at], Direction::Receive, leader);
        waitFor(*m_headSends[parity()][at], Direction::Send, leader);
    });
}

// ---- Bytes -----------------------------------------------------------------------------------

void HostLeaders::gather(std::byte* data, std::size_t bytes, std::size_t piece) {
    const std::uint64_t slot = GlooLink::slotOf(m_sequence, Lane::Gather, piece);
    const auto hosts = static_cast<std::size_t>(m_layout.hosts());
    const auto partOf = [&](int host) {
        return std::pair(data + bytes * static_cast<std::size_t>(m_layout.leaderOf(host)),
                         bytes * m_layout.ranksOn(host).size());
    };
    const auto [mine, mineBytes] = partOf(m_layout.host());
    std::vector<GlooBuffer> sends(hosts), receives(hosts);
    forEachOther([&, mine = mine, mineBytes = mineBytes](int host, int leader) {
        const auto at = static_cast<std::size_t>(host);
        const auto [theirs, theirBytes] = partOf(host);
        m_link.expect(leader);
        receives[at] = m_link.bufferFor(theirs, theirBytes);
        receives[at]->recv(leader, slot);
        sends[at] = m_link.bufferFor(mine, mineBytes);
        sends[at]->send(leader, slot);
    });
    forEachOther([&](int host, int leader) {
        const auto at = static_cast<std::size_t>(host);
        waitFor(*receives[at], Direction::Receive, leader);
        waitFor(*sends[at], Direction::Send, leader);
    });
}

int HostLeaders::neighbour(int rootHost, int step) const {
    const int hosts = m_layout.hosts();
    const int place = (m_layout.host() - rootHost + hosts) % hosts + step;
    return place < 0 || place >= hosts ? -1 : m_layout.leaderOf((rootHost + place) % hosts);
}

void HostLeaders::receivePart(std::byte* data, std::size_t bytes, int rootHost, std::size_t piece) {
    const int from = neighbour(rootHost, -1);
    if (from < 0)
        return;
    m_link.expect(from);
    m_parts[0] = m_link.bufferFor(data, bytes);
    m_parts[0]->recv(from, GlooLink::slotOf(m_sequence, Lane::Broadcast, piece));
}

void HostLeaders::awaitPart(int rootHost) {
    if (m_parts[0])
        waitFor(*m_parts[0], Direction::Receive, neighbour(rootHost, -1));
    m_parts[0].reset();
}

void HostLeaders::passOnPart(std::byte* data, std::size_t bytes, int rootHost, std::size_t piece) {
    const int to = neighbour(rootHost, 1);
    if (to < 0)
        return;
    m_link.expect(to);
    m_parts[1] = m_link.bufferFor(data, bytes);
    m_parts[1]->send(to, GlooLink::slotOf(m_sequence, Lane::Broadcast, piece));
}

void HostLeaders::awaitPassedOn(int rootHost) {
    if (m_parts[1])
        waitFor(*m_parts[1], Direction::Send, neighbour(rootHost, 1));
    m_parts[1].reset();
}

} // namespace trainyard::engine
