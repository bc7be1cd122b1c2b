// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// HostLeaders::sum: the chain of hosts, chunk by chunk.
#include "engine/comm/host_leaders.h"
#include "engine/comm/sums.h"

#include <algorithm>
#include <cstring>

namespace trainyard::engine {

namespace {

using Direction = GlooLink::Direction;

/// Of a chunk. Small ones cost messages, large ones let hosts wait for each other.
constexpr std::size_t kLeastChunk = 512 * 1024;
constexpr std::size_t kMostChunk = 1024 * 1024;
/// All hosts have something to do when there are so many.
constexpr std::size_t kChunksWanted = 4;

void cut(std::size_t begin, std::size_t end, std::size_t chunk, int owner,
         std::vector<HostLeaders::Chunk>& chunks) {
    for (; begin < end; begin += chunk)
        chunks.push_back({begin, std::min(end, begin + chunk), owner, chunks.size()});
}

} // namespace

std::vector<HostLeaders::Chunk> HostLeaders::chunksOf(const CollectiveCall& call, int ranks) {
    const std::size_t bytes = call.bytes();
    constexpr std::size_t kLine = 64;
    const std::size_t chunk =
        std::clamp(bytes / kChunksWanted, kLeastChunk, kMostChunk) / kLine * kLine;
    std::vector<Chunk> chunks;
    if (call.kind == CollectiveKind::AllReduce) {
        cut(0, bytes, chunk, -1, chunks);
        return chunks;
    }
    const std::size_t slice = bytes / static_cast<std::size_t>(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
        const std::size_t begin = slice * static_cast<std::size_t>(rank);
        cut(begin, begin + slice, chunk, rank, chunks);
    }
    return chunks;
}

std::vector<std::span<const HostLeaders::Chunk>>
HostLeaders::blocksOf(std::span<const Chunk> chunks, std::size_t bytes) {
    std::vector<std::span<const Chunk>> blocks;
    while (!chunks.empty()) {
        std::size_t size = 1;
        while (size < chunks.size() && chunks[size].end - chunks.front().begin <= bytes)
            ++size;
        blocks.push_back(chunks.first(size));
        chunks = chunks.subspan(size);
    }
    return blocks;
}

/// A sum on its way through this host.
struct HostLeaders::Running {
    const CollectiveCall& call;
    std::span<const Chunk> chunks;
    const Places& at;
    std::size_t elementBytes;
    std::size_t runningBytes; ///< of an element
    std::size_t stride;       ///< of a chunk in m_running
    std::size_t roundedStride;
    std::size_t window; ///< chunks on their way at once

