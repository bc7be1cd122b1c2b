// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A store in a folder of its own and a worker that plays a part, for the tests of app/run and
// app/cli.
#pragma once

#include "app/run/run_follower.h"

#include <QObject>
#include <QTemporaryDir>

#include <memory>
#include <vector>

namespace trainyard::test {

/// Full path of a program of this build: "tests/stand_in_worker", "bin/trainyard".
QString builtProgram(const QString& relativePath);

/// Sets $STAND_IN_WORKER while it lives; see stand_in_worker.cpp.
class Script {
public:
    explicit Script(const QByteArray& words);
    ~Script();
    Script(const Script&) = delete;
    Script& operator=(const Script&) = delete;

private:
    QTemporaryDir m_memory;
};

/// Fits the data that the stand-in worker has: pictures of 2 x 2, three classes, 80 samples.
spec::Experiment tinyExperiment(const std::string& name = "tiny");

/// Short times, so that a lost link is found in a moment.
app::RunController::Options quickOptions();

class RunBench {
public:
    RunBench();

    QString folder() const { return m_folder.path(); }
    app::RunStore& store() { return *m_store; }
    const app::LocalLauncher& launcher() const { return m_launcher; }
    app::RunFollower& follower() { return m_follower; }
    /// All runs, the newest first.
    std::vector<app::RunRecord> runs();
    app::Points points(app::RunId run, const char* metric);

private:
    QTemporaryDir m_folder;
    std::unique_ptr<app::RunStore> m_store;
    app::LocalLauncher m_launcher;
    app::RunFollower m_follower;
};

/// Everything that a controller says, in its order, as words: "checking", "started", "ended
/// finished".
class ControllerRecord : public QObject {
    Q_OBJECT
public:
    explicit ControllerRecord(app::RunController& controller);

    QStringList words;
    Problems problems;
    std::vector<Error> errors;
    std::optional<app::RunOutcome> outcome;
    std::vector<std::int64_t> steps; ///< of all events with a training loss
};

} // namespace trainyard::test
