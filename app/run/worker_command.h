// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One verb of the worker, run to its end without waiting for it: words and bytes in, JSON out.
// Rules: the handler is called exactly once, from the event loop of the caller's thread, and not at
// all when its context object is gone by then. A worker that does not answer in time is killed.
#pragma once

#include "engine/base/result.h"

#include <QByteArray>
#include <QJsonObject>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTimer>

#include <chrono>
#include <functional>

namespace trainyard::app {

/// Takes what an asynchronous call came to.
template <class T>
using Handler = std::function<void(Result<T>)>;

struct WorkerCall {
    QString program;
    QStringList arguments; ///< the verb comes first
    QByteArray input;      ///< all that stdin holds
    std::chrono::milliseconds timeout{10'000};
    /// Hears of the lines of the output as they come; may be empty.
    std::function<void(const QByteArray& line)> onLine = {};
};

struct WorkerReply {
    int exitCode = 0;
    QJsonObject json;
    QString errorOutput; ///< what the worker wrote to stderr
};

class WorkerCommand : public QObject {
    Q_OBJECT
public:
    static void run(WorkerCall call, QObject* context, Handler<WorkerReply> handler);

    ~WorkerCommand() override;

private:
    WorkerCommand(WorkerCall call, QObject* context, Handler<WorkerReply> handler);
    void onOutput();
    void onFinished(int exitCode, QProcess::ExitStatus status);
    void onFailedToStart();
    void finish(Result<WorkerReply> reply);
    /// With what the worker last wrote to stderr.
    Error problem(Message what);

    const WorkerCall m_call;
    Handler<WorkerReply> m_handler;
    QProcess m_process;
    QTimer m_timeout;
    QByteArray m_output;
    qsizetype m_told = 0; ///< bytes of the output that onLine has heard of
    bool m_timedOut = false;
};

/// To be called before start(): gives the worker a session of its own, so that a Ctrl-C meant for
/// this program, or the end of its terminal, does not reach it. `output`, if given, becomes its
/// stdout.
void startInOwnSession(QProcess& process, int output = -1);

/// A problem as the worker writes it: {"where", "what": {"format", "arguments"}, "cure"}.
Message messageOf(const QJsonValue& json);
Error errorFromJson(const QJsonObject& json);

} // namespace trainyard::app
