// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/gloo_link.h"

#include "engine/runtime/rank_protocol.h"

#include <gloo/transport/context.h>

#include <algorithm>
#include <utility>

namespace trainyard::engine {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWatchInterval{20};
constexpr int kIntervalsBetweenProcessChecks = 5;
/// After a broken connection: time for the kernel to show a process as dead, or for a note to
/// appear.
constexpr milliseconds kTimeToLearnCause{250};

/// The watching thread has broken off a wait.
class Interrupted : public std::exception {};

void abortWait(gloo::transport::UnboundBuffer* buffer) {
    if (!buffer)
        return;
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
}

} // namespace

GlooLink::GlooLink(const CommunicatorOptions& options, GlooRendezvous rendezvous,
                   std::shared_ptr<gloo::rendezvous::Context> context, FaultListener whenBroken)
    : m_options(options), m_rendezvous(std::move(rendezvous)), m_context(std::move(context)),
      m_whenBroken(std::move(whenBroken)), m_watcher([this] { watch(); }) {}

GlooLink::~GlooLink() {
    {
        const std::lock_guard lock(m_watchMutex);
        m_watchEnds = true;
    }
    m_watchWake.notify_all();
    m_watcher.join();
    m_rendezvous.leave();
}

GlooBuffer GlooLink::bufferFor(void* memory, std::size_t bytes) const {
    return m_context->createUnboundBuffer(memory, bytes);
}

void GlooLink::begin(milliseconds patience) {
    m_end = Clock::now() + patience;
    const std::lock_guard lock(m_watchMutex);
    m_inside = true;
}

void GlooLink::finish(Clock::time_point start) {
    {
        const std::lock_guard lock(m_watchMutex);
        m_inside = false;
    }
    m_secondsInside += std::chrono::duration<double>(Clock::now() - start).count();
}

// ---- Waiting ---------------------------------------------------------------------------------

