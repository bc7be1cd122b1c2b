// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/supervisor.h"

#include "engine/agent/flight_trace.h"
#include "engine/agent/host_facts.h"
#include "engine/agent/processes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kSyncEveryNs = 1'000'000'000;
constexpr int kKillPauseMs = 20;
/// A pause after events, so that a rank with a thousand steps a second wakes us a hundred times
/// only.
constexpr int kGatherMs = 10;
constexpr double kGraceOfSystemStop = 5;

std::int64_t ns(milliseconds time) {
    return time.count() * kNsPerMs;
}

FileHandle takeOverSignals() {
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP})
        sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return FileHandle(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

} // namespace

Supervisor::Supervisor(SupervisorConfig config)
    : m_config(std::move(config)), m_host(hostName()), m_nowNs(monotonicNs()) {
    m_circumstances.host = m_host;
}

Supervisor::~Supervisor() = default;

void Supervisor::enter(Phase phase, milliseconds time) {
    m_phase = phase;
    m_deadlineNs = m_nowNs + ns(time);
}

Result<void> Supervisor::begin() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    m_signals = takeOverSignals();
    Result<JournalWriter> journal =
        JournalWriter::open(m_config.folder.journal(), m_config.folder.reserve());
    if (!journal)
        return journal.error();
    m_journal = std::make_unique<JournalWriter>(std::move(journal).value());
    Result<SharedMemory> memory = SharedMemory::create(m_config.worldSize);
    if (!memory)
        return memory.error();
    m_memory = std::make_unique<SharedMemory>(std::move(memory).value());
    Result<ControlServer> control = ControlServer::listen(m_config.folder);
    if (!control)
        return control.error();
    m_control = std::make_unique<ControlServer>(std::move(control).value());

    m_journal->append(spec::Hello{spec::kProtocolVersion, engineVersion(), m_config.folder.id(),
                                  m_host, m_config.worldSize},
                      wallClockNs());
    Result<void> started = startRanks();
    if (started)
        started = m_journal->sync(monotonicNs(), 0);
    if (!started) {
        killEverything();
        m_control->close("");
        ::unlink(m_config.folder.journal().c_str());
        ::unlink(m_config.folder.reserve().c_str());
    }
    m_nextTickNs = monotonicNs() + ns(m_config.timing.sample);
    return started;
}

Result<void> Supervisor::startRanks() {
    spec::RanksStarted event;
    for (int rank = 0; rank < m_config.worldSize; ++rank) {
        Result<RankProcess> process = startRank({m_config.rankProgram, rank, m_config.worldSize,
                                                 m_config.threadsPerRank, m_config.bucketBytes},
                                                m_config.folder, *m_memory);
        if (!process)
            return process.error();
        event.ranks.push_back({rank, process->pid, cpuDeviceOf(rank), m_config.threadsPerRank});
        m_ranks.push_back(std::make_unique<RankMonitor>(
            rank, std::move(process).value(), m_config.threadsPerRank,
            m_memory->status().rank(rank), m_memory->record(rank), *m_journal));
    }
    m_journal->append(event, wallClockNs());
    return {};
}

/// For a start that failed half way.
void Supervisor::killEverything() {
    const std::int64_t giveUpNs = monotonicNs() + ns(m_config.timing.killLimit);
    while (!m_noChildLeft && monotonicNs() < giveUpNs) {
        signalDescendants(SIGKILL);
        ::poll(nullptr, 0, kKillPauseMs);
        reap();
    }
}

spec::RunState Supervisor::run() {
    while (m_phase != Phase::Ended) {
        waitForSomething();
        m_nowNs = monotonicNs();
        try {
            takeInput();
            tick();
            saveJournal();
        } catch (const std::exception& exception) {
            failOwnWork(Error(Message("The supervisor of the run failed: %1.", {exception.what()}),
                              {}, Message("This is a fault in Trainyard; please report it.")));
        }
        reap();
        Phase before = m_phase;
        do { // one step may make the next one possible at once
            before = m_phase;
            advance();
        } while (m_phase != before);
    }
    return finish();
}

void Supervisor::takeInput() {
    takeSignals();
    m_busy = false;
    for (const auto& rank : m_ranks)
        m_busy |= rank->readPipes(m_nowNs);
    for (const double grace : m_control->takeStopRequests())
        requestStop(grace, "A person asked for the end.");
    if (m_control->wantsTrace()) {
        (void)saveTrace(); // who asked finds the file, or that it is not there
        m_control->answerTrace();
    }
}

