// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// attach: the journal as a stream. Reads the file itself, so it is never in the supervisor's way
// and works on a run whose supervisor is long gone. What the login shell printed before the nonce
// is none of ours; after it there are whole frames only, journaled ones in order and heartbeats
// between them.
#include "engine/agent/journal.h"
#include "engine/agent/verbs.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

constexpr std::int64_t kHeartbeatNs = 1'000'000'000;
constexpr int kPollMs =
    200; ///< where inotify is not to be had, or says nothing (network file systems)

VerbExit fail(VerbExit exit, const Message& message) {
    (void)writeAll(STDERR_FILENO, message.text() + "\n");
    return exit;
}

class JournalStream {
public:
    JournalStream(RunFolder folder, const AttachRequest& request, bool ended)
        : m_folder(std::move(folder)), m_request(request), m_position(request.from),
          m_ended(ended) {}

    VerbExit run();

private:
    enum class Step { Nothing, Sent, Damaged, ReaderGone };

    bool openJournal();
    Step sendNewFrames();
    bool sendHeartbeat(bool supervisorAlive);
    bool isRemoved() const;
    bool readerHasLeft(int waitMs);
    VerbExit sayDead();
    VerbExit endOf(Step step) const;

    RunFolder m_folder;
    AttachRequest m_request;
    FileHandle m_journal;
    FileHandle m_changes;
    std::uint64_t m_position; ///< of the next byte to read
    spec::FrameReader m_frames;
    std::string m_unsent; ///< bytes of the frame that is not whole yet
    bool m_ended;         ///< the final frame was sent, now or before
};

bool JournalStream::openJournal() {
    if (m_journal.isOpen())
        return true;
    m_journal = FileHandle(::open(m_folder.journal().c_str(), O_RDONLY | O_CLOEXEC));
    if (!m_journal.isOpen())
        return false;
    m_changes = FileHandle(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (m_changes.isOpen())
        ::inotify_add_watch(m_changes.fd(), m_folder.journal().c_str(), IN_MODIFY);
    return true;
}

JournalStream::Step JournalStream::sendNewFrames() {
    char buffer[256 * 1024];
    const ssize_t count = openJournal() ? ::pread(m_journal.fd(), buffer, sizeof buffer,
                                                  static_cast<off_t>(m_position))
                                        : 0;
    if (count <= 0)
        return Step::Nothing;
    const std::string_view bytes(buffer, static_cast<std::size_t>(count));
    m_position += bytes.size();
    m_unsent += bytes;
    m_frames.append(bytes);
    std::uint64_t whole = m_frames.consumed();
    bool damaged = false;
    for (;;) {
        const Result<std::optional<spec::Frame>> next = m_frames.next();
        damaged = !next.ok();
        if (damaged || !next.value())
            break;
        m_ended |= finalStateOf(*next.value()).has_value();
    }
    whole = m_frames.consumed() - whole;
    if (whole > 0 && !writeAll(STDOUT_FILENO, std::string_view(m_unsent).substr(0, whole)))
        return Step::ReaderGone;
    m_unsent.erase(0, whole);
    return damaged ? Step::Damaged : Step::Sent;
}

bool JournalStream::sendHeartbeat(bool supervisorAlive) {
    const spec::Event event = spec::Heartbeat{supervisorAlive};
    return writeAll(
        STDOUT_FILENO,
        spec::encodeFrame({0, wallClockNs(), static_cast<std::uint8_t>(spec::typeOf(event)),
                           spec::encode(event)}));
}

/// The run was removed while we read it; one of the same name may be there by now.
bool JournalStream::isRemoved() const {
    struct stat status {};
    return m_journal.isOpen() && ::fstat(m_journal.fd(), &status) == 0 && status.st_nlink == 0;
}

/// Waits for the journal to grow or for stdin to close.
bool JournalStream::readerHasLeft(int waitMs) {
    pollfd waitFor[] = {{STDIN_FILENO, POLLIN, 0}, {m_changes.fd(), POLLIN, 0}};
    if (::poll(waitFor, 2, waitMs) <= 0)
        return false;
    char buffer[4096];
    if (waitFor[1].revents)
        while (::read(m_changes.fd(), buffer, sizeof buffer) > 0) {
        }
    return waitFor[0].revents && ::read(STDIN_FILENO, buffer, sizeof buffer) <= 0;
}

VerbExit JournalStream::sayDead() {
    sendHeartbeat(false);
    return VerbExit::SupervisorDead;
}

VerbExit JournalStream::endOf(Step step) const {
    if (step == Step::ReaderGone)
        return VerbExit::Ok;
    return fail(VerbExit::Damaged,
                Message("The journal %1 is damaged after %2 bytes.",
                        {m_folder.journal(), std::to_string(m_position - m_frames.pending())}));
}

VerbExit JournalStream::run() {
    std::int64_t nextHeartbeatNs = monotonicNs();
    for (;;) {
        // Asked before reading: what a supervisor wrote before it let go is then still found.
        const bool isAlive = RunLock::isHeld(m_folder) && !isRemoved();
        Step step = Step::Sent;
        while (step == Step::Sent && !m_ended)
            step = sendNewFrames();
        if (m_ended)
            return VerbExit::Ok;
        if (step != Step::Nothing)
            return endOf(step);
        if (!isAlive)
            return sayDead();
        if (m_request.once)
            return VerbExit::StillRunning;
        if (monotonicNs() >= nextHeartbeatNs) {
            if (!sendHeartbeat(true))
                return VerbExit::Ok;
            nextHeartbeatNs = monotonicNs() + kHeartbeatNs;
        }
        if (readerHasLeft(kPollMs))
            return VerbExit::Ok;
    }
}

} // namespace

VerbExit attachVerb(const std::string& rootPath, const AttachRequest& request) {
    std::signal(SIGPIPE, SIG_IGN);
    const std::optional<AgentRoot> root = AgentRoot::find(rootPath);
    const RunFolder folder = root ? root->run(request.run) : RunFolder(rootPath, request.run);
    if (!root || !folder.exists())
        return fail(VerbExit::Usage, Message("There is no run %1 in %2.", {request.run, rootPath}));
    bool ended = false;
    if (request.from > 0) {
        const Result<JournalContent> journal = scanJournal(folder.journal(), request.from);
        if (!journal || !journal->startsFrameAtOffset)
            return fail(
                VerbExit::Damaged,
                Message("No frame of the journal of run %1 starts at byte %2. Read it again "
                        "from the beginning.",
                        {request.run, std::to_string(request.from)}));
        ended = journal->finalState && journal->wholeBytes == request.from;
    }
    if (!request.nonce.empty() && !writeAll(STDOUT_FILENO, "\n" + request.nonce + "\n"))
        return VerbExit::Ok;
    return JournalStream(folder, request, ended).run();
}

} // namespace trainyard::engine
