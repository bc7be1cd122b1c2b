// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives over TCP, on Gloo's point-to-point messages (never its older algorithms, which spoil
// the same connections). Every collective begins with one message of fixed size from each rank to
// each: it carries the call, so that a mismatch is found before anything of another size moves, and
// small data. Larger sums: each rank owns a slice of a block, gets it from all, adds in rank order,
// sends the sum to all. So the result has the same bits on all ranks, in all runs and over shared
// memory.
//
// A thread of its own watches the status page and the processes of this host while a collective
// waits.
#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"
#include "engine/comm/gloo_rendezvous.h"
#include "engine/comm/private_memory.h"
#include "engine/comm/sums.h"
#include "engine/runtime/rank_protocol.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

namespace trainyard::engine {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using GlooBuffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

/// Data up to this size travels with the call itself.
constexpr std::size_t kInlineBytes = 1024;
/// Of one rank's slice in one block. Smaller ones are slower: Gloo's thread and ours contend for
/// each message.
constexpr std::size_t kSliceBytes = 1024 * 1024;
/// Blocks on their way at once.
constexpr std::size_t kWindow = 3;
constexpr milliseconds kWatchInterval{20};
constexpr int kIntervalsBetweenProcessChecks = 5;
/// Longest wait for slower ranks at the end.
constexpr milliseconds kGoodbye{2000};
/// After a broken connection: time for the kernel to show a process as dead, or for a note to
/// appear.
constexpr milliseconds kTimeToLearnCause{250};

struct Envelope {
    CollectiveCall call;
    std::array<std::byte, kInlineBytes> data;
};

/// Carries an Error through Gloo's code.
class StoreFailure : public std::runtime_error {
public:
    explicit StoreFailure(Error error)
        : std::runtime_error(error.sentence()), m_error(std::move(error)) {}
    const Error& error() const { return m_error; }

private:
    Error m_error;
};

/// The watching thread has broken off a wait.
class Interrupted : public std::exception {};

/// Gloo's key-value store on the files of the rendezvous, with its deadline and its sentences.
class RendezvousStore final : public gloo::rendezvous::Store {
public:
    RendezvousStore(const GlooRendezvous& rendezvous, Clock::time_point end)
        : m_rendezvous(rendezvous), m_end(end) {}

    void set(const std::string& key, const std::vector<char>& data) override {
        if (const Result<void> published = m_rendezvous.publish(key, data); !published)
            throw StoreFailure(published.error());
        m_published.push_back(key);
    }
    std::vector<char> get(const std::string& key) override {
        Result<std::vector<char>> value = m_rendezvous.await(key, m_end);
        if (!value)
            throw StoreFailure(value.error());
        return std::move(*value);
    }
    void wait(const std::vector<std::string>& keys) override {
        for (const std::string& key : keys)
            get(key);
    }
    void wait(const std::vector<std::string>& keys, const milliseconds&) override { wait(keys); }

    const std::vector<std::string>& published() const { return m_published; }

private:
    const GlooRendezvous& m_rendezvous;
    const Clock::time_point m_end;
    std::vector<std::string> m_published;
};

class GlooCommunicator final : public Communicator {
public:
    GlooCommunicator(const CommunicatorOptions& options, GlooRendezvous rendezvous,
                     std::shared_ptr<gloo::rendezvous::Context> context);
    ~GlooCommunicator() override;

    int rank() const override { return m_options.rank; }
    int worldSize() const override { return m_options.worldSize; }
    double secondsInside() const override { return m_secondsInside; }

    Result<std::span<std::byte>> allocateReducible(std::size_t bytes) override {
        m_memoryHash = mixMemoryHash(m_memoryHash, bytes);
        return m_memory.allocate(bytes);
    }
    Result<void> allReduceSum(void* data, std::size_t count, DType type,
                              std::uint32_t tag) override;
    Result<void> broadcast(void* data, std::size_t bytes, int root, std::uint32_t tag) override;
    Result<void> barrier(std::uint32_t tag) override;

private:
    enum class Lane : std::uint64_t { Envelope, Scatter, Gather, Broadcast };
    enum class Direction { Receive, Send };
    struct Fault {
        FaultKind kind;
        int culprit = -1;
    };
    /// Half-open range of bytes.
    struct Slice {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::size_t size() const { return end - begin; }
    };

