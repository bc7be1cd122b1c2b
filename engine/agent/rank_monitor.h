// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the supervisor knows of one rank: reads its pipes into the journal, samples its load. Never
// trusts what it reads: a rank that writes garbage loses its voice, and the others go on.
#pragma once

#include "engine/agent/device_sampler.h"
#include "engine/agent/journal.h"
#include "engine/agent/log_lines.h"
#include "engine/agent/rank_process.h"
#include "engine/agent/run_verdict.h"
#include "engine/agent/step_split.h"

#include <poll.h>
#include <vector>

namespace trainyard::engine {

class RankMonitor {
public:
    /// `record` may be null.
    RankMonitor(int rank, RankProcess process, int threads, const RankStatus& status,
                const FlightRecord* record, JournalWriter& journal);

    void addTo(std::vector<pollfd>& waitFor) const;
    /// Takes what the pipes hold now; true if there was something.
    bool readPipes(std::int64_t nowNs);
    /// After the last writer is gone: takes all that is left.
    void drain(std::int64_t nowNs);
    /// About once a second: load, lines that were left out.
    void tick(std::int64_t nowNs);
    void markEnded(int waitStatus, int order, bool bySupervisor);
    void rememberPoint();
    RankPoint pointNow() const { return pointOf(m_status); }

    const RankRecord& record() const { return m_record; }
    /// When the rank said that it failed; 0 before. It may hang on its way out.
    std::int64_t failedAtNs() const { return m_failedAtNs; }

private:
    struct OutputStream {
        FileHandle file;
        spec::LogLevel level;
        LineSplitter lines;
    };

    bool readEvents(std::int64_t nowNs);
    bool readOutput(OutputStream& stream, std::int64_t nowNs);
    void takeFrames(std::int64_t nowNs);
    void takeFrame(spec::Frame frame, std::int64_t nowNs);
    void takeFailure(spec::Failure failure, std::int64_t nowNs);
    void writeLines(const std::vector<std::string>& lines, spec::LogLevel level,
                    std::int64_t nowNs);
    void reportDroppedLines();
    void reportLastSteps();
    void log(spec::LogLevel level, Message text);

    RankRecord m_record;
    const RankStatus& m_status;
    JournalWriter& m_journal;
    FileHandle m_events;
    spec::FrameReader m_frames;
    bool m_eventsDamaged = false;
    OutputStream m_output;
    OutputStream m_errors;
    LogThrottle m_throttle;
    bool m_exhaustionReported = false;
    DeviceSampler m_sampler;
    StepSplit m_split;
    std::int64_t m_failedAtNs = 0;
};

} // namespace trainyard::engine
