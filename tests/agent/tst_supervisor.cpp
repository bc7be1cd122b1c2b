// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The supervisor against ranks that die, hang, print and lie: one failure that names the cause, a
// final state, and no process left.
#include "tests/agent/agent_harness.h"

#include <QElapsedTimer>
#include <QtTest>

#include <cmath>
#include <csignal>
#include <set>
#include <utility>

using namespace trainyard;
using namespace trainyard::engine;
using spec::RunState;

namespace {

const QString kRun = QStringLiteral("r1");

pid_t pidOf(const std::vector<JournalFrame>& frames, int rank) {
    const auto started = eventsOf<spec::RanksStarted>(frames);
    return started.empty()
               ? 0
               : static_cast<pid_t>(started[0].ranks.at(static_cast<std::size_t>(rank)).pid);
}

QStringList stopArguments(const QString& grace) {
    return {QStringLiteral("stop"), QStringLiteral("--run"), kRun, QStringLiteral("--grace"),
            grace};
}

bool hasMetrics(const std::vector<JournalFrame>& frames) {
    return !eventsOf<spec::Metrics>(frames).empty();
}

} // namespace

class SupervisorTest : public QObject {
    Q_OBJECT

private slots:
    void init();
    void cleanup();
    void endsOfRanks_data();
    void endsOfRanks();
    void killedRankEndsTheRunWithin5Seconds();
    void crashAtOnce();
    void victimsAreNotNamed();
    void aHangingRankIsNamed();
    void ranksOwnFailureIsTheOnlyOne();
    void failureWithoutEnd();
    void daemonsDoNotOutliveTheRun();
    void stopEndsDeafRanksAndTheirDaemons();
    void secondStopCanBeImpatient();
    void sigtermToTheSupervisorIsAStop();
    void outputBecomesLog();
    void aFloodIsSummarised();
    void garbageSilencesOnlyOneRank();
    void halfAnEventIsReported();
    void ranksCanNotSpeakForTheSupervisor();
    void loadIsSampled();
    void standingStillIsReportedOnce();
    void ranksInheritNothingElse();

private:
    void expectOneFailure(RunState state, int rank, const QString& what);

    std::unique_ptr<AgentHarness> m_agent;
};

void SupervisorTest::init() {
    m_agent = std::make_unique<AgentHarness>();
}

void SupervisorTest::cleanup() {
    if (QTest::currentTestFailed())
        qWarning() << m_agent->logLines(kRun);
    m_agent.reset();
}

/// The journal ends with exactly one Failure and the final state, and nothing of the run lives.
void SupervisorTest::expectOneFailure(RunState state, int rank, const QString& what) {
    QVERIFY(m_agent->waitForEnd(kRun));
    const std::vector<JournalFrame> frames = m_agent->journal(kRun);
    QVERIFY(m_agent->finalState(kRun)->state == state);
    const auto failures = eventsOf<spec::Failure>(frames);
    QCOMPARE(failures.size(), 1u);
    QVERIFY(std::holds_alternative<spec::Failure>(*frames[frames.size() - 2].event));
    QCOMPARE(QString::fromStdString(failures[0].what.text()),
             QString(what).replace(QStringLiteral("PID"), QString::number(pidOf(frames, rank))));
    QCOMPARE(failures[0].rank, rank);
    QCOMPARE(failures[0].pid, pidOf(frames, rank));
    QCOMPARE(failures[0].device, "cpu:" + std::to_string(rank));
    QVERIFY(!failures[0].host.empty());
    QVERIFY(!failures[0].cure.empty());
    QVERIFY(m_agent->finalState(kRun)->reason == failures[0].what);
    QCOMPARE(m_agent->processes(), 0);
}

void SupervisorTest::endsOfRanks_data() {
    QTest::addColumn<QByteArray>("scripts");
    QTest::addColumn<int>("state");
    QTest::addColumn<int>("culprit");
    const auto row = [](const char* name, const char* scripts, RunState state, int culprit) {
        QTest::newRow(name) << QByteArray(scripts) << static_cast<int>(state) << culprit;
    };
    row("all done", R"([[], []])", RunState::Finished, -1);
    row("exit 1", R"([[["wait_abort"], ["exit", 5]], [["exit", 1]]])", RunState::Failed, 1);
    row("exit 3 with words",
        R"([[["failure", "bad"], ["exit", 3]], [["wait_abort"], ["exit", 5]]])", RunState::Failed,
        0);
    row("diverged", R"([[["failure", "NaN"], ["exit", 4]], [["exit", 4]]])", RunState::Diverged, 0);
    row("crash",
        R"([[["metrics", 3], ["wait_abort"], ["exit", 5]], [["metrics", 3], ["signal", 11]]])",
        RunState::Failed, 1);
    row("one of three is silent", R"([[["exit", 5]], [["exit", 5]], [["block"]]])",
        RunState::Failed, 2);
}

