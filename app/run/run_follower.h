// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// All runs of a store that are not over, each with a controller: those of this program, and those
// that another one has started, also before this one was. Rule: at most one controller of a run in
// a program; a run that was deleted has none.
#pragma once

#include "app/run/run_controller.h"

#include <QObject>
#include <QPointer>

#include <map>
#include <memory>
#include <vector>

namespace trainyard::app {

class RunFollower : public QObject {
    Q_OBJECT
public:
    RunFollower(RunStore& store, const LocalLauncher& launcher, RunController::Options options,
                QObject* parent = nullptr);

    /// A controller in the state Draft, for a run that is to be started. It stays until this goes,
    /// or until it is deleted.
    RunController* newRun();
    /// None for a run that was over when it was first seen.
    RunController* controllerOf(RunId run) const;

    /// Follows every run of the store that is not over, now and in the future.
    void followAll();
    /// Brings into the store what the journals have now, once; caughtUp() tells the end.
    void catchUp();

signals:
    /// A run that was already there is followed from now on.
    void followed(trainyard::app::RunController* controller);
    /// The run is over or deleted; so is the controller when this returns to the event loop.
    void left(trainyard::app::RunController* controller);
    /// With what could not be read.
    void caughtUp(const trainyard::Problems& problems);

private:
    void look();
    void follow(const RunRecord& run);
    void forget(RunId run);
    void onReread();
    void onCaughtUp(RunController* controller);

    RunStore& m_store;
    const LocalLauncher& m_launcher;
    const RunController::Options m_options;
    std::vector<QPointer<RunController>> m_own; ///< of newRun()
    std::map<RunId, RunController*> m_adopted;
    std::vector<RunController*> m_catchingUp;
    Problems m_catchUpProblems;
    std::int64_t m_revision = 0;
    bool m_following = false;
};

} // namespace trainyard::app
