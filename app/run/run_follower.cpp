// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/run/run_follower.h"

#include <algorithm>

namespace trainyard::app {

namespace {

/// How soon runs of other programs are noticed.
constexpr std::chrono::milliseconds kWatchInterval{1000};

} // namespace

RunFollower::RunFollower(RunStore& store, const LocalLauncher& launcher,
                         RunController::Options options, QObject* parent)
    : QObject(parent), m_store(store), m_launcher(launcher), m_options(options) {
    connect(&m_store, &RunStore::rereadNeeded, this, &RunFollower::onReread);
}

RunController* RunFollower::newRun() {
    auto* controller = new RunController(m_store, m_launcher, m_options, this);
    m_own.emplace_back(controller);
    return controller;
}

RunController* RunFollower::controllerOf(RunId run) const {
    for (const QPointer<RunController>& own : m_own)
        if (own && own->run() && own->run()->id == run)
            return own;
    const auto found = m_adopted.find(run);
    return found == m_adopted.end() ? nullptr : found->second;
}

void RunFollower::followAll() {
    if (std::exchange(m_following, true))
        return;
    connect(&m_store, &RunStore::changed, this, &RunFollower::look);
    m_store.watch(kWatchInterval);
    QTimer::singleShot(0, this, &RunFollower::look);
}

void RunFollower::look() {
    const Result<StoreChanges> changes = m_store.reader().changesSince(m_revision);
    if (!changes.ok())
        return; // the store is asked again after its next change
    m_revision = changes->revision;
    for (const RunId run : changes->deleted)
        forget(run);
    for (const RunRecord& run : changes->changed)
        if (!isFinal(run.status) && run.host == kLocalHost && !controllerOf(run.id))
            follow(run);
}

void RunFollower::follow(const RunRecord& run) {
    auto* controller = new RunController(m_store, m_launcher, m_options, this);
    m_adopted[run.id] = controller;
    const RunId id = run.id;
    connect(controller, &RunController::ended, this, [this, id] { forget(id); });
    controller->adopt(run);
    emit followed(controller);
}

void RunFollower::forget(RunId run) {
    const auto found = m_adopted.find(run);
    if (found == m_adopted.end())
        return;
    RunController* controller = found->second;
    m_adopted.erase(found);
    controller->disconnect(this);
    emit left(controller);
    controller->deleteLater();
}

void RunFollower::onReread() {
    for (const JournalKey& journal : m_store.takeRereads()) {
        if (RunController* controller = controllerOf(journal.run))
            controller->reread();
        for (RunController* controller : m_catchingUp)
            if (controller->run()->id == journal.run)
                controller->reread();
    }
}

void RunFollower::catchUp() {
    RunController::Options once = m_options;
    once.mode = JournalStream::Mode::Once;
    m_catchUpProblems.clear();
    const Result<std::vector<RunRecord>> runs = m_store.reader().runs();
    if (!runs.ok())
        m_catchUpProblems.push_back(runs.error());
    else
        for (const RunRecord& run : *runs) {
            if (isFinal(run.status) || run.host != kLocalHost || controllerOf(run.id))
                continue;
            auto* controller = new RunController(m_store, m_launcher, once, this);
            m_catchingUp.push_back(controller);
            connect(controller, &RunController::disconnected, this,
                    [this](const Error& why) { m_catchUpProblems.push_back(why); });
            connect(controller, &RunController::caughtUp, this,
                    [this, controller] { onCaughtUp(controller); });
            connect(controller, &RunController::ended, this,
                    [this, controller] { onCaughtUp(controller); });
            controller->adopt(run);
        }
    if (m_catchingUp.empty())
        QTimer::singleShot(0, this, [this] { emit caughtUp(m_catchUpProblems); });
}

void RunFollower::onCaughtUp(RunController* controller) {
    if (std::erase(m_catchingUp, controller) == 0)
        return;
    controller->disconnect(this);
    controller->deleteLater();
    if (m_catchingUp.empty())
        emit caughtUp(m_catchUpProblems);
}

} // namespace trainyard::app

#include "moc_run_follower.cpp"