void SupervisorTest::endsOfRanks() {
    QFETCH(QByteArray, scripts);
    QFETCH(int, state);
    QFETCH(int, culprit);
    m_agent->start(kRun,
                   static_cast<int>(scripts.contains("[\"exit\", 5]], [[\"exit\", 5]]") ? 3 : 2),
                   scripts);
    QVERIFY(m_agent->waitForEnd(kRun));
    QCOMPARE(static_cast<int>(m_agent->finalState(kRun)->state), state);
    const auto failures = eventsOf<spec::Failure>(m_agent->journal(kRun));
    QCOMPARE(failures.size(), culprit < 0 ? 0u : 1u);
    if (culprit >= 0)
        QCOMPARE(failures[0].rank, culprit);
    QCOMPARE(m_agent->processes(), 0);
}

void SupervisorTest::killedRankEndsTheRunWithin5Seconds() {
    // Rank 0 does not even look at the abort flag.
    m_agent->start(kRun, 2, R"([[["running"], ["metrics", 5], ["block"]],
                                [["status", 120, 7, "conv2"], ["touch", "ready"], ["block"]]])");
    QTRY_VERIFY(m_agent->fileExists(kRun, QStringLiteral("ready")) &&
                hasMetrics(m_agent->journal(kRun)));
    QElapsedTimer timer;
    timer.start();
    QCOMPARE(::kill(pidOf(m_agent->journal(kRun), 1), SIGKILL), 0);
    expectOneFailure(
        RunState::Failed, 1,
        QStringLiteral("Rank 1 (process PID) was killed by signal 9 (SIGKILL) at step 120, "
                       "in layer conv2."));
    QVERIFY2(timer.elapsed() < 5000, QByteArray::number(timer.elapsed()).constData());
    qInfo() << "from kill -9 of a rank to the end:" << timer.elapsed() << "ms";
    const auto failure = eventsOf<spec::Failure>(m_agent->journal(kRun)).at(0);
    QCOMPARE(failure.step, 120);
    QCOMPARE(failure.instruction, 7);
    QCOMPARE(failure.layer, std::string("conv2"));
    QCOMPARE(eventsOf<spec::Metrics>(m_agent->journal(kRun)).size(), 5u);
}

void SupervisorTest::crashAtOnce() {
    m_agent->start(kRun, 1, R"([[["signal", 6]]])");
    expectOneFailure(
        RunState::Failed, 0,
        QStringLiteral("Rank 0 (process PID) was killed by signal 6 (SIGABRT) before its "
                       "first step."));
}

void SupervisorTest::victimsAreNotNamed() {
    m_agent->start(kRun, 3, R"([[["status", 9, 1, "a"], ["wait_abort"], ["exit", 5]],
                                [["status", 8, 1, "b"], ["wait_abort"], ["exit", 5]],
                                [["status", 9, 3, "c"], ["wait_file", "go"], ["exit", 77]]])");
    QTRY_VERIFY(m_agent->journal(kRun).size() >= 2);
    m_agent->touch(kRun, QStringLiteral("go"));
    expectOneFailure(
        RunState::Failed, 2,
        QStringLiteral("Rank 2 (process PID) ended with exit code 77 without saying why at "
                       "step 9, in layer c."));
}

void SupervisorTest::aHangingRankIsNamed() {
    m_agent->start(kRun, 2, R"([[["status", 9, 4, "a"], ["wait_file", "go"], ["exit", 5]],
                                [["status", 9, 3, "b"], ["touch", "go"], ["block"]]])");
    expectOneFailure(
        RunState::Failed, 1,
        QStringLiteral("Rank 1 (process PID) stopped answering the other ranks at step 9, in "
                       "layer b."));
}

void SupervisorTest::ranksOwnFailureIsTheOnlyOne() {
    m_agent->start(kRun, 2, R"([[["failure", "No file."], ["failure", "Once more."], ["exit", 3]],
                                [["failure", "No file either."], ["wait_abort"], ["exit", 3]]])");
    expectOneFailure(RunState::Failed, 0, QStringLiteral("No file."));
    const QStringList lines = m_agent->logLines(kRun);
    QCOMPARE(lines.filter(QStringLiteral("Once more.")).size(), 1);
    QCOMPARE(lines.filter(QStringLiteral("No file either.")).size(), 1);
}

