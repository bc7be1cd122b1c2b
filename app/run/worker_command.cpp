// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/run/worker_command.h"

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>

#include <csignal>
#include <cstring>
#include <unistd.h>

namespace trainyard::app {

namespace {

constexpr int kGoneInTime = 1000; ///< ms
constexpr qsizetype kErrorTailCharacters = 400;

/// The object in the output; lines before it (of libraries, of a shell) are skipped.
QJsonObject objectIn(const QByteArray& output) {
    const QJsonDocument whole = QJsonDocument::fromJson(output);
    if (whole.isObject())
        return whole.object();
    const QByteArray trimmed = output.trimmed();
    return QJsonDocument::fromJson(trimmed.mid(trimmed.lastIndexOf('\n') + 1)).object();
}

} // namespace

void startInOwnSession(QProcess& process, int output) {
    process.setChildProcessModifier([output] {
        ::setsid();
        if (output >= 0)
            ::dup2(output, STDOUT_FILENO);
        // Whatever is ignored in this program must not stay ignored there.
        ::signal(SIGINT, SIG_DFL);
        ::signal(SIGHUP, SIG_DFL);
        ::signal(SIGPIPE, SIG_DFL);
    });
}

Message messageOf(const QJsonValue& json) {
    if (json.isString())
        return Message(json.toString().toStdString());
    const QJsonObject object = json.toObject();
    Message message(object[QLatin1StringView("format")].toString().toStdString());
    for (const QJsonValue& argument : object[QLatin1StringView("arguments")].toArray())
        message.arguments.push_back(argument.toString().toStdString());
    return message;
}

Error errorFromJson(const QJsonObject& json) {
    return Error(messageOf(json[QLatin1StringView("what")]),
                 json[QLatin1StringView("where")].toString().toStdString(),
                 messageOf(json[QLatin1StringView("cure")]));
}

void WorkerCommand::run(WorkerCall call, QObject* context, Handler<WorkerReply> handler) {
    // Owned by the context; deletes itself when the process has ended.
    new WorkerCommand(std::move(call), context, std::move(handler));
}

WorkerCommand::WorkerCommand(WorkerCall call, QObject* context, Handler<WorkerReply> handler)
    : QObject(context), m_call(std::move(call)), m_handler(std::move(handler)) {
    startInOwnSession(m_process);
    connect(&m_process, &QProcess::finished, this, &WorkerCommand::onFinished);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            onFailedToStart();
    });
    connect(&m_process, &QProcess::readyReadStandardOutput, this, &WorkerCommand::onOutput);
    m_timeout.setSingleShot(true);
    connect(&m_timeout, &QTimer::timeout, this, [this] {
        m_timedOut = true;
        m_process.kill();
    });
    // From the event loop, so that the handler is never called inside run().
    QTimer::singleShot(0, this, [this] {
        m_timeout.start(m_call.timeout);
        m_process.start(m_call.program, m_call.arguments);
        m_process.write(m_call.input);
        m_process.closeWriteChannel();
    });
}

WorkerCommand::~WorkerCommand() {
    if (m_process.state() == QProcess::NotRunning)
        return;
    m_process.disconnect(this);
    m_process.kill();
    m_process.waitForFinished(kGoneInTime); // killed, so it is a moment at most
}

void WorkerCommand::onFailedToStart() {
    finish(problem({"%1 cannot be started: %2.",
                    {m_call.program.toStdString(), m_process.errorString().toStdString()}}));
}

void WorkerCommand::onOutput() {
    m_output += m_process.readAllStandardOutput();
    if (!m_call.onLine)
        return;
    for (qsizetype end = m_output.indexOf('\n', m_told); end >= 0;
         end = m_output.indexOf('\n', m_told)) {
        const QByteArray line = m_output.mid(m_told, end - m_told);
        m_told = end + 1;
        m_call.onLine(line);
    }
}

void WorkerCommand::onFinished(int exitCode, QProcess::ExitStatus status) {
    const std::string verb = m_call.arguments.value(0).toStdString();
    if (m_timedOut)
        return finish(problem(
            {"The worker did not answer to \"%1\" within %2 s.",
             {verb,
              std::to_string(
                  std::chrono::duration_cast<std::chrono::seconds>(m_call.timeout).count())}}));
    if (status == QProcess::CrashExit)
        return finish(problem({"The worker crashed (signal %1, %2) while it did \"%3\".",
                               {std::to_string(exitCode), ::strsignal(exitCode), verb}}));
    onOutput();
    const QJsonObject json = objectIn(m_output);
    if (json.isEmpty())
        return finish(problem({"The worker gave no answer to \"%1\" (exit code %2).",
                               {verb, std::to_string(exitCode)}}));
    finish(
        WorkerReply{exitCode, json, QString::fromUtf8(m_process.readAllStandardError()).trimmed()});
}

Error WorkerCommand::problem(Message what) {
    const QString written = QString::fromUtf8(m_process.readAllStandardError()).trimmed();
    if (written.isEmpty())
        return Error(std::move(what));
    return Error(std::move(what), {},
                 {"It wrote: %1", {written.right(kErrorTailCharacters).toStdString()}});
}

void WorkerCommand::finish(Result<WorkerReply> reply) {
    m_timeout.stop();
    deleteLater();
    if (const Handler<WorkerReply> handler = std::exchange(m_handler, nullptr))
        handler(std::move(reply));
}

} // namespace trainyard::app

#include "moc_worker_command.cpp"
