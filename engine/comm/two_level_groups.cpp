// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Groups, messages and the end of a group on two levels.
#include "engine/comm/two_level_communicator.h"

#include "engine/base/check.h"
#include "engine/comm/shared_group.h"
#include "engine/comm/shared_split.h"

#include <algorithm>
#include <utility>

namespace trainyard::engine {

namespace {

using std::chrono::milliseconds;

/// Longest wait for slower ranks at the end.
constexpr milliseconds kLeadersGoodbye{2000};
/// Of the last message to a rank on another host with which there are channels.
constexpr std::uint64_t kGoodbyeSlot = ~std::uint64_t{0};

} // namespace

// ---- Groups ----------------------------------------------------------------------------------

/// Of a group, whose members are ranks of this communicator.
HostLayout TwoLevelCommunicator::layoutOf(const std::vector<int>& group, int rank) const {
    std::vector<int> hosts;
    for (const int member : group)
        hosts.push_back(m_layout.hostOf(member));
    return HostLayout(hosts, rank);
}

/// Members on this host, as its ranks are numbered, of the groups that use shared memory.
Groups TwoLevelCommunicator::localGroups(const Groups& groups) const {
    Groups local;
    for (const std::vector<int>& group : groups) {
        const HostLayout layout = layoutOf(group, 0);
        std::vector<int> members;
        for (const int member : group)
            if (m_layout.isHere(member))
                members.push_back(m_layout.localRankOf(member));
        if (!members.empty() && (layout.hosts() == 1 || layout.hasTwoLevels()))
            local.push_back(members);
    }
    return local;
}

Result<std::unique_ptr<Communicator>>
TwoLevelCommunicator::split(const std::vector<std::vector<int>>& groups, std::string name) {
    const CollectiveCall call = splitCall(groups, name, m_options, m_groupNames);
    std::unique_ptr<SharedSegment> segment;
    const Result<void> done = run(call, [&](const CollectiveCall& complete) -> Result<void> {
        if (Result<void> met = everywhere(complete); !met || !m_side.segment())
            return met;
        const Groups local = localGroups(groups);
        auto made = splitSegment(m_side.segment(), m_side.options(), local,
                                 placeIn(local, m_side.options()), complete, m_link.end());
        if (!made)
            return made.error();
        segment = std::move(*made);
        return {};
    });
    if (!done)
        return done.error();
    const GroupPlace place = placeIn(groups, m_options);
    if (place.isAlone())
        return makeSingleCommunicator();
    const HostLayout layout =
        layoutOf(groups[static_cast<std::size_t>(place.group)], place.options.rank);
    if (layout.hosts() == 1)
        return makeSharedGroup(place.options, std::move(segment),
                               [rendezvous = m_link.rendezvous()](const Error& error) {
                                   rendezvous.leaveNote(reasonOf(error));
                               });
    const Result<GlooSite> site = m_site.ofGroup(name, place.group);
    if (!site)
        return site.error();
    if (!layout.hasTwoLevels())
        return makeGlooGroup(place.options, *site);
    Result<GlooMeeting> meeting =
        GlooMeeting::hold(place.options, site->folder, site->worldFolder, site->device);
    if (!meeting)
        return meeting.error();
    return make(place.options, layout, *site, std::move(*meeting), std::move(segment));
}

// ---- Messages --------------------------------------------------------------------------------

Result<void> TwoLevelCommunicator::openChannels(std::span<const Channel> channels) {
    TRAINYARD_CHECK(!std::exchange(m_channelsAreOpen, true));
    std::vector<Channel> near;
    std::vector<Channel> far;
    const CollectiveCall call = openingCall(channels, m_options);
    for (Channel channel : channels) {
        if (m_layout.hostOf(channel.from) != m_layout.hostOf(channel.to)) {
            far.push_back(channel);
            if (channel.from == m_options.rank || channel.to == m_options.rank)
                m_partners.insert(channel.from + channel.to - m_options.rank);
        } else if (m_layout.isHere(channel.from)) {
            channel.from = m_layout.localRankOf(channel.from);
            channel.to = m_layout.localRankOf(channel.to);
            near.push_back(channel);
        }
    }
    return run(call, [&](const CollectiveCall& complete) -> Result<void> {
        if (Result<void> met = everywhere(complete); !met)
            return met;
        Result<void> opened = m_farChannels.open(far);
        return opened && m_nearChannels ? m_nearChannels->open(near) : opened;
    });
}

Result<void> TwoLevelCommunicator::send(const void* data, std::size_t bytes, int to,
                                        std::uint32_t tag) {
    const MessageHead head{bytes, tag};
    const auto during = [&] {
        return head.text(m_options.nameOf(m_options.rank), m_options.nameOf(to));
    };
    return guarded(during, [&]() -> Result<void> {
        if (m_layout.isHere(to) && m_nearChannels)
            return m_nearChannels->send(data, bytes, m_layout.localRankOf(to), tag, m_link.end());
        m_farChannels.send(data, head, to);
        return {};
    });
}

Result<void> TwoLevelCommunicator::receive(void* data, std::size_t bytes, int from,
                                           std::uint32_t tag) {
    const MessageHead head{bytes, tag};
    const auto during = [&] {
        return head.text(m_options.nameOf(from), m_options.nameOf(m_options.rank));
    };
    return guarded(during, [&]() -> Result<void> {
        if (m_layout.isHere(from) && m_nearChannels)
            return m_nearChannels->receive(data, bytes, m_layout.localRankOf(from), tag,
                                           m_link.end());
        return m_farChannels.receive(data, head, from);
    });
}

// ---- The end ---------------------------------------------------------------------------------

/// Closing at once could drop what is still on its way to slower ranks of other hosts: as long as
/// the group is whole, waits for them, but not for long.
void TwoLevelCommunicator::sayGoodbye() {
    m_side.leave();
    if (m_side.segment())
        m_side.segment()->setObserver(nullptr);
    const auto attempt = [&](const auto& body) {
        const auto during = [] {
            return CollectiveCall{CollectiveKind::Leave}.text();
        };
        const milliseconds patience = std::min(kLeadersGoodbye, m_options.deadline);
        (void)m_link.run(patience, during, [&]() -> Result<void> {
            try {
                body();
            } catch (const std::exception&) {
                // The others will find out by themselves what has happened to the group.
            }
            return {};
        });
    };
    if (m_link.isBroken() || (m_leaders && m_leaders->isGone()))
        return;
    attempt([&] { m_farChannels.finish(); });
    attempt([&] { sayGoodbyeToPartners(); });
    if (m_leaders)
        attempt([&] { m_leaders->sayGoodbye(); });
}

void TwoLevelCommunicator::sayGoodbyeToPartners() {
    std::byte nothing{};
    std::vector<std::pair<int, GlooBuffer>> goodbyes;
    for (const int partner : m_partners) {
        GlooBuffer buffer = m_link.bufferFor(&nothing, sizeof(nothing));
        m_link.expect(partner);
        buffer->recv(partner, kGoodbyeSlot);
        buffer->send(partner, kGoodbyeSlot);
        goodbyes.emplace_back(partner, std::move(buffer));
    }
    for (const auto& [partner, buffer] : goodbyes) {
        m_link.waitFor(*buffer, GlooLink::Direction::Receive, partner);
        m_link.waitFor(*buffer, GlooLink::Direction::Send, partner);
    }
}

} // namespace trainyard::engine
