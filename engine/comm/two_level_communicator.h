// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// TwoLevelCommunicator: collectives between ranks on several hosts. The ranks of a host meet in
// shared memory, their leaders exchange over TCP what concerns other hosts, and the ranks of each
// host take the result from shared memory. A call is compared inside the hosts and then between the
// leaders. Whatever ends a wait on one level is told on the other. Internal to engine/comm.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/gloo_channels.h"
#include "engine/comm/gloo_group.h"
#include "engine/comm/gloo_meeting.h"
#include "engine/comm/groups.h"
#include "engine/comm/host_layout.h"
#include "engine/comm/host_leaders.h"
#include "engine/comm/host_side.h"
#include "engine/comm/shared_channels.h"

#include <cstring>
#include <optional>
#include <set>

namespace trainyard::engine {

/// Of the ranks of this rank's host.
CommunicatorOptions localOptions(const CommunicatorOptions& options, const HostLayout& layout);

class TwoLevelCommunicator final : public Communicator {
public:
    /// `segment`: joined by the ranks of this host, null for one alone.
    static Result<std::unique_ptr<Communicator>> make(const CommunicatorOptions& options,
                                                      const HostLayout& layout, GlooSite site,
                                                      GlooMeeting meeting,
                                                      std::shared_ptr<SharedSegment> segment);
    TwoLevelCommunicator(const CommunicatorOptions& options, const HostLayout& layout,
                         GlooSite site, GlooMeeting meeting,
                         std::shared_ptr<SharedSegment> segment);
    ~TwoLevelCommunicator() override { sayGoodbye(); }

    int rank() const override { return m_options.rank; }
    int worldSize() const override { return m_options.worldSize; }
    double secondsInside() const override { return m_link.secondsInside(); }

    Result<std::span<std::byte>> allocateReducible(std::size_t bytes) override {
        m_memoryHash = mixHash(m_memoryHash, bytes);
        return m_side.allocate(bytes);
    }
    Result<void> allReduceSum(void* data, std::size_t count, DType type,
                              std::uint32_t tag) override;
    Result<void> reduceScatterSum(void* data, std::size_t count, DType type,
                                  std::uint32_t tag) override;
    Result<void> allGather(void* data, std::size_t bytes, std::uint32_t tag) override;
    Result<void> broadcast(void* data, std::size_t bytes, int root, std::uint32_t tag) override;
    Result<void> barrier(std::uint32_t tag) override {
        return meet({CollectiveKind::Barrier, tag});
    }
    Result<std::unique_ptr<Communicator>> split(const std::vector<std::vector<int>>& groups,
                                                std::string name) override;
    Result<void> openChannels(std::span<const Channel> channels) override;
    Result<void> send(const void* data, std::size_t bytes, int to, std::uint32_t tag) override;
    Result<void> receive(void* data, std::size_t bytes, int from, std::uint32_t tag) override;

private:
    template <class During, class Body>
    Result<void> guarded(During during, Body body);
    template <class Body>
    Result<void> run(const CollectiveCall& call, Body body);
    Result<void> meet(const CollectiveCall& call);
    Result<void> everywhere(const CollectiveCall& call);
    template <class Combine>
    Result<void> small(const CollectiveCall& call, const std::byte* mine, std::size_t mineBytes,
                       int only, std::byte* result, std::size_t resultBytes, Combine combine);
    const std::byte* smallOf(int rank, std::size_t bytes);
    bool fitsHeads(std::size_t bytesOfARank, std::size_t resultBytes) const;

    Result<void> sum(std::byte* data, const CollectiveCall& call);
    Result<void> sumSmall(std::byte* data, const CollectiveCall& call);
    Result<void> sumLarge(std::byte* data, const CollectiveCall& call);
    Result<void> sumInPlace(const CollectiveCall& call, const std::vector<HostLeaders::Chunk>& all,
                            const SharedSegment::Places& places);
    Result<void> sumThroughAreas(std::byte* data, const CollectiveCall& call,
                                 const std::vector<HostLeaders::Chunk>& all);
    void copyTotal(std::byte* data, const CollectiveCall& call, std::size_t begin, std::size_t end);
    Result<void> gatherLarge(std::byte* data, std::size_t slice, const CollectiveCall& call);
    Result<void> broadcastLarge(std::byte* data, std::size_t bytes, int root,
                                const CollectiveCall& call);

    HostLayout layoutOf(const std::vector<int>& group, int rank) const;
    Groups localGroups(const Groups& groups) const;
    void sayGoodbye();
    void sayGoodbyeToPartners();

    const CommunicatorOptions m_options;
    const HostLayout m_layout;
    const GlooSite m_site;
    GlooLink m_link;
    HostSide m_side;
    std::optional<HostLeaders> m_leaders; ///< on a leader
    GlooChannels m_farChannels{m_link};
    std::optional<SharedChannels> m_nearChannels;
    std::set<int> m_partners; ///< on other hosts, with whom there are channels
    std::set<std::string> m_groupNames;
    bool m_channelsAreOpen = false;
    std::uint64_t m_memoryHash = 0;
};

/// An error on either level ends both.
template <class During, class Body>
Result<void> TwoLevelCommunicator::guarded(During during, Body body) {
    const bool wasBroken = m_link.isBroken();
    Result<void> result = m_link.run(m_options.deadline, during, [&]() -> Result<void> {
        Result<void> done = body();
        if (!done && !m_link.isBroken())
            return m_link.breakUp(done.error(), reasonOf(done.error()));
        return done;
    });
    if (!result && !wasBroken && m_side.segment())
        m_side.segment()->publishFault(m_link.fault());
    return result;
}

template <class Body>
Result<void> TwoLevelCommunicator::run(const CollectiveCall& call, Body body) {
    CollectiveCall complete = call;
    complete.memoryHash = m_memoryHash;
    return guarded([&] { return complete.text(); },
                   [&]() -> Result<void> { return body(complete); });
}

/// Each rank, or one only, contributes a few bytes; the leader of each host makes the result of
/// them, `combine(result)`, and every rank gets that.
template <class Combine>
Result<void> TwoLevelCommunicator::small(const CollectiveCall& call, const std::byte* mine,
                                         std::size_t mineBytes, int only, std::byte* result,
                                         std::size_t resultBytes, Combine combine) {
    const auto contributes = [&](int rank) {
        return mineBytes > 0 && (only < 0 || rank == only);
    };
    if (contributes(m_options.rank))
        std::memcpy(m_side.stageNext(m_side.options().rank), mine, mineBytes);
    if (Result<void> all = m_side.barrier(call, true, m_link.end()); !all)
        return all;
    if (m_leaders) {
        std::vector<std::byte> ours;
        for (const int rank : m_layout.ranksOn(m_layout.host())) {
            const std::byte* const from = smallOf(rank, mineBytes);
            if (only < 0 || rank == only)
                ours.insert(ours.end(), from, from + mineBytes);
        }
        if (Result<void> met = m_leaders->meet(call, ours); !met)
            return met;
        combine(m_side.stageNext(0));
        m_leaders->finish();
    }
    if (Result<void> all = m_side.barrier(call, false, m_link.end()); !all)
        return all;
    if (resultBytes > 0)
        std::memcpy(result, m_side.stagedNow(0), resultBytes);
    return {};
}

} // namespace trainyard::engine