void SupervisorTest::failureWithoutEnd() {
    m_agent->start(kRun, 1, R"([[["failure", "Stuck on the way out."], ["block"]]])");
    expectOneFailure(RunState::Failed, 0, QStringLiteral("Stuck on the way out."));
}

void SupervisorTest::daemonsDoNotOutliveTheRun() {
    m_agent->start(kRun, 1, R"([[["daemons"], ["touch", "ready"], ["wait_file", "go"]]])");
    QTRY_VERIFY(m_agent->fileExists(kRun, QStringLiteral("ready")));
    QTRY_VERIFY(m_agent->processes() >= 7);
    m_agent->touch(kRun, QStringLiteral("go"));
    QVERIFY(m_agent->waitForEnd(kRun));
    QVERIFY(m_agent->finalState(kRun)->state == RunState::Finished);
    QCOMPARE(m_agent->processes(), 0);
}

void SupervisorTest::stopEndsDeafRanksAndTheirDaemons() {
    m_agent->start(
        kRun, 2,
        R"([[["ignore_term"], ["daemons"], ["touch", "ready"], ["block"]], [["wait_stop"]]])");
    QTRY_VERIFY(m_agent->fileExists(kRun, QStringLiteral("ready")));
    QTRY_VERIFY(m_agent->processes() >= 7);
    QElapsedTimer timer;
    timer.start();
    const Outcome outcome = m_agent->call(stopArguments(QStringLiteral("0.5")));
    qInfo() << "stop with 0.5 s of grace took" << timer.elapsed() << "ms";
    QVERIFY(timer.elapsed() < 5000);
    QCOMPARE(m_agent->processes(), 0); // when stop answers, they are gone
    QCOMPARE(outcome.json().value(u"answer").toString(), QStringLiteral("stopped"));
    const std::optional<spec::StateChanged> last = m_agent->finalState(kRun);
    QVERIFY(last->state == RunState::Stopped);
    QCOMPARE(QString::fromStdString(last->reason.text()),
             QStringLiteral("Rank 0 (process %1) did not end within 0.5 s after the stop was asked "
                            "for and was killed before its first step.")
                 .arg(pidOf(m_agent->journal(kRun), 0)));
}

void SupervisorTest::secondStopCanBeImpatient() {
    m_agent->start(kRun, 1, R"([[["ignore_term"], ["touch", "ready"], ["block"]]])");
    QTRY_VERIFY(m_agent->fileExists(kRun, QStringLiteral("ready")));
    const std::unique_ptr<QProcess> patient = m_agent->spawn(stopArguments(QStringLiteral("600")));
    QVERIFY(m_agent->waitFor(kRun, [](const std::vector<JournalFrame>& frames) {
        const auto states = eventsOf<spec::StateChanged>(frames);
        return !states.empty() && states.back().state == RunState::Stopping;
    }));
    const Outcome outcome = m_agent->call(stopArguments(QStringLiteral("0")));
    QCOMPARE(outcome.json().value(u"answer").toString(), QStringLiteral("stopped"));
    QVERIFY(patient->waitForFinished(3000)); // both are told
    QCOMPARE(patient->exitCode(), 0);
}

void SupervisorTest::sigtermToTheSupervisorIsAStop() {
    const QJsonObject answer = m_agent->start(kRun, 1, R"([[["running"], ["wait_stop"]]])");
    QCOMPARE(::kill(answer.value(u"pid").toInt(), SIGTERM), 0);
    QVERIFY(m_agent->waitForEnd(kRun));
    QVERIFY(m_agent->finalState(kRun)->state == RunState::Stopped);
}

