// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// GlooLink: this rank's connections to the others over TCP, and waiting on them. Every wait has the
// deadline of the call it is part of. A thread of its own watches the status page and the processes
// of this host meanwhile. The first error closes all connections for good and leaves a note, so
// that the others name the cause. Internal to engine/comm.
#pragma once

#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"
#include "engine/comm/gloo_rendezvous.h"

#include <gloo/rendezvous/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>

namespace trainyard::engine {

using GlooBuffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

/// Lets ranks that wait in other groups know.
using FaultListener = std::function<void(const Fault&)>;

/// What a message is part of.
enum class Lane : std::uint64_t { Envelope, Scatter, Gather, Broadcast };

class GlooLink {
public:
    using Clock = std::chrono::steady_clock;
    enum class Direction { Receive, Send };

    /// `whenBroken`: gets what has broken the link, in the thread that uses it; may be null.
    GlooLink(const CommunicatorOptions& options, GlooRendezvous rendezvous,
             std::shared_ptr<gloo::rendezvous::Context> context, FaultListener whenBroken);
    ~GlooLink();
    GlooLink(const GlooLink&) = delete;
    GlooLink& operator=(const GlooLink&) = delete;

    const CommunicatorOptions& options() const { return m_options; }
    const GlooRendezvous& rendezvous() const { return m_rendezvous; }
    bool isBroken() const { return m_broken.has_value(); }
    /// What broke it.
    const Fault& fault() const { return m_fault; }
    /// Ranks that are waited for may themselves wait for others of their hosts, and tell.
    void askWhoIsBehind() { m_asksWhoIsBehind = true; }
    /// Of the call that runs.
    Clock::time_point end() const { return m_end; }
    double secondsInside() const { return m_secondsInside; }

    /// Message tag: no two messages between two ranks that are on their way at once share it.
    static std::uint64_t slotOf(std::uint64_t sequence, Lane lane, std::size_t block = 0) {
        return (sequence << 22 | block) << 2 | static_cast<std::uint64_t>(lane);
    }
    /// Of the messages of a channel; never one of the above.
    static std::uint64_t slotOfMessage(std::uint64_t number) {
        return number | std::uint64_t{1} << 63;
    }

    GlooBuffer bufferFor(void* memory, std::size_t bytes) const;
    template <class Function>
    void forEachPeer(Function function) const;

    /// Runs `body`, which may wait until `patience` from now, unless the link is broken. Any
    /// exception but a broken invariant breaks it; `during()` is for the sentence.
    template <class During, class Body>
    Result<void> run(std::chrono::milliseconds patience, During during, Body body);

    /// Of `body` only. The peer is named when what follows fails.
    void expect(int peer) { m_waitingFor = peer; }
    void waitFor(gloo::transport::UnboundBuffer& buffer, Direction direction, int peer);
    Fault faultOf(FaultKind kind, int rank) const;
    /// A peer has ended its part in order, or after an error of which it tells.
    Error peerHasLeft(int peer, const std::string& during);
    /// `note`: the cause, for the others; left before they can notice that the connections are
    /// closed.
    Error breakUp(Error error, const std::string& note);

private:
    void begin(std::chrono::milliseconds patience);
    void finish(Clock::time_point start);
    void watch();
    std::optional<Fault> lookAround(bool lookAtProcesses) const;
    std::optional<int> rankWithNote() const;
    Error passOnNoteOf(int rank);
    Fault missing() const;
    Error explain(const std::string& during, const std::string& transportText);
    Error breakUp(const Fault& fault, const std::string& during);
    Error breakUp(const Fault& fault, Error error, const std::string& note);

    const CommunicatorOptions m_options;
    GlooRendezvous m_rendezvous;
    std::shared_ptr<gloo::rendezvous::Context> m_context;
    const FaultListener m_whenBroken;
    double m_secondsInside = 0;
    std::optional<Error> m_broken; ///< the first error is the last word
    Fault m_fault;                 ///< that it came of
    Clock::time_point m_end;       ///< of the call
    int m_waitingFor = -1;         ///< peer
    bool m_asksWhoIsBehind = false;

    std::mutex m_watchMutex; ///< guards what follows
    std::condition_variable m_watchWake;
    bool m_watchEnds = false;
    bool m_inside = false;
    gloo::transport::UnboundBuffer* m_waitedBuffer = nullptr;
    std::optional<Fault> m_interruption;
    std::thread m_watcher;
};

template <class Function>
void GlooLink::forEachPeer(Function function) const {
    // Each rank begins with its right neighbour, so that not all talk to rank 0 at once.
    for (int step = 1; step < m_options.worldSize; ++step)
        function((m_options.rank + step) % m_options.worldSize);
}

template <class During, class Body>
Result<void> GlooLink::run(std::chrono::milliseconds patience, During during, Body body) {
    if (m_broken)
        return *m_broken;
    const Clock::time_point start = Clock::now();
    begin(patience);
    Result<void> result;
    try {
        result = body();
    } catch (const BrokenInvariant&) {
        finish(start);
        throw;
    } catch (const std::bad_alloc&) { // no peer's doing
        finish(start);
        throw;
    } catch (const std::exception& failure) {
        result = explain(during(), failure.what());
    }
    finish(start);
    return result;
}

} // namespace trainyard::engine
