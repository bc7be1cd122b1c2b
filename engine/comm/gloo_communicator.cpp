// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives over TCP, on Gloo's point-to-point messages (never its older algorithms, which spoil
// the same connections). Every collective begins with one message of fixed size from each rank to
// each: it carries the call, so that a mismatch is found before anything of another size moves, and
// small data. Larger sums: each rank owns a slice, gets it from all and adds in rank order. So the
// result has the same bits on all ranks, in all runs and over shared memory.
#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"
#include "engine/comm/gloo_blocks.h"
#include "engine/comm/gloo_channels.h"
#include "engine/comm/gloo_group.h"
#include "engine/comm/gloo_link.h"
#include "engine/comm/gloo_meeting.h"
#include "engine/comm/groups.h"
#include "engine/comm/private_memory.h"
#include "engine/comm/sums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

namespace trainyard::engine {

namespace {

using Direction = GlooLink::Direction;
using std::chrono::milliseconds;

/// Data up to this size travels with the call itself.
constexpr std::size_t kInlineBytes = 1024;
/// Longest wait for slower ranks at the end.
constexpr milliseconds kGoodbye{2000};
/// Of the first barrier of a group.
constexpr std::uint32_t kConnectedTag = 0xFFFFFFFF;

struct Envelope {
    CollectiveCall call;
    std::array<std::byte, kInlineBytes> data;
};

class GlooCommunicator final : public Communicator {
public:
    static Result<std::unique_ptr<Communicator>> make(const CommunicatorOptions& options,
                                                      const GlooSite& site);
    GlooCommunicator(const CommunicatorOptions& options, GlooMeeting meeting, GlooSite site);
    ~GlooCommunicator() override { sayGoodbye(); }

    int rank() const override { return m_options.rank; }
    int worldSize() const override { return m_options.worldSize; }
    double secondsInside() const override { return m_link.secondsInside(); }

