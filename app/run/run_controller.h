// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One run from the button to its end: checks the experiment, records the run, starts it, follows
// its journal into the store, tells how far it is. Rules: commands return at once and answer by
// signals; the run belongs to the worker, so a controller that goes away leaves it running, and
// another one adopts it.
//
//            problems, stop()
//   Draft <---------------------- Checking <--start()-- Draft
//     ^                              | data and plan are right: the run is recorded
//     |  refused, cannot be started  v
//     +--------------------------- Starting
//                                    | first sign of life              <--adopt()
//                                    v
//                                 Running ----stop()----> Stopping
//                                    |                       |
//                                    +------ last word ------+--> Finished | Failed | Stopped |
//                                    Diverged
//                                    +-- nobody left to say it +--> Crashed
#pragma once

#include "app/run/experiment_check.h"
#include "app/run/journal_feed.h"
#include "app/run/run_progress.h"

#include <QObject>

#include <memory>
#include <optional>

namespace trainyard::app {

/// How a run ended.
struct RunOutcome {
    RunStatus status = RunStatus::Finished;
    Message reason;
    std::optional<spec::Failure> failure;
    std::optional<spec::Summary> summary;
};

class RunController : public QObject {
    Q_OBJECT
public:
    enum class State {
        Draft,
        Checking,
        Starting,
        Running,
        Stopping,
        Finished,
        Failed,
        Stopped,
        Diverged,
        Crashed
    };
    Q_ENUM(State)

    struct Options {
        bool desktopIsHere = false; ///< a person works at this machine's screen
        JournalStream::Timing timing;
        /// Once: adopt() reads what there is now and says caughtUp() or ended().
        JournalStream::Mode mode = JournalStream::Mode::Follow;
        /// A run that was recorded and that the worker does not know counts as crashed after this
        /// time.
        std::chrono::milliseconds startingGrace{20'000};
    };

    RunController(RunStore& store, const LocalLauncher& launcher, Options options,
                  QObject* parent = nullptr);

    /// From Draft only. Answered by started(), problemsFound() or startFailed().
    void start(const spec::Experiment& experiment);
    /// From Draft only: follows a run that is in the store.
    void adopt(const RunRecord& run);
    /// Asks the run to end after its current step. While it is checked, gives it up.
    void stop();
    /// Reads on from what the store has; it has asked for it.
    void reread();

    State state() const { return m_state; }
    bool isOver() const { return m_state >= State::Finished; }
    /// From Starting on.
    const std::optional<RunRecord>& run() const { return m_run; }
    /// What start() found out; empty for an adopted run.
    const std::optional<CheckedExperiment>& checked() const { return m_checked; }
    const RunProgress& progress() const { return m_meter.progress(); }
    /// Earlier runs of the store with the same name.
    std::int64_t namesakes() const { return m_namesakes; }
    bool isConnected() const { return m_feed && m_feed->isConnected(); }

signals:
    /// The experiment cannot run as it is; the state is Draft again.
    void problemsFound(const trainyard::Problems& problems);
    /// Something else has kept the run from starting; the state is Draft again.
    void startFailed(const trainyard::Error& why);
    /// The worker has the run.
    void started();
    void stateChanged(trainyard::app::RunController::State state);
    void eventsArrived(const std::vector<trainyard::app::TimedEvent>& events);
    /// progress() has changed.
    void progressed();
    void connected();
    void disconnected(const trainyard::Error& why);
    /// Only with Mode::Once: that is all for now.
    void caughtUp();
    /// The run goes on.
    void stopFailed(const trainyard::Error& why);
    /// Nothing more comes, and all that came is in the store.
    void ended(const trainyard::app::RunOutcome& outcome);

private:
    void enter(State state);
    void onChecked(Result<CheckedExperiment> checked);
    void record();
    void launch();
    void onLaunched(const Result<StartReply>& reply);
    void abandon(Error why);
    void follow();
    void onEvents(const std::vector<TimedEvent>& events);
    void onStateEvent(const spec::StateChanged& event);
    void onJournalEnded(JournalEnd reason, const Error& why);
    void askAgain();
    void endAsCrashed(Message reason);
    void finish();
    void sendStop();
    bool isYoung() const;

    RunStore& m_store;
    const LocalLauncher& m_launcher;
    const Options m_options;

    State m_state = State::Draft;
    int m_check = 0; ///< number of the check that is wanted; others came too late
    spec::Experiment m_experiment;
    std::optional<CheckedExperiment> m_checked;
    std::optional<RunRecord> m_run;
    std::int64_t m_namesakes = 0;
    bool m_launchRepeated = false;
    std::optional<Error> m_launchError; ///< start gave no answer, so the journal has to tell
    bool m_stopWanted = false;

    std::unique_ptr<JournalFeed> m_feed;
    std::optional<Error> m_unreadable; ///< why the journal tells nothing more
    QTimer m_again;
    ProgressMeter m_meter;
    std::optional<RunOutcome> m_outcome; ///< from the moment the last word was read
    RunOutcome m_heard;                  ///< failure and summary, as they came
};

} // namespace trainyard::app
