// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// When the ground gives way: the supervisor is killed, the disk is full or read-only.
#include "engine/agent/run_folder.h"
#include "tests/agent/agent_harness.h"
#include "tests/agent/small_disk.h"

#include <QElapsedTimer>
#include <QJsonArray>
#include <QtTest>

#include <csignal>

using namespace trainyard;
using namespace trainyard::engine;
using spec::RunState;

namespace {

const QString kRun = QStringLiteral("r1");

QStringList onRun(const QString& verb) {
    return {verb, QStringLiteral("--run"), kRun};
}

} // namespace

class AgentFaultsTest : public QObject {
    Q_OBJECT

private slots:
    void killedSupervisorTakesItsRanksWithIt();
    void orphansAreSweptByTheNext_data();
    void orphansAreSweptByTheNext();
    void sweepSparesLivingRuns();
    void attachSeesTheSupervisorDie();
    void journalOfAKilledRunIsWhole();
    void fullDiskEndsTheRunInWords();
    void fullDiskRefusesAStart();
    void readOnlyRootRefusesAStart();
    void rootThatIsAFile();
};

void AgentFaultsTest::killedSupervisorTakesItsRanksWithIt() {
    AgentHarness agent;
    const QJsonObject answer =
        agent.start(kRun, 3, R"([[["ignore_term"], ["running"], ["block"]]])");
    QTRY_VERIFY(!eventsOf<spec::StateChanged>(agent.journal(kRun)).empty());
    QCOMPARE(agent.processes(), 3);
    QElapsedTimer timer;
    timer.start();
    QCOMPARE(::kill(answer.value(u"pid").toInt(), SIGKILL), 0);
    QTRY_COMPARE_WITH_TIMEOUT(agent.processes(), 0, 3000);
    qInfo() << "ranks gone" << timer.elapsed() << "ms after kill -9 of the supervisor";
    const QJsonObject stop = agent.call(onRun(QStringLiteral("stop"))).json();
    QCOMPARE(stop.value(u"answer").toString(), QStringLiteral("dead"));
    const QJsonObject again = agent.start(kRun, 1, "[[]]");
    QCOMPARE(again.value(u"answer").toString(), QStringLiteral("finished"));
    QVERIFY(again.value(u"error").toString().contains(QStringLiteral("was killed")));
    QCOMPARE(agent.call(onRun(QStringLiteral("remove"))).json().value(u"answer").toString(),
             QStringLiteral("removed"));
}

void AgentFaultsTest::orphansAreSweptByTheNext_data() {
    QTest::addColumn<QString>("verb");
    for (const char* verb : {"probe", "sweep", "stop", "start", "remove"})
        QTest::newRow(verb) << QString::fromLatin1(verb);
}

void AgentFaultsTest::orphansAreSweptByTheNext() {
    QFETCH(QString, verb);
    AgentHarness agent;
    const QJsonObject answer =
        agent.start(kRun, 1, R"([[["daemons"], ["touch", "ready"], ["block"]]])");
    QTRY_VERIFY(agent.processes() >= 7);
    QCOMPARE(::kill(answer.value(u"pid").toInt(), SIGKILL), 0);
    QTRY_COMPARE(agent.processes(), 6); // the rank goes by itself, its daemons stay
    QElapsedTimer timer;
    timer.start();
    QJsonObject report;
    if (verb == u"start")
        report = agent.start(QStringLiteral("r2"), 1, "[[]]");
    else
        report = agent.call(verb == u"stop" || verb == u"remove" ? onRun(verb) : QStringList{verb})
                     .json();
    qInfo() << verb << "took" << timer.elapsed() << "ms";
    const auto livingOfDeadRun = [&]() {
        return agent.processes() - (RunLock::isHeld(agent.folder(QStringLiteral("r2"))) ? 1 : 0);
    };
    QTRY_COMPARE_WITH_TIMEOUT(livingOfDeadRun(), 0, 5000);
    if (verb == u"start" || verb == u"remove")
        return;
    const QString key = verb == u"sweep" ? QStringLiteral("ended") : QStringLiteral("swept");
    QCOMPARE(report.value(key).toArray().size(), 6);
    QCOMPARE(report.value(key).toArray().at(0).toObject().value(u"run").toString(), kRun);
}