void GlooLink::waitFor(gloo::transport::UnboundBuffer& buffer, Direction direction, int peer) {
    m_waitingFor = peer;
    {
        const std::lock_guard lock(m_watchMutex);
        if (m_interruption)
            throw Interrupted();
        m_waitedBuffer = &buffer;
    }
    // What is left of the whole call's time: Gloo's own limit would begin anew with each wait.
    // Rounded up, or the wait would end a moment before it is late.
    const auto left =
        std::max(milliseconds(1), std::chrono::ceil<milliseconds>(m_end - Clock::now()));
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

void GlooLink::watch() {
    std::unique_lock lock(m_watchMutex);
    for (int interval = 0;; ++interval) {
        m_watchWake.wait_for(lock, kWatchInterval, [&] { return m_watchEnds; });
        if (m_watchEnds)
            return;
        // Again and again: a wait that begins forgets that it was to be aborted.
        if (m_interruption)
            abortWait(m_waitedBuffer);
        if (!m_inside || m_interruption)
            continue;
        lock.unlock();
        const std::optional<Fault> fault =
            lookAround(interval % kIntervalsBetweenProcessChecks == 0);
        lock.lock();
        if (!fault || !m_inside)
            continue;
        m_interruption = fault;
        abortWait(m_waitedBuffer);
    }
}

Fault GlooLink::faultOf(FaultKind kind, int rank) const {
    return {kind, m_options.nameOf(rank), m_rendezvous.card(rank).process.pid};
}

std::optional<Fault> GlooLink::lookAround(bool lookAtProcesses) const {
    if (m_options.status && m_options.status->header().abort.load() != 0)
        return Fault{FaultKind::Aborted};
    if (!lookAtProcesses)
        return std::nullopt;
    // A rank that gave up and then ended is a victim: its note tells more than its death. One that
    // has left in order may end while others still finish what it has sent them.
    for (int rank = 0; rank < m_options.worldSize; ++rank)
        if (rank != m_options.rank && m_rendezvous.processState(rank) == ProcessState::Dead &&
            !m_rendezvous.noteOf(rank) && !m_rendezvous.hasLeft(rank))
            return faultOf(FaultKind::Died, rank);
    return std::nullopt;
}

// ---- Failing ---------------------------------------------------------------------------------

/// Another rank that has noted why it gave up.
std::optional<int> GlooLink::rankWithNote() const {
    for (int rank = 0; rank < m_options.worldSize; ++rank)
        if (rank != m_options.rank && m_rendezvous.noteOf(rank))
            return rank;
    return std::nullopt;
}

Error GlooLink::passOnNoteOf(int rank) {
    const std::string note = m_rendezvous.noteOf(rank).value_or("");
    const int name = m_options.nameOf(rank);
    return breakUp(Fault::told(name, m_rendezvous.card(rank).process.pid, note),
                   endedBy(name, note), note);
}

/// The rank that is waited for may itself wait for another one of its host.
Fault GlooLink::missing() const {
    return m_rendezvous.behind(faultOf(FaultKind::Missing, m_waitingFor));
}

/// The connection to a peer broke, time ran out or the watcher interrupted: finds out why, tells
/// the others and closes all connections.
Error GlooLink::explain(const std::string& during, const std::string& transportText) {
    {
        const std::lock_guard lock(m_watchMutex);
        if (m_interruption)
            return breakUp(*m_interruption, during);
    }
    const bool late = Clock::now() >= m_end;
    // A rank that has come late to a wait for another one of its host tells after a while.
    const milliseconds patience =
        late ? longWait(m_options.deadline) + kTimeToLearnCause : kTimeToLearnCause;
    const Clock::time_point patienceEnd =
        late && !m_asksWhoIsBehind ? Clock::now() : Clock::now() + patience;
    do {
        if (const std::optional<Fault> fault = lookAround(true))
            return breakUp(*fault, during);
        if (const std::optional<int> rank = rankWithNote())
            return passOnNoteOf(*rank);
        if (m_rendezvous.hasLeft(m_waitingFor))
            return breakUp(faultOf(FaultKind::Left, m_waitingFor), during);
        if (late)
            for (int rank = 0; rank < m_options.worldSize; ++rank)
                if (m_rendezvous.processState(rank) == ProcessState::Stopped)
                    return breakUp(faultOf(FaultKind::Stopped, rank), during);
        if (late && missing().culprit != m_options.nameOf(m_waitingFor))
            return breakUp(missing(), during);
        if (Clock::now() < patienceEnd)
            std::this_thread::sleep_for(milliseconds(5));
    } while (Clock::now() < patienceEnd);
    if (late)
        return breakUp(missing(), during);
    const Fault peer = faultOf(FaultKind::Died, m_waitingFor);
    const Error error(Message("The connection to rank %1 (process %2 on %3) broke at %4: %5",
                              {std::to_string(peer.culprit), std::to_string(peer.pid),
                               m_rendezvous.card(m_waitingFor).host, during, transportText}));
    return breakUp(error, error.sentence());
}

Error GlooLink::peerHasLeft(int peer, const std::string& during) {
    if (const std::optional<int> rank = rankWithNote())
        return passOnNoteOf(*rank);
    return breakUp(faultOf(FaultKind::Left, peer), during);
}

Error GlooLink::breakUp(const Fault& fault, const std::string& during) {
    const Error error = faultError(fault, during, m_options.deadline);
    return breakUp(fault, error, error.sentence());
}

Error GlooLink::breakUp(Error error, const std::string& note) {
    const Fault mine = faultOf(FaultKind::Told, m_options.rank);
    return breakUp(Fault::told(mine.culprit, mine.pid, note), std::move(error), note);
}

Error GlooLink::breakUp(const Fault& fault, Error error, const std::string& note) {
    m_rendezvous.leaveNote(note);
    m_context->closeConnections();
    m_broken = error;
    m_fault = fault;
    if (m_whenBroken)
        m_whenBroken(fault);
    return error;
}

} // namespace trainyard::engine
