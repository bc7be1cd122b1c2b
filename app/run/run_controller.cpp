// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/run/run_controller.h"

#include "engine/base/check.h"
#include "engine/spec/experiment_json.h"

#include <QDateTime>

namespace trainyard::app {

namespace {

constexpr std::chrono::milliseconds kAskAgain{500};

RunController::State stateOf(RunStatus status) {
    switch (status) {
    case RunStatus::Created:
    case RunStatus::Starting:
        return RunController::State::Starting;
    case RunStatus::Running:
        return RunController::State::Running;
    case RunStatus::Stopping:
        return RunController::State::Stopping;
    case RunStatus::Finished:
        return RunController::State::Finished;
    case RunStatus::Failed:
        return RunController::State::Failed;
    case RunStatus::Stopped:
        return RunController::State::Stopped;
    case RunStatus::Diverged:
        return RunController::State::Diverged;
    case RunStatus::Crashed:
        return RunController::State::Crashed;
    }
    return RunController::State::Crashed;
}

RunStatus statusOf(spec::RunState state) {
    return combinedStatus({state}, false);
}

} // namespace

RunController::RunController(RunStore& store, const LocalLauncher& launcher, Options options,
                             QObject* parent)
    : QObject(parent), m_store(store), m_launcher(launcher), m_options(options) {
    m_again.setSingleShot(true);
    connect(&m_again, &QTimer::timeout, this, [this] { m_feed->open(); });
}

void RunController::enter(State state) {
    if (m_state == state)
        return;
    m_state = state;
    emit stateChanged(state);
}

// ---- Draft -> Checking -> Starting

void RunController::start(const spec::Experiment& experiment) {
    TRAINYARD_CHECK(m_state == State::Draft);
    m_experiment = experiment;
    m_checked.reset();
    m_stopWanted = false;
    enter(State::Checking);
    checkExperiment(m_launcher, experiment, this,
                    [this, number = ++m_check](Result<CheckedExperiment> checked) {
                        if (number == m_check && m_state == State::Checking)
                            onChecked(std::move(checked));
                    });
}

void RunController::onChecked(Result<CheckedExperiment> checked) {
    if (!checked.ok())
        return abandon(checked.error());
    if (!checked->problems.empty()) {
        enter(State::Draft);
        emit problemsFound(checked->problems);
        return;
    }
    m_checked = std::move(*checked);
    record();
}

void RunController::record() {
    const QString name = QString::fromStdString(m_experiment.name);
    const Result<std::int64_t> namesakes = m_store.reader().countNamed(name);
    m_namesakes = namesakes.ok() ? *namesakes : 0;
    const Result<RunRecord> run =
        m_store.createRun({name,
                           QByteArray::fromStdString(spec::toJson(m_experiment)),
                           kLocalHost,
                           static_cast<std::int32_t>(m_checked->plan.worldSize),
                           {},
                           {}});
    if (!run.ok())
        return abandon(run.error());
    m_run = *run;
    m_launchRepeated = false;
    enter(State::Starting);
    launch();
}

void RunController::launch() {
    const int ranks = m_checked->plan.worldSize;
    const int threads = threadsPerRank(m_checked->inspection.cores, ranks, m_options.desktopIsHere);
    m_launcher.start({.run = m_run->uid,
                      .experiment = QByteArray::fromStdString(spec::toJson(m_experiment)),
                      .ranks = ranks,
                      .threads = threads,
                      .bucketBytes = m_checked->plan.bucketBytes},
                     this, [this](const Result<StartReply>& reply) { onLaunched(reply); });
}

void RunController::onLaunched(const Result<StartReply>& reply) {
    if (!reply.ok() && !m_launchRepeated) {
        m_launchRepeated = true;
        return launch(); // harmless if the first one was heard
    }
    if (reply.ok() && reply->answer == StartReply::Answer::Refused)
        return abandon(reply->refusal);
    if (!reply.ok())
        m_launchError = reply.error();
    follow();
    if (!m_launchError)
        emit started();
    if (m_stopWanted)
        sendStop();
}

/// The run has not come to be: nothing of it stays.
void RunController::abandon(Error why) {
    if (m_feed)
        m_feed.release()->deleteLater(); // this may be its own signal
    m_launchError.reset();
    if (const std::optional<RunRecord> run = std::exchange(m_run, std::nullopt))
        (void)m_store.deleteRun(run->id); // at worst it is listed as crashed
    enter(State::Draft);
    emit startFailed(why);
}

// ---- Running

void RunController::adopt(const RunRecord& run) {
    TRAINYARD_CHECK(m_state == State::Draft);
    m_run = run;
    m_meter = ProgressMeter(run);
    if (const Result<std::vector<SeriesInfo>> series = m_store.reader().seriesOf(run.id);
        series.ok())
        for (const SeriesInfo& info : *series)
            m_meter.takeValue(info.metric.toStdString(), info.summary.last);
    enter(stateOf(run.status));
    if (!isOver())
        follow();
}

void RunController::follow() {
    m_feed = std::make_unique<JournalFeed>(m_store, JournalKey{m_run->id, kLocalHost},
                                           m_launcher.attach(m_run->uid), m_options.mode,
                                           m_options.timing);
    connect(m_feed.get(), &JournalFeed::eventsArrived, this, &RunController::onEvents);
    connect(m_feed.get(), &JournalFeed::connected, this, &RunController::connected);
    connect(m_feed.get(), &JournalFeed::disconnected, this, &RunController::disconnected);
    connect(m_feed.get(), &JournalFeed::ended, this, &RunController::onJournalEnded);
    m_feed->open();
}

void RunController::reread() {
    if (m_feed)
        m_feed->open();
}

void RunController::onEvents(const std::vector<TimedEvent>& events) {
    if (std::exchange(m_launchError, std::nullopt))
        emit started(); // it was heard after all
    for (const TimedEvent& each : events) {
        m_meter.take(each.event, each.timeNs);
        if (const auto* failure = std::get_if<spec::Failure>(&each.event)) {
            if (!m_heard.failure)
                m_heard.failure = *failure; // the first is the cause
        } else if (const auto* summary = std::get_if<spec::Summary>(&each.event)) {
            m_heard.summary = *summary;
        }
    }
    emit eventsArrived(events);
    emit progressed();
    for (const TimedEvent& each : events)
        if (const auto* state = std::get_if<spec::StateChanged>(&each.event))
            onStateEvent(*state);
}

void RunController::onStateEvent(const spec::StateChanged& event) {
    if (spec::isFinal(event.state)) {
        m_outcome = m_heard;
        m_outcome->status = statusOf(event.state);
        m_outcome->reason = event.reason;
        return; // told when all of it is stored
    }
    const State state = stateOf(statusOf(event.state));
    if (state > m_state) // a person may have asked for the end before the run says so
        enter(state);
}

void RunController::onJournalEnded(JournalEnd reason, const Error& why) {
    switch (reason) {
    case JournalEnd::Final:
        return finish();
    case JournalEnd::NoSuchRun:
        if (m_launchError)
            return abandon(*m_launchError);
        if (isYoung()) // another program is just about to start it
            return askAgain();
        return endAsCrashed({"This machine knows nothing of the run."});
    case JournalEnd::SupervisorGone:
        if (isYoung() && m_meter.progress().step == 0)
            return askAgain();
        return endAsCrashed(
            {"The run's processes are gone, and it has not said why: they were killed, or the "
             "machine was restarted."});
    case JournalEnd::Unreadable: // it may well be running
        m_unreadable = why;
        emit disconnected(why);
        [[fallthrough]];
    case JournalEnd::StillRunning:
        if (m_options.mode == JournalStream::Mode::Once)
            emit caughtUp();
    }
}

void RunController::askAgain() {
    if (m_options.mode == JournalStream::Mode::Once)
        emit caughtUp();
    else
        m_again.start(kAskAgain);
}

bool RunController::isYoung() const {
    const std::int64_t ageUs = QDateTime::currentMSecsSinceEpoch() * 1000 - m_run->createdUtcUs;
    return ageUs < std::chrono::microseconds(m_options.startingGrace).count();
}

void RunController::endAsCrashed(Message reason) {
    m_outcome = m_heard;
    m_outcome->status = RunStatus::Crashed;
    m_outcome->reason = std::move(reason);
    (void)m_store.markCrashed(m_run->id); // a store that cannot be written says so by itself
    finish();
}

void RunController::finish() {
    if (!m_outcome) { // the store had the last word already
        const Result<std::optional<RunRecord>> stored = m_store.reader().run(m_run->id);
        m_outcome = m_heard;
        m_outcome->status = stored.ok() && *stored ? (*stored)->status : RunStatus::Crashed;
        if (stored.ok() && *stored && !m_outcome->failure)
            m_outcome->failure = (*stored)->failure;
    }
    m_again.stop();
    enter(stateOf(m_outcome->status));
    emit ended(*m_outcome);
}

// ---- Stopping

void RunController::stop() {
    if (m_state == State::Checking) {
        ++m_check;
        enter(State::Draft);
    } else if (m_state == State::Starting && !m_feed) {
        m_stopWanted = true; // sent as soon as the worker has the run
    } else if (m_state == State::Starting || m_state == State::Running) {
        sendStop();
    }
}

void RunController::sendStop() {
    enter(State::Stopping);
    m_launcher.stop(m_run->uid, this, [this](const Result<QJsonObject>& reply) {
        if (isOver())
            return;
        if (reply.ok() && m_unreadable)
            return endAsCrashed(m_unreadable->what);
        if (reply.ok())
            return; // the journal tells how the run ended
        enter(State::Running);
        emit stopFailed(reply.error());
    });
}

} // namespace trainyard::app

#include "moc_run_controller.cpp"