void AgentFaultsTest::sweepSparesLivingRuns() {
    AgentHarness agent;
    AgentHarness other;
    agent.start(kRun, 2, R"([[["daemons"], ["block"]]])");
    other.start(kRun, 1, R"([[["block"]]])");
    const QJsonObject dead = agent.start(QStringLiteral("r2"), 1, R"([[["daemons"], ["block"]]])");
    QTRY_COMPARE(agent.processes(), 21);
    QCOMPARE(::kill(dead.value(u"pid").toInt(), SIGKILL), 0);
    QTRY_COMPARE(agent.processes(), 20);
    const QJsonObject report = agent.call({QStringLiteral("sweep")}).json();
    QCOMPARE(report.value(u"ended").toArray().size(), 6);
    QCOMPARE(agent.processes(), 14);
    QCOMPARE(other.processes(), 1);
}

void AgentFaultsTest::attachSeesTheSupervisorDie() {
    AgentHarness agent;
    const QJsonObject answer =
        agent.start(kRun, 1, R"([[["running"], ["metrics", 50], ["block"]]])");
    const std::unique_ptr<QProcess> attached = agent.spawn(
        onRun(QStringLiteral("attach")) << QStringLiteral("--from") << QStringLiteral("0"));
    QByteArray received;
    const auto metrics = [&]() {
        received += attached->readAllStandardOutput();
        return eventsOf<spec::Metrics>(framesIn(received)).size();
    };
    QTRY_COMPARE(metrics(), 50u);
    QElapsedTimer timer;
    timer.start();
    QCOMPARE(::kill(answer.value(u"pid").toInt(), SIGKILL), 0);
    QVERIFY(attached->waitForFinished(5000));
    qInfo() << "attach told of the death after" << timer.elapsed() << "ms";
    QCOMPARE(attached->exitCode(), 5);
    received += attached->readAllStandardOutput();
    const std::vector<JournalFrame> frames = framesIn(received);
    QVERIFY(!std::get<spec::Heartbeat>(*frames.back().event).supervisorAlive);
    QByteArray journaled;
    for (const JournalFrame& frame : frames)
        if (frame.frame.sequence > 0)
            journaled += QByteArray::fromStdString(spec::encodeFrame(frame.frame));
    QCOMPARE(journaled, agent.journalBytes(kRun));
}

void AgentFaultsTest::journalOfAKilledRunIsWhole() {
    // Killed at any time, the journal has whole frames without a gap, and at most a torn end.
    for (int round = 0; round < 10; ++round) {
        AgentHarness agent;
        const QJsonObject answer = agent.start(
            kRun, 2, R"([[["metrics", 1000000]], [["print", "x\n"], ["metrics", 1000000]]])");
        QTRY_VERIFY(agent.journalBytes(kRun).size() > 20000 * (round + 1));
        QCOMPARE(::kill(answer.value(u"pid").toInt(), SIGKILL), 0);
        QTRY_COMPARE(agent.processes(), 0);
        const std::vector<JournalFrame> frames = agent.journal(kRun);
        for (std::size_t i = 0; i < frames.size(); ++i)
            QCOMPARE(frames[i].frame.sequence, i + 1);
        QVERIFY(eventsOf<spec::Metrics>(frames).size() > 100);
    }
}

