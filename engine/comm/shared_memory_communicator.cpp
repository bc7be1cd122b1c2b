// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives between the ranks of one host. Data in reducible memory is summed where it lies: each
// rank adds its share over all ranks and writes the sum into everybody's buffer, between two
// barriers. Other data goes through the segment in pieces that fit the cache, one barrier a piece.
#include "engine/base/check.h"
#include "engine/comm/communicator.h"
#include "engine/comm/groups.h"
#include "engine/comm/shared_channels.h"
#include "engine/comm/shared_group.h"
#include "engine/comm/shared_segment.h"
#include "engine/comm/shared_split.h"
#include "engine/comm/sums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace trainyard::engine {

namespace {

using Clock = SharedSegment::Clock;

/// Below this, copying costs less than a second barrier.
constexpr std::size_t kWorthInPlace = 16 * 1024;

class SharedMemoryCommunicator final : public Communicator {
public:
    SharedMemoryCommunicator(const CommunicatorOptions& options,
                             std::unique_ptr<SharedSegment> segment, ErrorListener whenBroken)
        : m_options(options), m_segment(std::move(segment)), m_channels(m_options, *m_segment),
          m_whenBroken(std::move(whenBroken)) {}
    ~SharedMemoryCommunicator() override { m_segment->leave(); }

    int rank() const override { return m_options.rank; }
    int worldSize() const override { return m_options.worldSize; }
    double secondsInside() const override { return m_secondsInside; }

    Result<std::span<std::byte>> allocateReducible(std::size_t bytes) override {
        return m_segment->allocateArena(bytes);
    }
    Result<void> allReduceSum(void* data, std::size_t count, DType type,
                              std::uint32_t tag) override;
    Result<void> reduceScatterSum(void* data, std::size_t count, DType type,
                                  std::uint32_t tag) override;
    Result<void> allGather(void* data, std::size_t bytes, std::uint32_t tag) override;
    Result<void> broadcast(void* data, std::size_t bytes, int root, std::uint32_t tag) override;
    Result<void> barrier(std::uint32_t tag) override;
    Result<std::unique_ptr<Communicator>> split(const std::vector<std::vector<int>>& groups,
                                                std::string name) override;
    Result<void> openChannels(std::span<const Channel> channels) override;
    Result<void> send(const void* data, std::size_t bytes, int to, std::uint32_t tag) override;
    Result<void> receive(void* data, std::size_t bytes, int from, std::uint32_t tag) override;

private:
    template <class Body>
    Result<void> timed(Body body);
    Result<void> sumInPlaces(const CollectiveCall& call, const SharedSegment::Places& places,
                             Clock::time_point end);
    Result<void> sumThroughStaging(const CollectiveCall& call, std::byte* data,
                                   Clock::time_point end);

