// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Running a call on both levels, and the collectives.
#include "engine/comm/two_level_communicator.h"

#include "engine/base/check.h"
#include "engine/comm/sums.h"

#include <algorithm>
#include <utility>

namespace trainyard::engine {

namespace {

/// Of the first barrier of a group.
constexpr std::uint32_t kAllConnectedTag = 0xFFFFFFFF;

} // namespace

CommunicatorOptions localOptions(const CommunicatorOptions& options, const HostLayout& layout) {
    CommunicatorOptions local = options;
    local.rank = layout.localRankOf(options.rank);
    local.names.clear();
    for (const int rank : layout.ranksOn(layout.host()))
        local.names.push_back(options.nameOf(rank));
    local.worldSize = static_cast<int>(local.names.size());
    return local;
}

TwoLevelCommunicator::TwoLevelCommunicator(const CommunicatorOptions& options,
                                           const HostLayout& layout, GlooSite site,
                                           GlooMeeting meeting,
                                           std::shared_ptr<SharedSegment> segment)
    : m_options(options), m_layout(layout), m_site(std::move(site)),
      m_link(options, std::move(meeting.rendezvous), std::move(meeting.context), m_site.whenBroken),
      m_side(localOptions(options, layout), std::move(segment)) {
    m_link.askWhoIsBehind();
    if (m_side.segment()) {
        m_side.segment()->setObserver(&m_link.rendezvous());
        m_nearChannels.emplace(m_side.options(), *m_side.segment());
    }
    if (m_side.isLeader())
        m_leaders.emplace(m_link, m_layout, [this](int rank) {
            const Fault awaited = rank < 0 ? Fault() : m_link.faultOf(FaultKind::Missing, rank);
            m_side.awaitElsewhere(rank < 0 ? nullptr : &awaited);
        });
}

Result<std::unique_ptr<Communicator>>
TwoLevelCommunicator::make(const CommunicatorOptions& options, const HostLayout& layout,
                           GlooSite site, GlooMeeting meeting,
                           std::shared_ptr<SharedSegment> segment) {
    const GlooRendezvous rendezvous = meeting.rendezvous;
    const std::vector<std::string> published = meeting.publishedKeys;
    auto communicator = std::make_unique<TwoLevelCommunicator>(
        options, layout, std::move(site), std::move(meeting), std::move(segment));
    // All have connected once all have come here: what was published has served.
    if (Result<void> all = communicator->barrier(kAllConnectedTag); !all)
        return all.error();
    for (const std::string& key : published)
        rendezvous.removePublished(key);
    return std::unique_ptr<Communicator>(std::move(communicator));
}

// ---- Running a call --------------------------------------------------------------------------

/// All ranks are here, with the same call.
Result<void> TwoLevelCommunicator::everywhere(const CollectiveCall& call) {
    return small(call, nullptr, 0, -1, nullptr, 0, [](std::byte*) {});
}

Result<void> TwoLevelCommunicator::meet(const CollectiveCall& call) {
    return run(call, [&](const CollectiveCall& complete) { return everywhere(complete); });
}

bool TwoLevelCommunicator::fitsHeads(std::size_t bytesOfARank, std::size_t resultBytes) const {
    return bytesOfARank * static_cast<std::size_t>(m_layout.mostRanks()) <=
               HostLeaders::kInlineBytes &&
           resultBytes <= SharedSegment::kPieceBytes;
}

/// What `rank` has contributed, on a leader that has met the others.
const std::byte* TwoLevelCommunicator::smallOf(int rank, std::size_t bytes) {
    const int local = m_layout.localRankOf(rank);
    return m_layout.isHere(rank) ? m_side.stagedNow(local)
                                 : m_leaders->smallOf(m_layout.hostOf(rank)) +
                                       bytes * static_cast<std::size_t>(local);
}

// ---- Sums ------------------------------------------------------------------------------------

Result<void> TwoLevelCommunicator::allReduceSum(void* data, std::size_t count, DType type,
                                                std::uint32_t tag) {
    return sum(static_cast<std::byte*>(data), {CollectiveKind::AllReduce, tag, type, 0, count});
}

Result<void> TwoLevelCommunicator::reduceScatterSum(void* data, std::size_t count, DType type,
                                                    std::uint32_t tag) {
    TRAINYARD_CHECK(count % static_cast<std::size_t>(m_options.worldSize) == 0);
    return sum(static_cast<std::byte*>(data), {CollectiveKind::ReduceScatter, tag, type, 0, count});
}

Result<void> TwoLevelCommunicator::sum(std::byte* data, const CollectiveCall& call) {
    return run(call, [&](const CollectiveCall& complete) {
        return fitsHeads(complete.bytes(), complete.bytes()) ? sumSmall(data, complete)
                                                             : sumLarge(data, complete);
    });
}

Result<void> TwoLevelCommunicator::sumSmall(std::byte* data, const CollectiveCall& call) {
    return small(call, data, call.bytes(), -1, data, call.bytes(), [&](std::byte* result) {
        std::vector<const void*> addends;
        for (int rank = 0; rank < m_options.worldSize; ++rank)
            addends.push_back(smallOf(rank, call.bytes()));
        sumTo(result, addends, call.count, call.type);
    });
}

Result<void> TwoLevelCommunicator::sumLarge(std::byte* data, const CollectiveCall& call) {
    const std::vector<HostLeaders::Chunk> chunks = HostLeaders::chunksOf(call, m_options.worldSize);
    const SharedSegment::Places places = m_side.find(data, call.bytes());
    const Result<void> summed = places.ofRank.empty() ? sumThroughAreas(data, call, chunks)
                                                      : sumInPlace(call, chunks, places);
    if (summed && m_leaders)
        m_leaders->finish();
    return summed;
}

Result<void> TwoLevelCommunicator::sumInPlace(const CollectiveCall& call,
                                              const std::vector<HostLeaders::Chunk>& all,
                                              const SharedSegment::Places& places) {
    CollectiveCall local = call;
    local.position = places.position;
    if (Result<void> here = m_side.barrier(local, true, m_link.end()); !here)
        return here;
    if (m_leaders) {
        if (Result<void> met = m_leaders->meet(call, {}); !met)
            return met;
        const HostLeaders::Places at{
            0, {places.ofRank.begin(), places.ofRank.end()}, places.ofRank};
        const std::size_t most = m_leaders->isInBlocks() ? HostSide::kAreaBytes : call.bytes();
        for (const auto& block : HostLeaders::blocksOf(all, most))
            m_leaders->sum(call, block, at);
    }
    return m_side.barrier(local, false, m_link.end());
}

Result<void> TwoLevelCommunicator::sumThroughAreas(std::byte* data, const CollectiveCall& call,
                                                   const std::vector<HostLeaders::Chunk>& all) {
    if (Result<void> opened = m_side.openAreas(); !opened)
        return opened;
    for (const auto& block : HostLeaders::blocksOf(all, HostSide::kAreaBytes)) {
        const std::size_t begin = block.front().begin;
        const std::size_t end = block.back().end;
        const bool isFirst = begin == 0;
        std::memcpy(m_side.input(m_side.options().rank), data + begin, end - begin);
        if (Result<void> here = m_side.barrier(call, isFirst, m_link.end()); !here)
            return here;
        if (m_leaders) {
            if (isFirst)
                if (Result<void> met = m_leaders->meet(call, {}, true); !met)
                    return met;
            HostLeaders::Places at{begin, {}, {m_side.output()}};
            for (int rank = 0; rank < m_side.ranks(); ++rank)
                at.addends.push_back(m_side.input(rank));
            m_leaders->sum(call, block, at);
        }
        if (Result<void> here = m_side.barrier(call, false, m_link.end()); !here)
            return here;
        copyTotal(data, call, begin, end);
    }
    return {};
}

/// What this rank gets of a block.
void TwoLevelCommunicator::copyTotal(std::byte* data, const CollectiveCall& call, std::size_t begin,
                                     std::size_t end) {
    std::size_t from = begin;
    if (call.kind == CollectiveKind::ReduceScatter) {
        const std::size_t slice = call.bytes() / static_cast<std::size_t>(m_options.worldSize);
        const std::size_t mine = slice * static_cast<std::size_t>(m_options.rank);
        from = std::max(begin, mine);
        end = std::min(end, mine + slice);
    }
    if (from < end)
        std::memcpy(data + from, m_side.output() + (from - begin), end - from);
}

// ---- Bytes -----------------------------------------------------------------------------------

Result<void> TwoLevelCommunicator::allGather(void* data, std::size_t bytes, std::uint32_t tag) {
    const auto ranks = static_cast<std::size_t>(m_options.worldSize);
    TRAINYARD_CHECK(bytes % ranks == 0);
    const std::size_t slice = bytes / ranks;
    auto* const first = static_cast<std::byte*>(data);
    return run({CollectiveKind::AllGather, tag, DType::Fp32, 0, bytes},
               [&](const CollectiveCall& call) -> Result<void> {
                   if (!fitsHeads(slice, bytes))
                       return gatherLarge(first, slice, call);
                   const auto combine = [&](std::byte* result) {
                       for (int rank = 0; slice > 0 && rank < m_options.worldSize; ++rank)
                           std::memcpy(result + slice * static_cast<std::size_t>(rank),
                                       smallOf(rank, slice), slice);
                   };
                   const std::byte* const mine =
                       first + slice * static_cast<std::size_t>(m_options.rank);
                   return small(call, mine, slice, -1, first, bytes, combine);
               });
}

/// A piece of all slices at a time, in one half of the output: while slower ranks still take the
/// last piece out of the other half.
Result<void> TwoLevelCommunicator::gatherLarge(std::byte* data, std::size_t slice,
                                               const CollectiveCall& call) {
    if (Result<void> met = everywhere(call); !met)
        return met;
    if (Result<void> opened = m_side.openAreas(); !opened)
        return opened;
    const auto ranks = static_cast<std::size_t>(m_options.worldSize);
    constexpr std::size_t kHalf = HostSide::kAreaBytes / 2;
    const std::size_t most = kHalf / ranks;
    const auto begin = [&](std::size_t rank, std::size_t at) {
        return data + slice * rank + at;
    };
    const auto me = static_cast<std::size_t>(m_options.rank);
    for (std::size_t at = 0, piece = 0; at < slice; at += most, ++piece) {
        const std::size_t size = std::min(most, slice - at);
        std::byte* const half = m_side.output() + (piece & 1) * kHalf;
        std::memcpy(half + size * me, begin(me, at), size);
        if (Result<void> all = m_side.barrier(call, false, m_link.end()); !all)
            return all;
        if (m_leaders)
            m_leaders->gather(half, size, piece);
        if (Result<void> all = m_side.barrier(call, false, m_link.end()); !all)
            return all;
        for (std::size_t rank = 0; rank < ranks; ++rank)
            if (rank != me)
                std::memcpy(begin(rank, at), half + size * rank, size);
    }
    return {};
}

Result<void> TwoLevelCommunicator::broadcast(void* data, std::size_t bytes, int root,
                                             std::uint32_t tag) {
    TRAINYARD_CHECK_MSG(root >= 0 && root < m_options.worldSize,
                        describePair(root, m_options.worldSize));
    auto* const target = static_cast<std::byte*>(data);
    return run({CollectiveKind::Broadcast, tag, DType::Fp32, m_options.nameOf(root), bytes},
               [&](const CollectiveCall& call) -> Result<void> {
                   if (bytes > HostLeaders::kInlineBytes)
                       return broadcastLarge(target, bytes, root, call);
                   const auto combine = [&](std::byte* result) {
                       if (bytes > 0 && m_layout.isHere(root))
                           std::memcpy(result, smallOf(root, bytes), bytes);
                       else if (bytes > 0)
                           std::memcpy(result, m_leaders->smallOf(m_layout.hostOf(root)), bytes);
                   };
                   return small(call, target, bytes, root, target, bytes, combine);
               });
}

/// Piece by piece from host to host; a host's ranks take one out of one half of the output while
/// the next one comes into the other.
Result<void> TwoLevelCommunicator::broadcastLarge(std::byte* data, std::size_t bytes, int root,
                                                  const CollectiveCall& call) {
    if (Result<void> met = everywhere(call); !met)
        return met;
    if (Result<void> opened = m_side.openAreas(); !opened)
        return opened;
    constexpr std::size_t kPart = 512 * 1024;
    const int rootHost = m_layout.hostOf(root);
    const auto sizeOf = [&](std::size_t piece) {
        return std::min(kPart, bytes - piece * kPart);
    };
    const auto placeOf = [&](std::size_t piece) {
        return m_side.output() + (piece & 1) * kPart;
    };
    const std::size_t pieces = (bytes + kPart - 1) / kPart;
    if (m_leaders)
        m_leaders->receivePart(placeOf(0), sizeOf(0), rootHost, 0);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        std::byte* const place = placeOf(piece);
        if (m_options.rank == root)
            std::memcpy(place, data + piece * kPart, sizeOf(piece));
        if (m_leaders) {
            m_leaders->awaitPart(rootHost);
            m_leaders->awaitPassedOn(rootHost); // the other half is written to from now on
        }
        if (Result<void> all = m_side.barrier(call, false, m_link.end()); !all)
            return all;
        if (m_leaders) {
            m_leaders->passOnPart(place, sizeOf(piece), rootHost, piece);
            if (piece + 1 < pieces)
                m_leaders->receivePart(placeOf(piece + 1), sizeOf(piece + 1), rootHost, piece + 1);
        }
        if (m_options.rank != root)
            std::memcpy(data + piece * kPart, place, sizeOf(piece));
    }
    if (m_leaders)
        m_leaders->awaitPassedOn(rootHost);
    return {};
}