    Result<std::span<std::byte>> allocateReducible(std::size_t bytes) override {
        m_memoryHash = mixHash(m_memoryHash, bytes);
        return m_memory.allocate(bytes);
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
    std::size_t parity() const { return m_sequence & 1; }
    Envelope& receivedFrom(int rank) {
        return m_received[parity()][static_cast<std::size_t>(rank)];
    }

    template <class Body>
    Result<void> run(const CollectiveCall& call, const void* data, Body body);
    Result<void> meet(const CollectiveCall& call) {
        return run(call, nullptr, [](const CollectiveCall&) {});
    }
    Result<void> sum(void* data, const CollectiveCall& call);
    Result<void> exchangeEnvelopes(const CollectiveCall& call, const void* data);
    void sendEnvelopes(const CollectiveCall& call, const void* data);
    void sayGoodbye();
    void postEnvelopeReceives(std::uint64_t sequence);
    void sumInline(void* data, const CollectiveCall& call);
    void gatherInline(std::byte* data, std::size_t slice);
    void gatherDirectly(std::byte* data, std::size_t slice);
    void sendToAll(std::byte* data, std::size_t bytes);
    void receiveFrom(int root, std::byte* data, std::size_t bytes);

    const CommunicatorOptions m_options;
    const GlooSite m_site;
    PrivateMemory m_memory;
    std::uint64_t m_memoryHash = 0;
    GlooLink m_link;
    GlooBlocks m_blocks{m_link};
    GlooChannels m_channels{m_link};
    std::set<std::string> m_groupNames;
    bool m_channelsAreOpen = false;

    std::uint64_t m_sequence = 0; ///< of the collective
    std::exception_ptr m_gone;    ///< of a peer whose connection closed between two collectives
    int m_gonePeer = -1;

    /// By parity of the sequence, the received ones also by rank: a peer may be one collective
    /// ahead.
    std::array<Envelope, 2> m_sent = {};
    std::array<std::vector<Envelope>, 2> m_received;
    std::array<std::vector<GlooBuffer>, 2> m_envelopeSends;
    std::array<std::vector<GlooBuffer>, 2> m_envelopeReceives;
};

GlooCommunicator::GlooCommunicator(const CommunicatorOptions& options, GlooMeeting meeting,
                                   GlooSite site)
    : m_options(options), m_site(std::move(site)),
      m_link(options, std::move(meeting.rendezvous), std::move(meeting.context),
             m_site.whenBroken) {
    const auto ranks = static_cast<std::size_t>(options.worldSize);
    for (std::size_t half = 0; half < 2; ++half) {
        m_received[half].resize(ranks);
        m_envelopeSends[half].resize(ranks);
        m_envelopeReceives[half].resize(ranks);
        m_link.forEachPeer([&](int peer) {
            const auto at = static_cast<std::size_t>(peer);
            m_envelopeSends[half][at] = m_link.bufferFor(&m_sent[half], sizeof(Envelope));
            m_envelopeReceives[half][at] =
                m_link.bufferFor(&m_received[half][at], sizeof(Envelope));
        });
    }
    postEnvelopeReceives(0);
}

Result<std::unique_ptr<Communicator>> GlooCommunicator::make(const CommunicatorOptions& options,
                                                             const GlooSite& site) {
    Result<GlooMeeting> meeting =
        GlooMeeting::hold(options, site.folder, site.worldFolder, site.device);
    if (!meeting)
        return meeting.error();
    const GlooRendezvous rendezvous = meeting->rendezvous;
    const std::vector<std::string> published = meeting->publishedKeys;
    auto communicator = std::make_unique<GlooCommunicator>(options, std::move(*meeting), site);
    // All have connected once all have come here: what was published has served.
    if (Result<void> all = communicator->barrier(kConnectedTag); !all)
        return all.error();
    for (const std::string& key : published)
        rendezvous.removePublished(key);
    return std::unique_ptr<Communicator>(std::move(communicator));
}

// ---- Collectives -----------------------------------------------------------------------------

Result<void> GlooCommunicator::allReduceSum(void* data, std::size_t count, DType type,
                                            std::uint32_t tag) {
    return sum(data, {CollectiveKind::AllReduce, tag, type, 0, count});
}

Result<void> GlooCommunicator::reduceScatterSum(void* data, std::size_t count, DType type,
                                                std::uint32_t tag) {
    TRAINYARD_CHECK(count % static_cast<std::size_t>(m_options.worldSize) == 0);
    return sum(data, {CollectiveKind::ReduceScatter, tag, type, 0, count});
}

Result<void> GlooCommunicator::sum(void* data, const CollectiveCall& call) {
    return run(call, data, [&](const CollectiveCall& sent) {
        if (sent.bytes() <= kInlineBytes)
            sumInline(data, sent);
        else
            m_blocks.sum(static_cast<std::byte*>(data), sent, m_sequence);
    });
}

Result<void> GlooCommunicator::allGather(void* data, std::size_t bytes, std::uint32_t tag) {
    const auto ranks = static_cast<std::size_t>(m_options.worldSize);
    TRAINYARD_CHECK(bytes % ranks == 0);
    return run({CollectiveKind::AllGather, tag, DType::Fp32, 0, bytes}, data,
               [&](const CollectiveCall&) {
                   auto* const first = static_cast<std::byte*>(data);
                   if (bytes <= kInlineBytes)
                       gatherInline(first, bytes / ranks);
                   else
                       gatherDirectly(first, bytes / ranks);
               });
}

Result<void> GlooCommunicator::broadcast(void* data, std::size_t bytes, int root,
                                         std::uint32_t tag) {
    TRAINYARD_CHECK_MSG(root >= 0 && root < m_options.worldSize,
                        describePair(root, m_options.worldSize));
    const CollectiveCall call{CollectiveKind::Broadcast, tag, DType::Fp32, m_options.nameOf(root),
                              bytes};
    return run(call, data, [&](const CollectiveCall&) {
        const bool sends = m_options.rank == root;
        if (bytes <= kInlineBytes && !sends && bytes > 0)
            std::memcpy(data, receivedFrom(root).data.data(), bytes);
        else if (bytes > kInlineBytes && sends)
            sendToAll(static_cast<std::byte*>(data), bytes);
        else if (bytes > kInlineBytes)
            receiveFrom(root, static_cast<std::byte*>(data), bytes);
    });
}

Result<void> GlooCommunicator::barrier(std::uint32_t tag) {
    return meet({CollectiveKind::Barrier, tag});
}

/// The envelopes first, then `body(call)`.
template <class Body>
Result<void> GlooCommunicator::run(const CollectiveCall& call, const void* data, Body body) {
    CollectiveCall complete = call;
    complete.memoryHash = m_memoryHash;
    const auto during = [&] {
        return complete.text();
    };
    Result<void> result = m_link.run(m_options.deadline, during, [&]() -> Result<void> {
        if (Result<void> met = exchangeEnvelopes(complete, data); !met)
            return met;
        body(complete);
        m_link.forEachPeer([&](int peer) {
            m_link.waitFor(*m_envelopeSends[parity()][static_cast<std::size_t>(peer)],
                           Direction::Send, peer);
        });
        return {};
    });
    ++m_sequence;
    return result;
}

/// A peer that has done its last collective may be gone by now: that matters only if another
/// follows.
void GlooCommunicator::postEnvelopeReceives(std::uint64_t sequence) {
    m_link.forEachPeer([&](int peer) {
        try {
            m_envelopeReceives[sequence & 1][static_cast<std::size_t>(peer)]->recv(
                peer, GlooLink::slotOf(sequence, Lane::Envelope));
        } catch (const std::exception&) {
            m_gone = std::current_exception();
            m_gonePeer = peer;
        }
    });
}

void GlooCommunicator::sendEnvelopes(const CollectiveCall& call, const void* data) {
    Envelope& mine = m_sent[parity()];
    mine.call = call;
    if (call.bytes() > 0 && call.bytes() <= kInlineBytes)
        std::memcpy(mine.data.data(), data, call.bytes());
    m_link.forEachPeer([&](int peer) {
        m_link.expect(peer);
        m_envelopeSends[parity()][static_cast<std::size_t>(peer)]->send(
            peer, GlooLink::slotOf(m_sequence, Lane::Envelope));
    });
}

Result<void> GlooCommunicator::exchangeEnvelopes(const CollectiveCall& call, const void* data) {
    if (m_gone) {
        m_link.expect(m_gonePeer);
        std::rethrow_exception(m_gone);
    }
    sendEnvelopes(call, data);
    for (int peer = 0; peer < m_options.worldSize; ++peer) {
        if (peer == m_options.rank)
            continue;
        m_link.waitFor(*m_envelopeReceives[parity()][static_cast<std::size_t>(peer)],
                       Direction::Receive, peer);
        const CollectiveCall& other = receivedFrom(peer).call;
        if (other.kind == CollectiveKind::Leave)
            return m_link.peerHasLeft(peer, call.text());
        if (!(other == call)) {
            const Error error =
                callsDiffer(m_options.nameOf(m_options.rank), call, m_options.nameOf(peer), other);
            return m_link.breakUp(error, error.sentence());
        }
    }
    // The next collective's envelopes may come from now on: a receive that is already posted saves
    // its sender a round trip.
    postEnvelopeReceives(m_sequence + 1);
    return {};
}

/// Closing at once could drop what is still on its way to slower ranks: waits until they have taken
/// all messages and done their last collective, but not for long: a rank may leave because it has
/// failed. Ranks that meet in a barrier after their last message lose none.
void GlooCommunicator::sayGoodbye() {
    const auto attempt = [&](milliseconds patience, const auto& body) {
        const auto during = [] {
            return CollectiveCall{CollectiveKind::Leave}.text();
        };
        (void)m_link.run(patience, during, [&]() -> Result<void> {
            try {
                body();
            } catch (const std::exception&) {
                // The others will find out by themselves what has happened to the group.
            }
            return {};
        });
    };
    // Nobody comes any more where another group of this rank has given up: its note says so.
    if (m_link.isBroken() || m_gone || m_link.rendezvous().noteOf(m_options.rank))
        return;
    const milliseconds patience = std::min(kGoodbye, m_options.deadline);
    attempt(patience, [&] { m_channels.finish(); });
    attempt(patience, [&] {
        sendEnvelopes({CollectiveKind::Leave, 0}, nullptr);
        m_link.forEachPeer([&](int peer) {
            const auto at = static_cast<std::size_t>(peer);
            m_link.waitFor(*m_envelopeReceives[parity()][at], Direction::Receive, peer);
            m_link.waitFor(*m_envelopeSends[parity()][at], Direction::Send, peer);
        });
    });
}

void GlooCommunicator::sumInline(void* data, const CollectiveCall& call) {
    if (call.count == 0)
        return;
    std::vector<const void*> addends;
    for (int rank = 0; rank < m_options.worldSize; ++rank)
        addends.push_back(rank == m_options.rank ? m_sent[parity()].data.data()
                                                 : receivedFrom(rank).data.data());
    sumTo(data, addends, call.count, call.type);
}

void GlooCommunicator::gatherInline(std::byte* data, std::size_t slice) {
    m_link.forEachPeer([&](int peer) {
        const std::size_t at = slice * static_cast<std::size_t>(peer);
        if (slice > 0)
            std::memcpy(data + at, receivedFrom(peer).data.data() + at, slice);
    });
}

void GlooCommunicator::gatherDirectly(std::byte* data, std::size_t slice) {
    const std::uint64_t slot = GlooLink::slotOf(m_sequence, Lane::Gather);
    const auto ranks = static_cast<std::size_t>(m_options.worldSize);
    const auto begin = [&](int rank) {
        return slice * static_cast<std::size_t>(rank);
    };
    std::vector<GlooBuffer> sends(ranks), receives(ranks);
    m_link.forEachPeer([&](int peer) {
        const auto at = static_cast<std::size_t>(peer);
        m_link.expect(peer);
        receives[at] = m_link.bufferFor(data, slice * ranks);
        receives[at]->recv(peer, slot, begin(peer), slice);
        sends[at] = m_link.bufferFor(data, slice * ranks);
        sends[at]->send(peer, slot, begin(m_options.rank), slice);
    });
    m_link.forEachPeer([&](int peer) {
        const auto at = static_cast<std::size_t>(peer);
        m_link.waitFor(*receives[at], Direction::Receive, peer);
        m_link.waitFor(*sends[at], Direction::Send, peer);
    });
}

void GlooCommunicator::sendToAll(std::byte* data, std::size_t bytes) {
    std::vector<GlooBuffer> sends(static_cast<std::size_t>(m_options.worldSize));
    m_link.forEachPeer([&](int peer) {
        m_link.expect(peer);
        GlooBuffer& send = sends[static_cast<std::size_t>(peer)];
        send = m_link.bufferFor(data, bytes);
        send->send(peer, GlooLink::slotOf(m_sequence, Lane::Broadcast));
    });
    m_link.forEachPeer([&](int peer) {
        m_link.waitFor(*sends[static_cast<std::size_t>(peer)], Direction::Send, peer);
    });
}

void GlooCommunicator::receiveFrom(int root, std::byte* data, std::size_t bytes) {
    m_link.expect(root);
    const GlooBuffer receive = m_link.bufferFor(data, bytes);
    receive->recv(root, GlooLink::slotOf(m_sequence, Lane::Broadcast));
    m_link.waitFor(*receive, Direction::Receive, root);
}

// ---- Groups and messages ---------------------------------------------------------------------

Result<std::unique_ptr<Communicator>>
GlooCommunicator::split(const std::vector<std::vector<int>>& groups, std::string name) {
    if (const Result<void> all = meet(splitCall(groups, name, m_options, m_groupNames)); !all)
        return all.error();
    const GroupPlace place = placeIn(groups, m_options);
    if (place.isAlone())
        return makeSingleCommunicator();
    const Result<GlooSite> site = m_site.ofGroup(name, place.group);
    return site ? make(place.options, *site) : site.error();
}

Result<void> GlooCommunicator::openChannels(std::span<const Channel> channels) {
    TRAINYARD_CHECK(!std::exchange(m_channelsAreOpen, true));
    const CollectiveCall call = openingCall(channels, m_options);
    if (Result<void> all = meet(call); !all)
        return all;
    return m_link.run(
        m_options.deadline, [&] { return call.text(); },
        [&]() -> Result<void> {
            Result<void> opened = m_channels.open(channels);
            return opened ? opened : m_link.breakUp(opened.error(), opened.error().sentence());
        });
}

Result<void> GlooCommunicator::send(const void* data, std::size_t bytes, int to,
                                    std::uint32_t tag) {
    const MessageHead head{bytes, tag};
    return m_link.run(
        m_options.deadline,
        [&] { return head.text(m_options.nameOf(m_options.rank), m_options.nameOf(to)); },
        [&]() -> Result<void> {
            m_channels.send(data, head, to);
            return {};
        });
}

Result<void> GlooCommunicator::receive(void* data, std::size_t bytes, int from, std::uint32_t tag) {
    const MessageHead head{bytes, tag};
    return m_link.run(
        m_options.deadline,
        [&] { return head.text(m_options.nameOf(from), m_options.nameOf(m_options.rank)); },
        [&] { return m_channels.receive(data, head, from); });
}

} // namespace

Result<std::unique_ptr<Communicator>> makeGlooGroup(const CommunicatorOptions& options,
                                                    const GlooSite& site) {
    return GlooCommunicator::make(options, site);
}

Result<std::unique_ptr<Communicator>> makeGlooCommunicator(const CommunicatorOptions& options,
                                                           const std::string& rendezvousFolder,
                                                           const std::string& address) {
    TRAINYARD_CHECK_MSG(options.rank >= 0 && options.rank < options.worldSize,
                        describePair(options.rank, options.worldSize));
    if (options.worldSize == 1)
        return makeSingleCommunicator();
    const Result<GlooSite> site = GlooSite::open(rendezvousFolder, address);
    return site ? makeGlooGroup(options, *site) : site.error();
}

} // namespace trainyard::engine