void SupervisorTest::outputBecomesLog() {
    m_agent->start(kRun, 2, R"([[["print", "hello\n\u001b[31mred\u001b[0m\n"], ["warn", "careful"]],
                                [["print", "10%\r100%\n"]]])");
    QVERIFY(m_agent->waitForEnd(kRun));
    std::map<std::string, std::pair<int, int>> seen;
    for (const spec::Log& log : eventsOf<spec::Log>(m_agent->journal(kRun)))
        seen[log.text.text()] = {log.rank, static_cast<int>(log.level)};
    QCOMPARE(seen.size(), 4u);
    QVERIFY(seen.at("hello") == std::pair(0, static_cast<int>(spec::LogLevel::Info)));
    QVERIFY(seen.at("red") == std::pair(0, static_cast<int>(spec::LogLevel::Info)));
    QVERIFY(seen.at("careful") == std::pair(0, static_cast<int>(spec::LogLevel::Warning)));
    QVERIFY(seen.at("100%") == std::pair(1, static_cast<int>(spec::LogLevel::Info)));
}

void SupervisorTest::aFloodIsSummarised() {
    m_agent->start(kRun, 1, R"([[["metrics", 10], ["flood", 10], ["metrics", 10, 11]]])");
    QVERIFY(m_agent->waitForEnd(kRun, 60000));
    QVERIFY(m_agent->finalState(kRun)->state == RunState::Finished);
    QVERIFY2(m_agent->journalBytes(kRun).size() < 400'000,
             QByteArray::number(m_agent->journalBytes(kRun).size()).constData());
    QCOMPARE(eventsOf<spec::Metrics>(m_agent->journal(kRun)).size(), 20u);
    QVERIFY(!m_agent->logLines(kRun).filter(QStringLiteral("Rank 0 prints too fast;")).isEmpty());
}

void SupervisorTest::garbageSilencesOnlyOneRank() {
    m_agent->start(kRun, 2, R"([[["metrics", 5], ["garbage", 3000000], ["metrics", 5, 6]],
                                [["metrics", 5, 100], ["wait_file", "go"], ["metrics", 5, 105]]])");
    QTRY_VERIFY(
        !m_agent->logLines(kRun).filter(QStringLiteral("bytes that are no events")).isEmpty());
    m_agent->touch(kRun, QStringLiteral("go"));
    QVERIFY(m_agent->waitForEnd(kRun));
    std::set<std::int64_t> steps;
    for (const spec::Metrics& metrics : eventsOf<spec::Metrics>(m_agent->journal(kRun)))
        steps.insert(metrics.step);
    QCOMPARE(steps, (std::set<std::int64_t>{1, 2, 3, 4, 5, 100, 101, 102, 103, 104, 105, 106, 107,
                                            108, 109}));
    QCOMPARE(m_agent->logLines(kRun).filter(QStringLiteral("no events")).size(), 1);
}

void SupervisorTest::halfAnEventIsReported() {
    m_agent->start(kRun, 1, R"([[["metrics", 2], ["half_frame"], ["signal", 9]]])");
    QVERIFY(m_agent->waitForEnd(kRun));
    QCOMPARE(eventsOf<spec::Metrics>(m_agent->journal(kRun)).size(), 2u);
    QCOMPARE(m_agent->logLines(kRun),
             QStringList{QStringLiteral(
                 "Rank 0 ended in the middle of an event; 60 bytes of it are lost.")});
}

void SupervisorTest::ranksCanNotSpeakForTheSupervisor() {
    // A final state from a rank would end every reader's stream.
    m_agent->start(kRun, 1,
                   R"([[["event", 4, "\u0003\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000"],
                                 ["event", 10, "\u0000"], ["event", 5, "short"], ["metrics", 1]]])");
    QVERIFY(m_agent->waitForEnd(kRun));
    const std::vector<JournalFrame> frames = m_agent->journal(kRun);
    QCOMPARE(eventsOf<spec::StateChanged>(frames).size(), 1u);
    QVERIFY(std::holds_alternative<spec::StateChanged>(*frames.back().event));
    QVERIFY(eventsOf<spec::Heartbeat>(frames).empty());
    QCOMPARE(eventsOf<spec::Metrics>(frames).size(), 1u);
    QCOMPARE(m_agent->logLines(kRun).filter(QStringLiteral("was left out")).size(), 3);
}