// ---- Made by ------------------------------------------------------------------------------------

Result<std::unique_ptr<Communicator>> makeTwoLevelCommunicator(const CommunicatorOptions& options,
                                                               const std::vector<int>& hosts,
                                                               int segmentFd,
                                                               const std::string& rendezvousFolder,
                                                               const std::string& address) {
    TRAINYARD_CHECK_MSG(options.rank >= 0 && options.rank < options.worldSize,
                        describePair(options.rank, options.worldSize));
    TRAINYARD_CHECK_MSG(static_cast<int>(hosts.size()) == options.worldSize,
                        describePair(hosts.size(), options.worldSize));
    const HostLayout layout(hosts, options.rank);
    if (layout.hosts() == 1)
        return makeSharedMemoryCommunicator(options, segmentFd);
    if (!layout.hasTwoLevels())
        return makeGlooCommunicator(options, rendezvousFolder, address);
    Result<GlooSite> site = GlooSite::open(rendezvousFolder, address);
    if (!site)
        return site.error();
    Result<GlooMeeting> meeting =
        GlooMeeting::hold(options, site->folder, site->worldFolder, site->device);
    if (!meeting)
        return meeting.error();
    std::shared_ptr<SharedSegment> segment;
    if (const CommunicatorOptions local = localOptions(options, layout); local.worldSize > 1) {
        auto joined = SharedSegment::join(local, segmentFd, nullptr);
        if (!joined) {
            meeting->rendezvous.leaveNote(reasonOf(joined.error()));
            return joined.error();
        }
        segment = std::move(*joined);
        site->whenBroken = [segment](const Fault& fault) {
            segment->publishFault(fault);
        };
    }
    return TwoLevelCommunicator::make(options, layout, *site, std::move(*meeting),
                                      std::move(segment));
}

} // namespace trainyard::engine
