// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The process that stands over the ranks of one run on one node. It writes the journal, samples the
// devices, and makes sure of the end: a run that began gets a final state, and when the supervisor
// is gone no process of the run is left.
#pragma once

#include "engine/agent/control_socket.h"
#include "engine/agent/journal.h"
#include "engine/agent/rank_monitor.h"
#include "engine/agent/rank_process.h"
#include "engine/agent/run_folder.h"
#include "engine/agent/run_verdict.h"
#include "engine/agent/stall_watch.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace trainyard::engine {

struct SupervisorTiming {
    using ms = std::chrono::milliseconds;
    ms sample{1000};      ///< between device samples
    ms stall{9000};       ///< without progress until a warning; a look comes up to 1 s late
    ms abortMoment{1000}; ///< for the other ranks, after one is lost, to leave by themselves
    ms failureExit{2000}; ///< for a rank that said it failed, to end
    ms terminate{1000};   ///< between SIGTERM and SIGKILL
    ms leftovers{300};    ///< for processes that outlive their rank
    ms killLimit{10000};  ///< until processes that can not be killed are given up
};

struct SupervisorConfig {
    RunFolder folder;
    int worldSize = 1;
    int threadsPerRank = 1;
    std::vector<std::string> rankProgram; ///< see RankCommand
    SupervisorTiming timing;
    std::size_t bucketBytes = 0; ///< see RankEnvironment
};

/// One per process: it takes over the process's signals and becomes the parent of all orphans.
class Supervisor {
public:
    explicit Supervisor(SupervisorConfig config);
    ~Supervisor();

    /// Opens the journal and starts the ranks. After an error nothing is left behind.
    Result<void> begin();
    /// Returns when the final state is in the journal and no process of the run is left.
    spec::RunState run();

private:
    // Running --stop--> Stopping --grace over--> Terminating --1 s--> Killing --no child--> Ended
    //    |                  |
    //    +--- rank lost ----+--> Aborting --all ranks ended, or 1 s--> Killing
    //    +--- all ranks done ---> Leaving --0.3 s--> Killing            (no child: Ended)
    enum class Phase { Running, Stopping, Aborting, Terminating, Leaving, Killing, Ended };

    void enter(Phase phase, std::chrono::milliseconds time);
    Result<void> startRanks();
    void killEverything();
    void waitForSomething() const;
    void takeInput();
    void takeSignals();
    void reap();
    void requestStop(double graceSeconds, const char* reason);
    void abortRun();
    void tick();
    void watchProgress();
    void saveJournal();
    Result<void> saveTrace();
    void failOwnWork(Error error);
    void advance();
    void giveUpOnUnkillable();
    bool allRanksEnded() const;
    bool anyRankLost() const;
    void signalDescendants(int signal) const;
    void log(spec::LogLevel level, Message text);
    spec::RunState finish();

    SupervisorConfig m_config;
    std::string m_host;
    FileHandle m_signals;
    std::unique_ptr<JournalWriter> m_journal;
    std::unique_ptr<SharedMemory> m_memory;
    std::unique_ptr<ControlServer> m_control;
    std::vector<std::unique_ptr<RankMonitor>> m_ranks;

    StallWatch m_stallWatch;

    Phase m_phase = Phase::Running;
    Circumstances m_circumstances;
    double m_graceSeconds = 0;
    std::int64_t m_nowNs = 0;
    std::int64_t m_deadlineNs = 0; ///< of the phase; 0: none
    std::int64_t m_nextTickNs = 0;
    int m_endOrder = 0;
    bool m_noChildLeft = false;
    bool m_busy = false;
};

} // namespace trainyard::engine