void Supervisor::waitForSomething() const {
    if (m_busy && m_phase == Phase::Running)
        ::poll(nullptr, 0, kGatherMs);
    std::vector<pollfd> waitFor{{m_signals.fd(), POLLIN, 0}};
    m_control->addTo(waitFor);
    for (const auto& rank : m_ranks)
        rank->addTo(waitFor);
    std::int64_t wakeNs = m_nextTickNs;
    if (m_deadlineNs > 0)
        wakeNs = std::min(wakeNs, m_deadlineNs);
    const std::int64_t leftMs = (wakeNs - monotonicNs() + kNsPerMs - 1) / kNsPerMs;
    int timeoutMs = static_cast<int>(std::clamp<std::int64_t>(leftMs, 0, 1000));
    if (m_phase == Phase::Killing)
        timeoutMs = std::min(timeoutMs, kKillPauseMs);
    ::poll(waitFor.data(), waitFor.size(), timeoutMs);
}

void Supervisor::takeSignals() {
    signalfd_siginfo info{};
    while (::read(m_signals.fd(), &info, sizeof info) == sizeof info)
        if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
            requestStop(m_circumstances.stopRequested ? 0 : kGraceOfSystemStop,
                        "The system asked for the end.");
}

void Supervisor::reap() {
    ++m_endOrder;
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
        const bool bySupervisor =
            m_phase == Phase::Terminating || (m_phase == Phase::Killing && WIFSIGNALED(status));
        for (const auto& rank : m_ranks)
            if (rank->record().pid == pid && !rank->record().ended)
                rank->markEnded(status, m_endOrder, bySupervisor);
    }
    m_noChildLeft = pid < 0 && errno == ECHILD;
}

void Supervisor::requestStop(double graceSeconds, const char* reason) {
    const std::int64_t deadlineNs = m_nowNs + static_cast<std::int64_t>(graceSeconds * 1e9);
    if (m_phase == Phase::Running) {
        m_circumstances.stopRequested = true;
        m_memory->status().header().stopRequested.store(1);
        m_journal->append(spec::StateChanged{spec::RunState::Stopping, Message(reason)},
                          wallClockNs());
        m_phase = Phase::Stopping;
        m_deadlineNs = deadlineNs;
        m_graceSeconds = graceSeconds;
    } else if (m_phase == Phase::Stopping && deadlineNs < m_deadlineNs) {
        m_deadlineNs = deadlineNs; // asked again, with less patience
        m_graceSeconds = graceSeconds;
    }
}

void Supervisor::abortRun() {
    for (const auto& rank : m_ranks)
        rank->rememberPoint();
    m_memory->status().header().abort.store(1);
    enter(Phase::Aborting, m_config.timing.abortMoment);
}

void Supervisor::tick() {
    if (m_nowNs < m_nextTickNs)
        return;
    for (const auto& rank : m_ranks)
        rank->tick(m_nowNs);
    watchProgress();
    // Kept on its grid; after a pause of the machine the missed ticks are not made up for, and no
    // sample covers so short a time that the clock's own steps (10 ms) would show.
    const std::int64_t periodNs = ns(m_config.timing.sample);
    m_nextTickNs = std::max(m_nextTickNs + periodNs, m_nowNs + periodNs / 2);
}

void Supervisor::watchProgress() {
    if (m_phase != Phase::Running && m_phase != Phase::Stopping)
        return;
    std::vector<StandingRank> living;
    for (const auto& rank : m_ranks)
        if (!rank->record().ended)
            living.push_back({rank->record().rank, rank->record().pid, rank->pointNow()});
    const auto halted = [](const StandingRank& rank) {
        return isStopped(static_cast<pid_t>(rank.pid));
    };
    if (std::optional<spec::Log> line = m_stallWatch.look(std::move(living), m_host, m_nowNs,
                                                          ns(m_config.timing.stall), halted))
        m_journal->append(*line, wallClockNs());
}

void Supervisor::saveJournal() {
    const Result<void> saved = m_journal->sync(m_nowNs, kSyncEveryNs);
    if (!saved)
        failOwnWork(saved.error());
}

/// What the ranks did, into the run's folder; nothing where nothing was recorded.
Result<void> Supervisor::saveTrace() {
    RunTrace trace{m_config.folder.id(), m_host, {}};
    bool isEmpty = true;
    for (const auto& rank : m_ranks) {
        const RankRecord& record = rank->record();
        const FlightRecord* memory = m_memory->record(record.rank);
        if (!memory)
            continue;
        RankTrace each{record.rank, record.pid, record.device, 0, 0, {}, {}};
        readRecord(*memory, each);
        each.untilNs = record.ended ? record.endedNs : monotonicNs();
        for (const auto& lane : each.lanes)
            isEmpty = isEmpty && lane.empty();
        trace.ranks.push_back(std::move(each));
    }
    return isEmpty ? Result<void>()
                   : writeFileAtomically(m_config.folder.trace(), encodeTrace(trace));
}

