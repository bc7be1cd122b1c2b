// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Finding the worker and asking it one thing: the answer, or why there is none, exactly once.
#include "app/run/worker_command.h"
#include "app/run/worker_location.h"
#include "tests/support/run_support.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QRegularExpression>
#include <QTest>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

WorkerCall inspectCall(std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
    return {builtProgram(QStringLiteral("tests/stand_in_worker")),
            {QStringLiteral("inspect")},
            "{}",
            timeout};
}

/// What the handler has heard.
struct Heard {
    int calls = 0;
    std::optional<Result<WorkerReply>> reply;

    Handler<WorkerReply> handler() {
        return [this](const Result<WorkerReply>& answer) {
            ++calls;
            reply = answer;
        };
    }
    QByteArray error() const {
        return reply && !reply->ok() ? QByteArray::fromStdString(reply->error().sentence()) : "";
    }
};

bool makeProgram(const QString& path) {
    QFile file(path);
    return QDir().mkpath(QFileInfo(path).path()) && file.open(QIODevice::WriteOnly) &&
           file.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
}

} // namespace

class TestWorkerCommand : public QObject {
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral(".*"))); }

    void theWorkerLiesBesideTheProgramOrInLibexec() {
        QTemporaryDir folder;
        const QString bin = folder.filePath(QStringLiteral("usr/bin"));
        const QStringList folders = workerFolders(bin);
        const Result<QString> missing = findWorker(folders);
        QVERIFY(!missing.ok());
        QVERIFY(missing.error().sentence().find(bin.toStdString()) != std::string::npos);

        const QString packaged =
            folder.filePath(QStringLiteral("usr/libexec/trainyard/trainyard-worker"));
        QVERIFY(makeProgram(packaged));
        QCOMPARE(*findWorker(folders), packaged);
        const QString beside = folder.filePath(QStringLiteral("usr/bin/trainyard-worker"));
        QVERIFY(makeProgram(beside));
        QCOMPARE(*findWorker(folders), beside);
        QVERIFY(QFile::setPermissions(beside, QFile::ReadOwner)); // not a program any more
        QCOMPARE(*findWorker(folders), packaged);
    }

    void anAnswer() {
        Heard heard;
        WorkerCommand::run(inspectCall(), this, heard.handler());
        QCOMPARE(heard.calls, 0); // never from inside run()
        QTRY_COMPARE(heard.calls, 1);
        QVERIFY(heard.reply->ok());
        QCOMPARE((*heard.reply)->exitCode, 0);
        QCOMPARE((*heard.reply)->json[QLatin1StringView("format")].toString(),
                 QStringLiteral("trainyard.inspect/1"));
    }

    void aLineBeforeTheAnswer() {
        Heard heard;
        QTemporaryDir root;
        WorkerCall call = inspectCall();
        call.arguments = {QStringLiteral("start"), QStringLiteral("--root"), root.path(),
                          QStringLiteral("--run"), QStringLiteral("a")};
        WorkerCommand::run(call, this, heard.handler());
        QTRY_COMPARE(heard.calls, 1);
        QVERIFY2(heard.reply->ok(), heard.error().constData());
        QCOMPARE((*heard.reply)->json[QLatin1StringView("answer")].toString(),
                 QStringLiteral("started"));
    }

    void noSuchProgram() {
        Heard heard;
        WorkerCall call = inspectCall();
        call.program = QStringLiteral("/nowhere/trainyard-worker");
        WorkerCommand::run(call, this, heard.handler());
        QTRY_COMPARE(heard.calls, 1);
        QVERIFY2(heard.error().startsWith("/nowhere/trainyard-worker cannot be started: "),
                 heard.error().constData());
    }

    void noAnswerInTime() {
        const Script script("inspect=silent");
        Heard heard;
        QElapsedTimer timer;
        timer.start();
        WorkerCommand::run(inspectCall(std::chrono::seconds(1)), this, heard.handler());
        QTRY_COMPARE_WITH_TIMEOUT(heard.calls, 1, 20'000);
        QCOMPARE(heard.error(), "The worker did not answer to \"inspect\" within 1 s.");
        QVERIFY(timer.elapsed() < 20'000); // it stands still for a minute
    }

    void aCrash() {
        const Script script("inspect=crash");
        Heard heard;
        WorkerCommand::run(inspectCall(), this, heard.handler());
        QTRY_COMPARE(heard.calls, 1);
        QCOMPARE(heard.error(), "The worker crashed (signal 9, Killed) while it did \"inspect\". "
                                "It wrote: out of luck");
    }

    void nobodyListensAnyMore() {
        const Script script("inspect=slow");
        Heard gone;
        Heard heard;
        {
            QObject context;
            WorkerCommand::run(inspectCall(), &context, gone.handler());
            WorkerCommand::run(inspectCall(), this, heard.handler());
        }
        QTRY_COMPARE(heard.calls, 1);
        QCOMPARE(gone.calls, 0);
    }
};

QTEST_GUILESS_MAIN(TestWorkerCommand)
#include "tst_worker_command.moc"