    std::size_t elements(std::size_t number) const { return chunks[number].size() / elementBytes; }
};

void HostLeaders::sum(const CollectiveCall& call, std::span<const Chunk> chunks,
                      const Places& places) {
    std::size_t most = 0;
    for (const Chunk& chunk : chunks)
        most = std::max(most, chunk.size());
    const std::size_t elementBytes = bytesOf(call.type);
    const std::size_t runningBytes = bytesOf(runningTypeOf(call.type));
    // A chunk goes through all hosts and its total back.
    const auto onTheWay = static_cast<std::size_t>(2 * m_layout.hosts() + 2);
    Running sum{call,         chunks,
                places,       elementBytes,
                runningBytes, most / elementBytes * runningBytes,
                most,         std::min(chunks.size(), onTheWay)};
    m_running.resize(std::max(m_running.size(), sum.window * sum.stride));
    if (isLast() && call.kind == CollectiveKind::ReduceScatter)
        m_rounded.resize(std::max(m_rounded.size(), sum.window * most));
    m_places.resize(sum.window);
    for (std::size_t place = 0; place < sum.window; ++place)
        m_places[place].running =
            m_link.bufferFor(m_running.data() + place * sum.stride, sum.stride);
    for (std::size_t number = 0; number < sum.window; ++number)
        post(sum, number);
    for (std::size_t number = 0; number < chunks.size(); ++number) {
        add(sum, number);
        if (const std::size_t next = number + 1; next >= sum.window && next < chunks.size()) {
            retire(sum, next - sum.window);
            post(sum, next);
        }
    }
    for (std::size_t number = chunks.size() - sum.window; number < chunks.size(); ++number)
        retire(sum, number);
    for (Place& place : m_places)
        awaitTotalSent(place);
    m_places.clear();
}

namespace {

/// Where the total of a chunk goes on this host; empty: nowhere.
std::vector<std::byte*> targetsOf(const HostLayout& layout, const HostLeaders::Chunk& chunk,
                                  const HostLeaders::Places& at) {
    std::vector<std::byte*> targets;
    if (chunk.owner < 0)
        targets = at.targets;
    else if (layout.isHere(chunk.owner))
        targets = {at.targets.size() == 1
                       ? at.targets.front()
                       : at.targets[static_cast<std::size_t>(layout.localRankOf(chunk.owner))]};
    for (std::byte*& target : targets)
        target += chunk.begin - at.begin;
    return targets;
}

void copyToOthers(const std::vector<std::byte*>& targets, std::size_t bytes) {
    for (std::size_t i = 1; i < targets.size(); ++i)
        std::memcpy(targets[i], targets.front(), bytes);
}

} // namespace

/// Receives may be posted before anything comes.
void HostLeaders::post(Running& sum, std::size_t number) {
    Place& place = m_places[number % sum.window];
    awaitTotalSent(place);
    if (!isFirst()) {
        m_link.expect(before());
        place.running->recv(before(),
                            GlooLink::slotOf(m_sequence, Lane::Scatter, sum.chunks[number].number),
                            0, sum.elements(number) * sum.runningBytes);
    }
    const std::vector<std::byte*> targets = targetsOf(m_layout, sum.chunks[number], sum.at);
    if (isLast() || targets.empty())
        return;
    place.total = m_link.bufferFor(targets.front(), sum.chunks[number].size());
    m_link.expect(totalFrom(sum.chunks[number]));
    place.total->recv(totalFrom(sum.chunks[number]),
                      GlooLink::slotOf(m_sequence, Lane::Gather, sum.chunks[number].number));
}

/// Around: the last host, the first one, the second one ... Else from the last one.
int HostLeaders::totalFrom(const Chunk& chunk) const {
    return chunk.owner >= 0 || isFirst() ? m_layout.leaderOf(m_layout.hosts() - 1) : before();
}

void HostLeaders::add(Running& sum, std::size_t number) {
    const Chunk& chunk = sum.chunks[number];
    Place& place = m_places[number % sum.window];
    std::byte* const running = m_running.data() + number % sum.window * sum.stride;
    std::vector<const void*> addends;
    for (const std::byte* addend : sum.at.addends)
        addends.push_back(addend + (chunk.begin - sum.at.begin));
    std::span<const void* const> rest(addends);
    if (isFirst()) {
        beginSum(running, rest.front(), sum.elements(number), sum.call.type);
        rest = rest.subspan(1);
    } else {
        waitFor(*place.running, Direction::Receive, before());
    }
    continueSum(running, rest, sum.elements(number), sum.call.type);
    if (isLast()) {
        keepTotal(sum, number, place);
        return;
    }
    m_link.expect(after());
    place.running->send(after(),
                        GlooLink::slotOf(m_sequence, Lane::Scatter, sum.chunks[number].number), 0,
                        sum.elements(number) * sum.runningBytes);
}

/// On the last host.
void HostLeaders::keepTotal(Running& sum, std::size_t number, Place& place) {
    const Chunk& chunk = sum.chunks[number];
    const std::byte* const running = m_running.data() + number % sum.window * sum.stride;
    std::vector<std::byte*> targets = targetsOf(m_layout, chunk, sum.at);
    const bool staysHere = chunk.owner >= 0 && !targets.empty();
    if (targets.empty())
        targets = {m_rounded.data() + number % sum.window * sum.roundedStride};
    finishSum(targets.front(), running, sum.elements(number), sum.call.type);
    copyToOthers(targets, chunk.size());
    if (staysHere)
        return;
    place.total = m_link.bufferFor(targets.front(), chunk.size());
    place.sendsTotalTo =
        chunk.owner < 0 ? m_layout.leaderOf(0) : m_layout.leaderOf(m_layout.hostOf(chunk.owner));
    m_link.expect(place.sendsTotalTo);
    place.total->send(place.sendsTotalTo,
                      GlooLink::slotOf(m_sequence, Lane::Gather, sum.chunks[number].number));
}

/// Until this host has done all for a chunk but to hand on its total.
void HostLeaders::retire(Running& sum, std::size_t number) {
    if (isLast())
        return;
    const Chunk& chunk = sum.chunks[number];
    Place& place = m_places[number % sum.window];
    waitFor(*place.running, Direction::Send, after());
    const std::vector<std::byte*> targets = targetsOf(m_layout, chunk, sum.at);
    if (targets.empty())
        return;
    waitFor(*place.total, Direction::Receive, totalFrom(chunk));
    if (chunk.owner < 0 && m_layout.host() + 2 < m_layout.hosts()) {
        place.sendsTotalTo = after();
        m_link.expect(after());
        place.total->send(after(),
                          GlooLink::slotOf(m_sequence, Lane::Gather, sum.chunks[number].number));
    }
    copyToOthers(targets, chunk.size());
}

void HostLeaders::awaitTotalSent(Place& place) {
    if (place.sendsTotalTo >= 0)
        waitFor(*place.total, Direction::Send, place.sendsTotalTo);
    place.sendsTotalTo = -1;
}

} // namespace trainyard::engine