void AgentFaultsTest::fullDiskEndsTheRunInWords() {
    SmallDisk disk(1024 * 1024);
    if (!disk.isMounted())
        QSKIP(disk.whyNot().constData());
    AgentHarness agent(disk.path() + QStringLiteral("/root"));
    agent.start(kRun, 2,
                R"([[["running"], ["metrics", 100], ["wait_file", "go"], ["metrics", 1000000, 101]],
                             [["wait_file", "go"], ["block"]]])");
    QTRY_COMPARE(eventsOf<spec::Metrics>(agent.journal(kRun)).size(), 100u);
    agent.touch(kRun, QStringLiteral("go"));
    QElapsedTimer timer;
    timer.start();
    disk.fill(100 * 1024);
    QVERIFY(agent.waitForEnd(kRun));
    qInfo() << "disk full to final state:" << timer.elapsed() << "ms";

    bool whole = false;
    const std::vector<JournalFrame> frames = framesIn(agent.journalBytes(kRun), &whole);
    QVERIFY(whole);
    std::int64_t step = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        QCOMPARE(frames[i].frame.sequence, i + 1);
        if (const auto* metrics = std::get_if<spec::Metrics>(&*frames[i].event))
            QCOMPARE(metrics->step, step = step + 1);
    }
    QVERIFY(step >= 100 && step < 1000000);
    QVERIFY(agent.finalState(kRun)->state == RunState::Failed);
    const auto failures = eventsOf<spec::Failure>(frames);
    QCOMPARE(failures.size(), 1u);
    QCOMPARE(failures[0].what.text(), "disk full: " + agent.folder(kRun).journal());
    QCOMPARE(agent.processes(), 0);
    QVERIFY(!RunLock::isHeld(agent.folder(kRun)));

    // A reader gets all of it, and later runs start once there is room.
    const Outcome attached =
        agent.call(onRun(QStringLiteral("attach")) << QStringLiteral("--once"));
    QCOMPARE(attached.exitCode, 0);
    QCOMPARE(attached.output, agent.journalBytes(kRun));
    disk.clear();
    agent.start(QStringLiteral("r2"), 1, "[[]]");
    QVERIFY(agent.waitForEnd(QStringLiteral("r2")));
    QVERIFY(agent.finalState(QStringLiteral("r2"))->state == RunState::Finished);
}

void AgentFaultsTest::fullDiskRefusesAStart() {
    SmallDisk disk(1024 * 1024);
    if (!disk.isMounted())
        QSKIP(disk.whyNot().constData());
    AgentHarness agent(disk.path() + QStringLiteral("/root"));
    agent.start(QStringLiteral("r0"), 1, "[[]]");
    QVERIFY(agent.waitForEnd(QStringLiteral("r0")));
    for (const qint64 leave : {0, 4096, 8192, 16384, 32768}) { // fails in different places
        disk.clear();
        disk.fill(leave);
        const QJsonObject answer = agent.start(kRun, 1, "[[]]");
        QCOMPARE(answer.value(u"answer").toString(), QStringLiteral("refused"));
        const QString error = answer.value(u"error").toString();
        QVERIFY2(error.startsWith(QStringLiteral("disk full: ") + disk.path()), qPrintable(error));
        QVERIFY(!agent.folder(kRun).exists());
        QCOMPARE(agent.processes(), 0);
    }
    disk.clear();
    QCOMPARE(agent.start(kRun, 1, "[[]]").value(u"answer").toString(), QStringLiteral("started"));
    QVERIFY(agent.waitForEnd(kRun));
}

void AgentFaultsTest::readOnlyRootRefusesAStart() {
    SmallDisk disk(1024 * 1024);
    if (!disk.isMounted())
        QSKIP(disk.whyNot().constData());
    QVERIFY(disk.makeReadOnly());
    AgentHarness agent(disk.path() + QStringLiteral("/root"));
    const QJsonObject answer = agent.start(kRun, 1, "[[]]");
    QCOMPARE(answer.value(u"answer").toString(), QStringLiteral("refused"));
    QCOMPARE(answer.value(u"error").toString(),
             QStringLiteral(
                 "Cannot make the folder %1: Read-only file system. The file system is mounted "
                 "read-only: choose another folder with --root.")
                 .arg(agent.root()));
    QCOMPARE(agent.call({QStringLiteral("probe")})
                 .json()
                 .value(u"root")
                 .toObject()
                 .value(u"writable")
                 .toBool(true),
             false);
}

void AgentFaultsTest::rootThatIsAFile() {
    QTemporaryDir folder;
    QFile file(folder.path() + QStringLiteral("/root"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    AgentHarness agent(file.fileName());
    const QJsonObject answer = agent.start(kRun, 1, "[[]]");
    QCOMPARE(answer.value(u"answer").toString(), QStringLiteral("refused"));
    QVERIFY(answer.value(u"error").toString().contains(QStringLiteral("Not a directory")));
}

QTEST_GUILESS_MAIN(AgentFaultsTest)
#include "tst_agent_faults.moc"