void SupervisorTest::loadIsSampled() {
    m_agent->start(kRun, 2,
                   R"([[["running"], ["spin", 1000], ["touch", "spun"], ["wait_file", "go"]],
                                [["wait_file", "go"]]])");
    const auto samples = [&]() {
        return eventsOf<spec::DeviceSample>(m_agent->journal(kRun)).size();
    };
    QTRY_VERIFY_WITH_TIMEOUT(m_agent->fileExists(kRun, QStringLiteral("spun")), 60000);
    const std::size_t before = samples();
    QTRY_VERIFY_WITH_TIMEOUT(samples() >= before + 4, 60000); // the whole effort is sampled
    m_agent->touch(kRun, QStringLiteral("go"));
    QVERIFY(m_agent->waitForEnd(kRun));

    double busySeconds[2] = {0, 0};
    std::int64_t startedNs = 0;
    std::int64_t lastNs[2] = {0, 0};
    int count = 0;
    for (const JournalFrame& frame : m_agent->journal(kRun)) {
        if (frame.event && std::holds_alternative<spec::RanksStarted>(*frame.event))
            startedNs = lastNs[0] = lastNs[1] = frame.frame.timeNs;
        const auto* sample = frame.event ? std::get_if<spec::DeviceSample>(&*frame.event) : nullptr;
        if (!sample)
            continue;
        ++count;
        QCOMPARE(sample->device, "cpu:" + std::to_string(sample->rank));
        QCOMPARE(sample->values.at(0).first, std::string(spec::metric::kUtilization));
        QCOMPARE(sample->values.at(1).first, std::string(spec::metric::kMemory));
        QVERIFY(sample->values[1].second > 100'000);
        const std::int64_t ns =
            frame.frame.timeNs - std::exchange(lastNs[sample->rank], frame.frame.timeNs);
        busySeconds[sample->rank] +=
            sample->values[0].second / 100 * static_cast<double>(ns) * 1e-9;
    }
    QVERIFY(count >= 4);
    const double seconds = static_cast<double>(lastNs[0] - startedNs) * 1e-9;
    QVERIFY2(count / 2.0 < seconds + 1.5, "no more than about one a second and rank");
    QVERIFY2(std::abs(busySeconds[0] - 1.0) < 0.2, QByteArray::number(busySeconds[0]).constData());
    QVERIFY2(busySeconds[1] < 0.5, QByteArray::number(busySeconds[1]).constData());
}

void SupervisorTest::standingStillIsReportedOnce() {
    m_agent->setEnvironment(QStringLiteral("SCRIPTED_STALL_MS"), QStringLiteral("1500"));
    m_agent->start(kRun, 2,
                   R"([[["status", 5, 9, "conv1", 12], ["wait_file", "go"],
                        ["status", 6, 2, "conv1"], ["wait_file", "end"]],
                       [["status", 5, 2, "fc2", 3], ["wait_file", "go"],
                        ["status", 6, 2, "conv1"], ["wait_file", "end"]]])");
    const auto count = [&](const char* part) {
        return m_agent->logLines(kRun).filter(QLatin1String(part)).size();
    };
    QTRY_COMPARE_WITH_TIMEOUT(count("has moved for"), 1, 8000);
    QVERIFY(m_agent->waitFor(
        kRun,
        [&, n = eventsOf<spec::DeviceSample>(m_agent->journal(kRun)).size()](const auto& frames) {
            return eventsOf<spec::DeviceSample>(frames).size() >=
                   n + 4; // time goes on, nothing is repeated
        }));
    QCOMPARE(count("has moved for"), 1);
    const QString warning = m_agent->logLines(kRun).filter(QStringLiteral("has moved")).at(0);
    const QString named =
        QStringLiteral("s. Rank 1 (process %1 on %2) holds the others up, at step 5, instruction 2 "
                       "(backward), in layer fc2.")
            .arg(pidOf(m_agent->journal(kRun), 1))
            .arg(QSysInfo::machineHostName());
    QVERIFY2(warning.endsWith(named), qPrintable(warning));
    m_agent->touch(kRun, QStringLiteral("go"));
    QTRY_COMPARE_WITH_TIMEOUT(count("The run goes on; it had stood for"), 1, 8000);
    m_agent->touch(kRun, QStringLiteral("end"));
    QVERIFY(m_agent->waitForEnd(kRun));
}

void SupervisorTest::ranksInheritNothingElse() {
    m_agent->start(kRun, 1, R"([[["touch", "ready"], ["wait_file", "go"]]])");
    QTRY_VERIFY(m_agent->fileExists(kRun, QStringLiteral("ready")));
    const pid_t pid = pidOf(m_agent->journal(kRun), 0);
    const QString proc = QStringLiteral("/proc/%1/fd").arg(pid);
    QCOMPARE(
        QDir(proc).entryList(QDir::AllEntries | QDir::System | QDir::NoDotAndDotDot, QDir::Name),
        (QStringList{QStringLiteral("0"), QStringLiteral("1"), QStringLiteral("2"),
                     QStringLiteral("3"), QStringLiteral("4"), QStringLiteral("5"),
                     QStringLiteral("6")}));
    QFile environment(QStringLiteral("/proc/%1/environ").arg(pid));
    QVERIFY(environment.open(QIODevice::ReadOnly));
    const QByteArray cookie = "TRAINYARD_RUN=" + m_agent->root().toUtf8() + "/r1";
    QCOMPARE(environment.readAll().split('\0').count(cookie), 1);
    m_agent->touch(kRun, QStringLiteral("go"));
    QVERIFY(m_agent->waitForEnd(kRun));
}

QTEST_GUILESS_MAIN(SupervisorTest)
#include "tst_supervisor.moc"
