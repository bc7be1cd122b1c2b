// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/rank_monitor.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace trainyard::engine {
namespace {

using spec::EventType;
using spec::LogLevel;

/// At most this much of one pipe is taken before the others get their turn.
constexpr std::size_t kBytesPerTurn = 1 << 20;

/// Gives what a non-blocking pipe holds to `take`; closes it at its end. True if there was
/// anything.
template <class Take>
bool readPipe(FileHandle& file, Take take) {
    char buffer[65536];
    std::size_t total = 0;
    while (file.isOpen() && total < kBytesPerTurn) {
        const ssize_t count = ::read(file.fd(), buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            break;
        if (count <= 0) {
            file.close();
            break;
        }
        total += static_cast<std::size_t>(count);
        take(std::string_view(buffer, static_cast<std::size_t>(count)));
    }
    return total > 0;
}

} // namespace

RankMonitor::RankMonitor(int rank, RankProcess process, int threads, const RankStatus& status,
                         const FlightRecord* record, JournalWriter& journal)
    : m_status(status), m_journal(journal), m_events(std::move(process.events)),
      m_output{std::move(process.output), LogLevel::Info, {}},
      m_errors{std::move(process.errors), LogLevel::Warning, {}},
      m_sampler(rank, process.pid, threads), m_split(record) {
    m_record.rank = rank;
    m_record.pid = process.pid;
    m_record.device = cpuDeviceOf(rank);
    m_sampler.sample(monotonicNs());
}

void RankMonitor::addTo(std::vector<pollfd>& waitFor) const {
    for (const FileHandle* file : {&m_events, &m_output.file, &m_errors.file})
        if (file->isOpen())
            waitFor.push_back({file->fd(), POLLIN, 0});
}

bool RankMonitor::readPipes(std::int64_t nowNs) {
    const bool events = readEvents(nowNs);
    const bool output = readOutput(m_output, nowNs);
    const bool errors = readOutput(m_errors, nowNs);
    return events || output || errors;
}

void RankMonitor::drain(std::int64_t nowNs) {
    while (readPipes(nowNs)) {
    }
    for (OutputStream* stream : {&m_output, &m_errors})
        writeLines(stream->lines.finish(), stream->level, nowNs);
    if (!m_eventsDamaged && m_frames.pending() > 0)
        log(LogLevel::Warning,
            Message("Rank %1 ended in the middle of an event; %2 bytes of it are lost.",
                    {std::to_string(m_record.rank), std::to_string(m_frames.pending())}));
    reportDroppedLines();
    reportLastSteps();
}

/// Those after the last tick: all of them where a run is over in less than a second.
void RankMonitor::reportLastSteps() {
    spec::DeviceSample sample{m_record.rank, m_record.device, m_split.sample()};
    if (!sample.values.empty())
        m_journal.append(sample, wallClockNs());
}

void RankMonitor::tick(std::int64_t nowNs) {
    reportDroppedLines();
    if (m_record.ended)
        return;
    if (std::optional<spec::DeviceSample> sample = m_sampler.sample(nowNs)) {
        const std::vector<spec::NamedValue> split = m_split.sample();
        sample->values.insert(sample->values.end(), split.begin(), split.end());
        m_journal.append(*sample, wallClockNs());
    }
}

void RankMonitor::markEnded(int waitStatus, int order, bool bySupervisor) {
    m_record.ended = true;
    m_record.waitStatus = waitStatus;
    m_record.endOrder = order;
    m_record.endedNs = monotonicNs();
    m_record.endedBySupervisor = bySupervisor;
}

void RankMonitor::rememberPoint() {
    m_record.point = pointOf(m_status);
    m_record.stopped = !m_record.ended && isStopped(static_cast<pid_t>(m_record.pid));
}

bool RankMonitor::readEvents(std::int64_t nowNs) {
    return readPipe(m_events, [&](std::string_view bytes) {
        if (m_eventsDamaged)
            return; // read on, so that the rank never waits for us
        m_frames.append(bytes);
        takeFrames(nowNs);
    });
}

void RankMonitor::takeFrames(std::int64_t nowNs) {
    for (;;) {
        Result<std::optional<spec::Frame>> next = m_frames.next();
        if (!next) {
            m_eventsDamaged = true;
            log(LogLevel::Error,
                Message("Rank %1 wrote bytes that are no events; what it reports from "
                        "here on is lost.",
                        {std::to_string(m_record.rank)}));
            return;
        }
        if (!next.value())
            return;
        takeFrame(*std::move(next.value()), nowNs);
    }
}

void RankMonitor::takeFrame(spec::Frame frame, std::int64_t nowNs) {
    const auto type = static_cast<EventType>(frame.type);
    const bool isKnown = type >= EventType::Hello && type <= spec::kLastEventType;
    const std::int64_t timeNs = frame.timeNs > 0 ? frame.timeNs : wallClockNs();
    if (!isKnown) { // of a newer rank: readers decide
        m_journal.append(frame.type, std::move(frame.payload), timeNs);
        return;
    }
    const Result<spec::Event> event = spec::decode(type, frame.payload);
    const auto* state = event ? std::get_if<spec::StateChanged>(&event.value()) : nullptr;
    const bool isOurs = type == EventType::Hello || type == EventType::RanksStarted ||
                        type == EventType::Heartbeat ||
                        (state && state->state != spec::RunState::Running);
    if (!event || isOurs) {
        log(LogLevel::Warning,
            Message("An event of type %1 from rank %2 was left out: %3",
                    {std::to_string(frame.type), std::to_string(m_record.rank),
                     event ? "only the supervisor may say this." : event.error().sentence()}));
        return;
    }
    if (const auto* failure = std::get_if<spec::Failure>(&event.value()))
        takeFailure(*failure, nowNs);
    else
        m_journal.append(frame.type, std::move(frame.payload), timeNs);
}

void RankMonitor::takeFailure(spec::Failure failure, std::int64_t nowNs) {
    if (failure.rank < 0)
        failure.rank = m_record.rank;
    // Kept back until it is known which rank's failure was the first; the journal gets only one.
    if (m_record.failure) {
        log(LogLevel::Error, Message("%1", {failure.sentence()}));
        return;
    }
    m_record.failure = std::move(failure);
    m_failedAtNs = nowNs;
}

bool RankMonitor::readOutput(OutputStream& stream, std::int64_t nowNs) {
    return readPipe(stream.file, [&](std::string_view bytes) {
        writeLines(stream.lines.take(bytes), stream.level, nowNs);
    });
}

void RankMonitor::writeLines(const std::vector<std::string>& lines, LogLevel level,
                             std::int64_t nowNs) {
    for (const std::string& line : lines)
        if (m_throttle.allows(line.size(), nowNs))
            log(level, Message("%1", {line}));
}

void RankMonitor::reportDroppedLines() {
    if (m_exhaustionReported)
        return;
    const LogThrottle::Dropped dropped = m_throttle.takeDropped();
    if (dropped.lines == 0)
        return;
    const std::vector<std::string> arguments{std::to_string(m_record.rank),
                                             std::to_string(dropped.lines),
                                             std::to_string(dropped.bytes)};
    m_exhaustionReported = m_throttle.isExhausted();
    log(LogLevel::Warning,
        Message(m_exhaustionReported
                    ? "Rank %1 has printed more than a log can hold; %2 lines (%3 bytes) were left "
                      "out and no more of its output is kept."
                    : "Rank %1 prints too fast; %2 lines (%3 bytes) were left out.",
                arguments));
}

void RankMonitor::log(LogLevel level, Message text) {
    m_journal.append(spec::Log{level, m_record.rank, std::move(text)}, wallClockNs());
}

} // namespace trainyard::engine