    const CommunicatorOptions m_options;
    const std::shared_ptr<SharedSegment> m_segment; ///< groups split off keep it, too
    SharedChannels m_channels;
    const ErrorListener m_whenBroken; ///< may be null
    std::set<std::string> m_groupNames;
    bool m_channelsAreOpen = false;
    double m_secondsInside = 0;
    std::optional<Error> m_broken; ///< the first error is the last word
};

/// Runs `body(end)` unless the group is broken, keeps its error and adds up the time.
template <class Body>
Result<void> SharedMemoryCommunicator::timed(Body body) {
    if (m_broken)
        return *m_broken;
    const Clock::time_point start = Clock::now();
    Result<void> result = body(start + m_options.deadline);
    m_secondsInside += std::chrono::duration<double>(Clock::now() - start).count();
    if (!result) {
        m_broken = result.error();
        if (m_whenBroken)
            m_whenBroken(*m_broken);
    }
    return result;
}

Result<void> SharedMemoryCommunicator::allReduceSum(void* data, std::size_t count, DType type,
                                                    std::uint32_t tag) {
    return timed([&](Clock::time_point end) -> Result<void> {
        CollectiveCall call{CollectiveKind::AllReduce, tag, type, 0, count};
        call.memoryHash = m_segment->memoryHash();
        SharedSegment::Places places;
        if (call.bytes() >= kWorthInPlace)
            places = m_segment->find(data, call.bytes());
        call.position = places.position;
        return places.ofRank.empty() ? sumThroughStaging(call, static_cast<std::byte*>(data), end)
                                     : sumInPlaces(call, places, end);
    });
}

Result<void> SharedMemoryCommunicator::sumInPlaces(const CollectiveCall& call,
                                                   const SharedSegment::Places& places,
                                                   Clock::time_point end) {
    if (Result<void> all = m_segment->barrier(call, true, end); !all)
        return all;
    // Shares end at cache lines, so that two ranks never write to the same one.
    const std::size_t bytes = call.bytes();
    const std::size_t intoLine = call.position % SharedSegment::kCacheLine;
    const auto shareBegin = [&](int rank) {
        const std::size_t even =
            bytes / static_cast<std::size_t>(m_options.worldSize) * static_cast<std::size_t>(rank);
        if (even == 0 || rank == m_options.worldSize)
            return rank == m_options.worldSize ? bytes : std::size_t{0};
        const std::size_t line = (even + intoLine + SharedSegment::kCacheLine - 1) /
                                 SharedSegment::kCacheLine * SharedSegment::kCacheLine;
        return std::min(bytes, line - intoLine);
    };
    const std::size_t begin = shareBegin(m_options.rank);
    const std::size_t size = shareBegin(m_options.rank + 1) - begin;
    std::vector<void*> shares;
    for (std::byte* place : places.ofRank)
        shares.push_back(place + begin);
    sumInPlace(shares, size / bytesOf(call.type), call.type);
    return m_segment->barrier(call, false, end);
}

Result<void> SharedMemoryCommunicator::sumThroughStaging(const CollectiveCall& call,
                                                         std::byte* data, Clock::time_point end) {
    const std::size_t bytes = call.bytes();
    if (bytes == 0)
        return m_segment->barrier(call, true, end);
    std::vector<const void*> addends(static_cast<std::size_t>(m_options.worldSize));
    for (std::size_t begin = 0; begin < bytes; begin += SharedSegment::kPieceBytes) {
        const std::size_t size = std::min(SharedSegment::kPieceBytes, bytes - begin);
        std::memcpy(m_segment->stagingOfNextPhase(m_options.rank), data + begin, size);
        if (Result<void> all = m_segment->barrier(call, begin == 0, end); !all)
            return all;
        for (int rank = 0; rank < m_options.worldSize; ++rank)
            addends[static_cast<std::size_t>(rank)] = m_segment->stagingOfThisPhase(rank);
        sumTo(data + begin, addends, size / bytesOf(call.type), call.type);
    }
    return {};
}

Result<void> SharedMemoryCommunicator::reduceScatterSum(void* data, std::size_t count, DType type,
                                                        std::uint32_t tag) {
    const SharedSegment::Places places = m_segment->find(data, count * bytesOf(type));
    if (places.ofRank.empty())
        return Communicator::reduceScatterSum(data, count, type, tag);
    TRAINYARD_CHECK(count % places.ofRank.size() == 0);
    return timed([&](Clock::time_point end) -> Result<void> {
        CollectiveCall call{CollectiveKind::ReduceScatter, tag, type, 0, count};
        call.memoryHash = m_segment->memoryHash();
        call.position = places.position;
        if (Result<void> all = m_segment->barrier(call, true, end); !all)
            return all;
        const std::size_t slice = call.bytes() / places.ofRank.size();
        const std::size_t begin = slice * static_cast<std::size_t>(m_options.rank);
        std::vector<const void*> addends;
        for (const std::byte* place : places.ofRank)
            addends.push_back(place + begin);
        sumOver(static_cast<std::byte*>(data) + begin, addends, slice / bytesOf(type), type);
        return m_segment->barrier(call, false, end); // others still read what lies here
    });
}

Result<void> SharedMemoryCommunicator::allGather(void* data, std::size_t bytes, std::uint32_t tag) {
    const SharedSegment::Places places = m_segment->find(data, bytes);
    if (places.ofRank.empty())
        return Communicator::allGather(data, bytes, tag);
    TRAINYARD_CHECK(bytes % places.ofRank.size() == 0);
    return timed([&](Clock::time_point end) -> Result<void> {
        CollectiveCall call{CollectiveKind::AllGather, tag, DType::Fp32, 0, bytes};
        call.memoryHash = m_segment->memoryHash();
        call.position = places.position;
        if (Result<void> all = m_segment->barrier(call, true, end); !all)
            return all;
        const std::size_t slice = bytes / places.ofRank.size();
        for (std::size_t rank = 0; rank < places.ofRank.size(); ++rank)
            if (rank != static_cast<std::size_t>(m_options.rank))
                std::memcpy(static_cast<std::byte*>(data) + slice * rank,
                            places.ofRank[rank] + slice * rank, slice);
        return m_segment->barrier(call, false, end); // others still read the own slice
    });
}

Result<void> SharedMemoryCommunicator::broadcast(void* data, std::size_t bytes, int root,
                                                 std::uint32_t tag) {
    TRAINYARD_CHECK_MSG(root >= 0 && root < m_options.worldSize,
                        describePair(root, m_options.worldSize));
    return timed([&](Clock::time_point end) -> Result<void> {
        CollectiveCall call{CollectiveKind::Broadcast, tag, DType::Fp32, m_options.nameOf(root),
                            bytes};
        call.memoryHash = m_segment->memoryHash();
        auto* const target = static_cast<std::byte*>(data);
        std::size_t begin = 0;
        do { // also with nothing to send: the ranks still meet
            const std::size_t size = std::min(SharedSegment::kPieceBytes, bytes - begin);
            if (m_options.rank == root && size > 0)
                std::memcpy(m_segment->stagingOfNextPhase(root), target + begin, size);
            if (Result<void> all = m_segment->barrier(call, begin == 0, end); !all)
                return all;
            if (m_options.rank != root && size > 0)
                std::memcpy(target + begin, m_segment->stagingOfThisPhase(root), size);
            begin += size;
        } while (begin < bytes);
        return {};
    });
}

Result<void> SharedMemoryCommunicator::barrier(std::uint32_t tag) {
    return timed([&](Clock::time_point end) {
        CollectiveCall call{CollectiveKind::Barrier, tag};
        call.memoryHash = m_segment->memoryHash();
        return m_segment->barrier(call, true, end);
    });
}

// ---- Groups and messages ---------------------------------------------------------------------

Result<std::unique_ptr<Communicator>>
SharedMemoryCommunicator::split(const std::vector<std::vector<int>>& groups, std::string name) {
    CollectiveCall call = splitCall(groups, name, m_options, m_groupNames);
    call.memoryHash = m_segment->memoryHash();
    const GroupPlace place = placeIn(groups, m_options);
    std::unique_ptr<SharedSegment> segment;
    const Result<void> done = timed([&](Clock::time_point end) -> Result<void> {
        auto made = splitSegment(m_segment, m_options, groups, place, call, end);
        if (!made)
            return made.error();
        segment = std::move(*made);
        return {};
    });
    if (!done)
        return done.error();
    if (place.isAlone())
        return makeSingleCommunicator();
    return makeSharedGroup(place.options, std::move(segment), m_whenBroken);
}

Result<void> SharedMemoryCommunicator::openChannels(std::span<const Channel> channels) {
    TRAINYARD_CHECK(!std::exchange(m_channelsAreOpen, true));
    CollectiveCall call = openingCall(channels, m_options);
    call.memoryHash = m_segment->memoryHash();
    return timed([&](Clock::time_point end) -> Result<void> {
        if (Result<void> all = m_segment->barrier(call, true, end); !all)
            return all;
        return m_channels.open(channels);
    });
}

Result<void> SharedMemoryCommunicator::send(const void* data, std::size_t bytes, int to,
                                            std::uint32_t tag) {
    return timed([&](Clock::time_point end) { return m_channels.send(data, bytes, to, tag, end); });
}

Result<void> SharedMemoryCommunicator::receive(void* data, std::size_t bytes, int from,
                                               std::uint32_t tag) {
    return timed(
        [&](Clock::time_point end) { return m_channels.receive(data, bytes, from, tag, end); });
}

} // namespace

std::unique_ptr<Communicator> makeSharedGroup(const CommunicatorOptions& options,
                                              std::unique_ptr<SharedSegment> segment,
                                              ErrorListener whenBroken) {
    return std::make_unique<SharedMemoryCommunicator>(options, std::move(segment),
                                                      std::move(whenBroken));
}

Result<std::unique_ptr<Communicator>>
makeSharedMemoryCommunicator(const CommunicatorOptions& options, int segmentFd) {
    if (options.worldSize == 1)
        return makeSingleCommunicator();
    Result<std::unique_ptr<SharedSegment>> segment =
        SharedSegment::join(options, segmentFd, nullptr);
    if (!segment)
        return segment.error();
    return makeSharedGroup(options, std::move(*segment), nullptr);
}

} // namespace trainyard::engine