    /// Message tag: no two messages between two ranks that are on their way at once share it.
    static std::uint64_t slotOf(std::uint64_t sequence, Lane lane, std::size_t block = 0) {
        return (sequence << 22 | block) << 2 | static_cast<std::uint64_t>(lane);
    }
    std::size_t parity() const { return m_sequence & 1; }
    template <class Function>
    void forEachPeer(Function function) const;

    template <class Body>
    Result<void> run(const CollectiveCall& call, Body body);
    Result<void> exchangeEnvelopes(const CollectiveCall& call, const void* data);
    void sendEnvelopes(const CollectiveCall& call, const void* data);
    void sayGoodbye();
    void postEnvelopeReceives(std::uint64_t sequence);
    void sumInline(void* data, const CollectiveCall& call);
    void sumBlocks(std::byte* data, const CollectiveCall& call);
    void sumOwnSlice(std::byte* slice, std::size_t bytes, std::size_t scratchAt, DType type);
    Slice sliceOf(const CollectiveCall& call, std::size_t block, int rank) const;
    void sendToAll(std::byte* data, std::size_t bytes);
    void receiveFrom(int root, std::byte* data, std::size_t bytes);
    void waitFor(gloo::transport::UnboundBuffer& buffer, Direction direction, int peer);

    void watch();
    std::optional<Fault> lookAround(bool lookAtProcesses) const;
    Error explain(const CollectiveCall& call, const std::string& transportText);
    Error breakUp(const Fault& fault, const CollectiveCall& call);
    Error breakUp(Error error, const std::string& note);

    const CommunicatorOptions m_options;
    GlooRendezvous m_rendezvous;
    std::shared_ptr<gloo::rendezvous::Context> m_context;
    PrivateMemory m_memory;
    std::uint64_t m_memoryHash = 0;
    double m_secondsInside = 0;
    std::optional<Error> m_broken; ///< the first error is the last word

    std::uint64_t m_sequence = 0; ///< of the collective
    Clock::time_point m_end;      ///< of the collective
    int m_waitingFor = -1;        ///< peer
    std::exception_ptr m_gone;    ///< of a peer whose connection closed between two collectives
    int m_gonePeer = -1;
    std::vector<std::byte> m_scratch; ///< {kWindow, worldSize, slice}

    /// By parity of the sequence, the received ones also by rank: a peer may be one collective
    /// ahead.
    std::array<Envelope, 2> m_sent = {};
    std::array<std::vector<Envelope>, 2> m_received;
    std::array<std::vector<GlooBuffer>, 2> m_envelopeSends;
    std::array<std::vector<GlooBuffer>, 2> m_envelopeReceives;