void Supervisor::failOwnWork(Error error) {
    if (m_circumstances.supervisorError)
        return;
    m_circumstances.supervisorError = std::move(error);
    if (m_phase == Phase::Running || m_phase == Phase::Stopping)
        abortRun();
}

void Supervisor::advance() {
    const bool isOver = m_deadlineNs > 0 && m_nowNs >= m_deadlineNs;
    switch (m_phase) {
    case Phase::Running:
    case Phase::Stopping:
        if (anyRankLost()) {
            abortRun();
        } else if (allRanksEnded()) {
            enter(Phase::Leaving, m_config.timing.leftovers);
        } else if (m_phase == Phase::Stopping && isOver) {
            m_circumstances.overrunGraceSeconds = m_graceSeconds;
            for (const auto& rank : m_ranks)
                rank->rememberPoint();
            signalDescendants(SIGTERM);
            enter(Phase::Terminating, m_config.timing.terminate);
        }
        break;
    case Phase::Aborting:
    case Phase::Terminating:
        if (isOver || allRanksEnded())
            enter(Phase::Killing, m_config.timing.killLimit);
        break;
    case Phase::Leaving:
        if (m_noChildLeft)
            m_phase = Phase::Ended;
        else if (isOver)
            enter(Phase::Killing, m_config.timing.killLimit);
        break;
    case Phase::Killing:
        if (m_noChildLeft)
            m_phase = Phase::Ended;
        else if (isOver)
            giveUpOnUnkillable();
        else
            signalDescendants(SIGKILL);
        break;
    case Phase::Ended:
        break;
    }
}

/// A process in an uninterruptible wait (a dead disk or network file system) outlives SIGKILL.
void Supervisor::giveUpOnUnkillable() {
    std::string pids;
    for (const pid_t pid : descendantsOf(::getpid()))
        pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
    log(spec::LogLevel::Error,
        Message("The system does not end these processes: %1. They wait for a device.", {pids}));
    m_phase = Phase::Ended;
}

bool Supervisor::allRanksEnded() const {
    return std::all_of(m_ranks.begin(), m_ranks.end(),
                       [](const auto& rank) { return rank->record().ended; });
}

bool Supervisor::anyRankLost() const {
    return std::any_of(m_ranks.begin(), m_ranks.end(), [&](const auto& rank) {
        const bool hangsAfterFailure =
            rank->failedAtNs() > 0 && !rank->record().ended &&
            m_nowNs - rank->failedAtNs() >= ns(m_config.timing.failureExit);
        return isLost(rank->record()) || hangsAfterFailure;
    });
}

void Supervisor::signalDescendants(int signal) const {
    for (const pid_t pid : descendantsOf(::getpid()))
        ::kill(pid, signal);
}

void Supervisor::log(spec::LogLevel level, Message text) {
    m_journal->append(spec::Log{level, -1, std::move(text)}, wallClockNs());
}

spec::RunState Supervisor::finish() {
    std::vector<RankRecord> records;
    for (const auto& rank : m_ranks) {
        rank->drain(m_nowNs);
        records.push_back(rank->record());
    }
    if (const Result<void> saved = saveTrace(); !saved && !m_circumstances.supervisorError)
        log(spec::LogLevel::Warning,
            Message("What the ranks did last can not be kept: %1", {saved.error().sentence()}));
    const Verdict verdict = judge(records, m_circumstances);
    for (const RankRecord& record : records)
        if (record.failure && record.rank != verdict.culprit)
            m_journal->append(spec::Log{spec::LogLevel::Error, record.rank,
                                        Message("%1", {record.failure->sentence()})},
                              wallClockNs());
    std::vector<spec::Event> lastEvents;
    if (verdict.failure)
        lastEvents.emplace_back(*verdict.failure);
    lastEvents.emplace_back(spec::StateChanged{verdict.state, verdict.reason});
    const Result<void> written = m_journal->finish(lastEvents, wallClockNs());
    if (!written) // nowhere else to say it
        (void)writeAll(STDERR_FILENO, written.error().sentence() + "\n");
    m_control->close("{\"answer\":\"stopped\",\"state\":\"" +
                     std::string(spec::name(verdict.state)) + "\"}\n");
    return verdict.state;
}

} // namespace trainyard::engine