    std::mutex m_watchMutex; ///< guards what follows
    std::condition_variable m_watchWake;
    bool m_watchEnds = false;
    bool m_inside = false;
    gloo::transport::UnboundBuffer* m_waitedBuffer = nullptr;
    std::optional<Fault> m_interruption;
    std::thread m_watcher;
};

template <class Function>
void GlooCommunicator::forEachPeer(Function function) const {
    // Each rank begins with its right neighbour, so that not all talk to rank 0 at once.
    for (int step = 1; step < m_options.worldSize; ++step)
        function((m_options.rank + step) % m_options.worldSize);
}

GlooCommunicator::GlooCommunicator(const CommunicatorOptions& options, GlooRendezvous rendezvous,
                                   std::shared_ptr<gloo::rendezvous::Context> context)
    : m_options(options), m_rendezvous(std::move(rendezvous)), m_context(std::move(context)) {
    const auto ranks = static_cast<std::size_t>(options.worldSize);
    for (std::size_t half = 0; half < 2; ++half) {
        m_received[half].resize(ranks);
        m_envelopeSends[half].resize(ranks);
        m_envelopeReceives[half].resize(ranks);
        forEachPeer([&](int peer) {
            const auto at = static_cast<std::size_t>(peer);
            m_envelopeSends[half][at] =
                m_context->createUnboundBuffer(&m_sent[half], sizeof(Envelope));
            m_envelopeReceives[half][at] =
                m_context->createUnboundBuffer(&m_received[half][at], sizeof(Envelope));
        });
    }
    postEnvelopeReceives(0);
    m_watcher = std::thread([this] { watch(); });
}

GlooCommunicator::~GlooCommunicator() {
    sayGoodbye();
    {
        const std::lock_guard lock(m_watchMutex);
        m_watchEnds = true;
    }
    m_watchWake.notify_all();
    m_watcher.join();
    m_rendezvous.leave();
}

// ---- Collectives -----------------------------------------------------------------------------

Result<void> GlooCommunicator::allReduceSum(void* data, std::size_t count, DType type,
                                            std::uint32_t tag) {
    CollectiveCall call{CollectiveKind::AllReduce, tag, type, 0, count};
    return run(call, [&](const CollectiveCall& sent) -> Result<void> {
        Result<void> met = exchangeEnvelopes(sent, data);
        if (met && sent.bytes() <= kInlineBytes)
            sumInline(data, sent);
        else if (met)
            sumBlocks(static_cast<std::byte*>(data), sent);
        return met;
    });
}

Result<void> GlooCommunicator::broadcast(void* data, std::size_t bytes, int root,
                                         std::uint32_t tag) {
    TRAINYARD_CHECK_MSG(root >= 0 && root < m_options.worldSize,
                        describePair(root, m_options.worldSize));
    CollectiveCall call{CollectiveKind::Broadcast, tag, DType::Fp32, root, bytes};
    return run(call, [&](const CollectiveCall& sent) -> Result<void> {
        Result<void> met = exchangeEnvelopes(sent, data);
        if (!met || bytes == 0)
            return met;
        if (bytes <= kInlineBytes && m_options.rank != root)
            std::memcpy(data, m_received[parity()][static_cast<std::size_t>(root)].data.data(),
                        bytes);
        else if (bytes > kInlineBytes && m_options.rank == root)
            sendToAll(static_cast<std::byte*>(data), bytes);
        else if (bytes > kInlineBytes)
            receiveFrom(root, static_cast<std::byte*>(data), bytes);
        return met;
    });
}

Result<void> GlooCommunicator::barrier(std::uint32_t tag) {
    return run({CollectiveKind::Barrier, tag},
               [&](const CollectiveCall& sent) { return exchangeEnvelopes(sent, nullptr); });
}

/// Runs `body` unless the group is broken; any error closes the connections for good.
template <class Body>
Result<void> GlooCommunicator::run(const CollectiveCall& call, Body body) {
    if (m_broken)
        return *m_broken;
    const Clock::time_point start = Clock::now();
    m_end = start + m_options.deadline;
    CollectiveCall complete = call;
    complete.memoryHash = m_memoryHash;
    {
        const std::lock_guard lock(m_watchMutex);
        m_inside = true;
    }
    Result<void> result;
    try {
        result = body(complete);
        if (result)
            forEachPeer([&](int peer) {
                waitFor(*m_envelopeSends[parity()][static_cast<std::size_t>(peer)], Direction::Send,
                        peer);
            });
    } catch (const BrokenInvariant&) {
        throw;
    } catch (const std::exception& failure) {
        result = explain(complete, failure.what());
    }
    {
        const std::lock_guard lock(m_watchMutex);
        m_inside = false;
    }
    ++m_sequence;
    m_secondsInside += std::chrono::duration<double>(Clock::now() - start).count();
    return result;
}

/// A peer that has done its last collective may be gone by now: that matters only if another
/// follows.
void GlooCommunicator::postEnvelopeReceives(std::uint64_t sequence) {
    forEachPeer([&](int peer) {
        try {
            m_envelopeReceives[sequence & 1][static_cast<std::size_t>(peer)]->recv(
                peer, slotOf(sequence, Lane::Envelope));
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
    forEachPeer([&](int peer) {
        m_waitingFor = peer;
        m_envelopeSends[parity()][static_cast<std::size_t>(peer)]->send(
            peer, slotOf(m_sequence, Lane::Envelope));
    });
}

Result<void> GlooCommunicator::exchangeEnvelopes(const CollectiveCall& call, const void* data) {
    if (m_gone) {
        m_waitingFor = m_gonePeer;
        std::rethrow_exception(m_gone);
    }
    sendEnvelopes(call, data);
    for (int peer = 0; peer < m_options.worldSize; ++peer) {
        if (peer == m_options.rank)
            continue;
        waitFor(*m_envelopeReceives[parity()][static_cast<std::size_t>(peer)], Direction::Receive,
                peer);
        const CollectiveCall& other = m_received[parity()][static_cast<std::size_t>(peer)].call;
        if (other.kind == CollectiveKind::Leave)
            return breakUp({FaultKind::Left, peer}, call);
        if (!(other == call)) {
            const Error error = callsDiffer(m_options.rank, call, peer, other);
            return breakUp(error, error.sentence());
        }
    }
    // The next collective's envelopes may come from now on: a receive that is already posted saves
    // its sender a round trip.
    postEnvelopeReceives(m_sequence + 1);
    return {};
}

/// Closing at once could drop what is still on its way to slower ranks: waits until all have done
/// their last collective, but not for long.
void GlooCommunicator::sayGoodbye() {
    if (m_broken || m_gone)
        return;
    m_end = Clock::now() + std::min(kGoodbye, m_options.deadline);
    {
        const std::lock_guard lock(m_watchMutex);
        m_inside = true;
    }
    try {
        sendEnvelopes({CollectiveKind::Leave, 0}, nullptr);
        forEachPeer([&](int peer) {
            const auto at = static_cast<std::size_t>(peer);
            waitFor(*m_envelopeReceives[parity()][at], Direction::Receive, peer);
            waitFor(*m_envelopeSends[parity()][at], Direction::Send, peer);
        });
    } catch (const std::exception&) {
        // The others will find out by themselves what has happened to the group.
    }
}

void GlooCommunicator::sumInline(void* data, const CollectiveCall& call) {
    if (call.count == 0)
        return;
    std::vector<const void*> addends;
    for (int rank = 0; rank < m_options.worldSize; ++rank)
        addends.push_back(rank == m_options.rank
                              ? m_sent[parity()].data.data()
                              : m_received[parity()][static_cast<std::size_t>(rank)].data.data());
    sumTo(data, addends, call.count, call.type);
}

GlooCommunicator::Slice GlooCommunicator::sliceOf(const CollectiveCall& call, std::size_t block,
                                                  int rank) const {
    const auto ranks = static_cast<std::size_t>(m_options.worldSize);
    const std::size_t blockBytes = ranks * kSliceBytes;
    const std::size_t blockBegin = block * blockBytes;
    const std::size_t blockEnd = std::min(call.bytes(), blockBegin + blockBytes);
    const std::size_t elementBytes = bytesOf(call.type);
    const std::size_t elements = (blockEnd - blockBegin) / elementBytes;
    const std::size_t share = (elements + ranks - 1) / ranks * elementBytes;
    const auto at = static_cast<std::size_t>(rank);
    return {std::min(blockEnd, blockBegin + share * at),
            std::min(blockEnd, blockBegin + share * (at + 1))};
}

void GlooCommunicator::sumBlocks(std::byte* data, const CollectiveCall& call) {
    const auto ranks = static_cast<std::size_t>(m_options.worldSize);
    const std::size_t blocks = (call.bytes() + ranks * kSliceBytes - 1) / (ranks * kSliceBytes);
    m_scratch.resize(std::max(m_scratch.size(), std::min(kWindow, blocks) * ranks * kSliceBytes));
    // One buffer per peer and direction: a wait is then for a known peer.
    std::vector<GlooBuffer> sends(ranks), scatters(ranks), gathers(ranks);
    std::vector<std::size_t> sendCount(ranks), gatherCount(ranks);
    forEachPeer([&](int peer) {
        const auto at = static_cast<std::size_t>(peer);
        sends[at] = m_context->createUnboundBuffer(data, call.bytes());
        gathers[at] = m_context->createUnboundBuffer(data, call.bytes());
        scatters[at] = m_context->createUnboundBuffer(m_scratch.data(), m_scratch.size());
    });
    const auto scratchOf = [&](std::size_t block, int rank) {
        return (block % kWindow * ranks + static_cast<std::size_t>(rank)) * kSliceBytes;
    };
    const auto startBlock = [&](std::size_t block) {
        const std::size_t mine = sliceOf(call, block, m_options.rank).size();
        forEachPeer([&](int peer) {
            const auto at = static_cast<std::size_t>(peer);
            m_waitingFor = peer;
            if (mine > 0)
                scatters[at]->recv(peer, slotOf(m_sequence, Lane::Scatter, block),
                                   scratchOf(block, peer), mine);
            const Slice theirs = sliceOf(call, block, peer);
            if (theirs.size() > 0) {
                sends[at]->send(peer, slotOf(m_sequence, Lane::Scatter, block), theirs.begin,
                                theirs.size());
                ++sendCount[at];
                gathers[at]->recv(peer, slotOf(m_sequence, Lane::Gather, block), theirs.begin,
                                  theirs.size());
                ++gatherCount[at];
            }
        });
    };
    for (std::size_t block = 0; block < std::min(kWindow, blocks); ++block)
        startBlock(block);
    for (std::size_t block = 0; block < blocks; ++block) {
        const Slice mine = sliceOf(call, block, m_options.rank);
        if (mine.size() > 0) {
            forEachPeer([&](int peer) {
                waitFor(*scatters[static_cast<std::size_t>(peer)], Direction::Receive, peer);
            });
            sumOwnSlice(data + mine.begin, mine.size(), scratchOf(block, 0), call.type);
            forEachPeer([&](int peer) {
                const auto at = static_cast<std::size_t>(peer);
                m_waitingFor = peer;
                sends[at]->send(peer, slotOf(m_sequence, Lane::Gather, block), mine.begin,
                                mine.size());
                ++sendCount[at];
            });
        }
        if (block + kWindow < blocks)
            startBlock(block + kWindow);
    }
    forEachPeer([&](int peer) {
        const auto at = static_cast<std::size_t>(peer);
        for (; gatherCount[at] > 0; --gatherCount[at])
            waitFor(*gathers[at], Direction::Receive, peer);
        for (; sendCount[at] > 0; --sendCount[at])
            waitFor(*sends[at], Direction::Send, peer);
    });
}

/// `scratchAt`: rank 0's place in the scratch memory; the other ranks' follow.
void GlooCommunicator::sumOwnSlice(std::byte* slice, std::size_t bytes, std::size_t scratchAt,
                                   DType type) {
    const std::size_t count = bytes / bytesOf(type);
    const auto addend = [&](int rank) -> const std::byte* {
        if (rank == m_options.rank)
            return slice;
        return m_scratch.data() + scratchAt + static_cast<std::size_t>(rank) * kSliceBytes;
    };
    std::byte* const sum = m_options.rank == 0 ? slice : m_scratch.data() + scratchAt;
    for (int rank = 1; rank < m_options.worldSize; ++rank)
        addInto(sum, addend(rank), count, type);
    if (sum != slice)
        std::memcpy(slice, sum, bytes);
}

void GlooCommunicator::sendToAll(std::byte* data, std::size_t bytes) {
    std::vector<GlooBuffer> sends(static_cast<std::size_t>(m_options.worldSize));
    forEachPeer([&](int peer) {
        m_waitingFor = peer;
        GlooBuffer& send = sends[static_cast<std::size_t>(peer)];
        send = m_context->createUnboundBuffer(data, bytes);
        send->send(peer, slotOf(m_sequence, Lane::Broadcast));
    });
    forEachPeer(
        [&](int peer) { waitFor(*sends[static_cast<std::size_t>(peer)], Direction::Send, peer); });
}

void GlooCommunicator::receiveFrom(int root, std::byte* data, std::size_t bytes) {
    m_waitingFor = root;
    const GlooBuffer receive = m_context->createUnboundBuffer(data, bytes);
    receive->recv(root, slotOf(m_sequence, Lane::Broadcast));
    waitFor(*receive, Direction::Receive, root);
}

// ---- Waiting ---------------------------------------------------------------------------------

void GlooCommunicator::waitFor(gloo::transport::UnboundBuffer& buffer, Direction direction,
                               int peer) {
    m_waitingFor = peer;
    {
        const std::lock_guard lock(m_watchMutex);
        if (m_interruption)
            throw Interrupted();
        m_waitedBuffer = &buffer;
    }
    // What is left of the whole collective's time: Gloo's own limit would begin anew with each
    // wait.
    const auto left =
        std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(m_end - Clock::now()));
    bool done = false;
    std::exception_ptr failure;
    try {
        done = direction == Direction::Receive ? buffer.waitRecv(left) : buffer.waitSend(left);
    } catch (...) {
        failure = std::current_exception();
    }
    {
        const std::lock_guard lock(m_watchMutex);
        m_waitedBuffer = nullptr;
    }
    if (failure)
        std::rethrow_exception(failure);
    if (!done)
        throw Interrupted();
}

void GlooCommunicator::watch() {
    std::unique_lock lock(m_watchMutex);
    for (int interval = 0;; ++interval) {
        m_watchWake.wait_for(lock, kWatchInterval, [&] { return m_watchEnds; });
        if (m_watchEnds)
            return;
        if (!m_inside || m_interruption)
            continue;
        lock.unlock();
        const std::optional<Fault> fault =
            lookAround(interval % kIntervalsBetweenProcessChecks == 0);
        lock.lock();
        if (!fault || !m_inside)
            continue;
        m_interruption = fault;
        if (m_waitedBuffer) {
            m_waitedBuffer->abortWaitRecv();
            m_waitedBuffer->abortWaitSend();
        }
    }
}

std::optional<GlooCommunicator::Fault> GlooCommunicator::lookAround(bool lookAtProcesses) const {
    if (m_options.status && m_options.status->header().abort.load() != 0)
        return Fault{FaultKind::Aborted, -1};
    if (!lookAtProcesses)
        return std::nullopt;
    // A rank that gave up and then ended is a victim: its note tells more than its death. One that
    // has left in order may end while others still finish what it has sent them.
    for (int rank = 0; rank < m_options.worldSize; ++rank)
        if (rank != m_options.rank && m_rendezvous.processState(rank) == ProcessState::Dead &&
            !m_rendezvous.noteOf(rank) && !m_rendezvous.hasLeft(rank))
            return Fault{FaultKind::Died, rank};
    return std::nullopt;
}

// ---- Failing ---------------------------------------------------------------------------------

/// The connection to a peer broke, time ran out or the watcher interrupted: finds out why, tells
/// the others and closes all connections.
Error GlooCommunicator::explain(const CollectiveCall& call, const std::string& transportText) {
    {
        const std::lock_guard lock(m_watchMutex);
        if (m_interruption)
            return breakUp(*m_interruption, call);
    }
    const bool late = Clock::now() >= m_end;
    const Clock::time_point patienceEnd = late ? Clock::now() : Clock::now() + kTimeToLearnCause;
    do {
        if (const std::optional<Fault> fault = lookAround(true))
            return breakUp(*fault, call);
        for (int rank = 0; rank < m_options.worldSize; ++rank)
            if (const std::optional<std::string> note = m_rendezvous.noteOf(rank);
                note && rank != m_options.rank)
                return breakUp(
                    Message("Rank %1 has ended the group: %2", {std::to_string(rank), *note}),
                    *note);
        if (m_rendezvous.hasLeft(m_waitingFor))
            return breakUp({FaultKind::Left, m_waitingFor}, call);
        if (late)
            for (int rank = 0; rank < m_options.worldSize; ++rank)
                if (m_rendezvous.processState(rank) == ProcessState::Stopped)
                    return breakUp({FaultKind::Stopped, rank}, call);
        if (!late)
            std::this_thread::sleep_for(milliseconds(5));
    } while (Clock::now() < patienceEnd);
    if (late)
        return breakUp({FaultKind::Missing, m_waitingFor}, call);
    const RankCard& peer = m_rendezvous.card(m_waitingFor);
    const Error error(Message("The connection to rank %1 (process %2 on %3) broke at %4: %5",
                              {std::to_string(m_waitingFor), std::to_string(peer.process.pid),
                               peer.host, call.text(), transportText}));
    return breakUp(error, error.sentence());
}

Error GlooCommunicator::breakUp(const Fault& fault, const CollectiveCall& call) {
    const std::int64_t pid = fault.culprit >= 0 ? m_rendezvous.card(fault.culprit).process.pid : 0;
    const Error error = faultError(fault.kind, fault.culprit, pid, call.text(), m_options.deadline);
    return breakUp(error, error.sentence());
}

/// `note`: the cause, for the others; left before they can notice that the connections are closed.
Error GlooCommunicator::breakUp(Error error, const std::string& note) {
    m_rendezvous.leaveNote(note);
    m_context->closeConnections();
    m_broken = error;
    return error;
}

/// A send to a rank that is gone would otherwise end this process.
void ignoreBrokenPipes() {
    struct sigaction action = {};
    if (::sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL)
        ::signal(SIGPIPE, SIG_IGN);
}

} // namespace

Result<std::unique_ptr<Communicator>> makeGlooCommunicator(const CommunicatorOptions& options,
                                                           const std::string& rendezvousFolder,
                                                           const std::string& address) {
    TRAINYARD_CHECK_MSG(options.rank >= 0 && options.rank < options.worldSize,
                        describePair(options.rank, options.worldSize));
    if (options.worldSize == 1)
        return makeSingleCommunicator();
    ignoreBrokenPipes();
    const Clock::time_point end = Clock::now() + options.deadline;
    std::shared_ptr<gloo::transport::Device> device;
    try {
        device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(address.c_str()));
    } catch (const std::exception& failure) {
        return Error(Message("This machine cannot listen on the address \"%1\": %2",
                             {address, failure.what()}),
                     {}, Message("Choose an address of one of its network interfaces."));
    }
    Result<GlooRendezvous> rendezvous = GlooRendezvous::meet(options, rendezvousFolder, end);
    if (!rendezvous)
        return rendezvous.error();
    auto context = std::make_shared<gloo::rendezvous::Context>(options.rank, options.worldSize);
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    context->setTimeout(std::max(milliseconds(1), left));
    RendezvousStore store(*rendezvous, end);
    try {
        context->connectFullMesh(store, device);
    } catch (const StoreFailure& failure) {
        rendezvous->leaveNote(failure.error().sentence());
        return failure.error();
    } catch (const std::exception& failure) {
        const Error error(
            Message("Rank %1 cannot connect to the other ranks from the address \"%2\": %3",
                    {std::to_string(options.rank), address, failure.what()}));
        rendezvous->leaveNote(error.sentence());
        return error;
    }
    const GlooRendezvous copy = *rendezvous;
    auto communicator =
        std::make_unique<GlooCommunicator>(options, std::move(*rendezvous), context);
    // All have connected once all have come here: what was published has served.
    constexpr std::uint32_t kConnectedTag = 0xFFFFFFFF;
    if (Result<void> all = communicator->barrier(kConnectedTag); !all)
        return all.error();
    for (const std::string& key : store.published())
        copy.removePublished(key);
    return std::unique_ptr<Communicator>(std::move(communicator));
}

} // namespace trainyard::engine
