// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The verbs of the worker as a studio calls them: start, attach from anywhere, stop, probe, remove.
#include "engine/agent/host_facts.h"
#include "engine/agent/run_folder.h"
#include "tests/agent/agent_harness.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QtTest>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

const QString kRun = QStringLiteral("r1");

QStringList attachArguments(const QString& run, std::uint64_t from, const QStringList& more = {}) {
    return QStringList{QStringLiteral("attach"), QStringLiteral("--run"), run,
                       QStringLiteral("--from"), QString::number(from)} +
           more;
}

const QStringList kOnce{QStringLiteral("--once")};

QString answerOf(const QJsonObject& json) {
    return json.value(u"answer").toString();
}

} // namespace

class AgentVerbsTest : public QObject {
    Q_OBJECT

private slots:
    void init();
    void cleanup();
    void aRunFromStartToEnd();
    void theJournalIsExactlyWhatWasSentOnce();
    void startTwice();
    void manyStartsAtOnceMakeOneRun();
    void startRefusals_data();
    void startRefusals();
    void runIds();
    void attachFromEveryFrame();
    void attachInTheMiddleOfAFrame();
    void attachFollowsARunningRun();
    void attachPrintsTheNonceFirst();
    void attachEndsWhenStdinCloses();
    void attachOnceTellsHowTheRunIs();
    void attachTornTailAndDamage();
    void stopIsPolite();
    void stopAfterTheEnd();
    void removeOnlyWhatHasEnded();
    void probeDescribesTheNode();
    void strangeRootNames();
    void longRootNames();
    void usageErrors();

private:
    std::unique_ptr<AgentHarness> m_agent;
};

void AgentVerbsTest::init() {
    m_agent = std::make_unique<AgentHarness>();
}

void AgentVerbsTest::cleanup() {
    if (QTest::currentTestFailed())
        qWarning() << m_agent->logLines(kRun);
    m_agent.reset();
}

void AgentVerbsTest::aRunFromStartToEnd() {
    const QJsonObject answer = m_agent->start(kRun, 2, R"([[["running"], ["metrics", 3]], []])");
    QCOMPARE(answerOf(answer), QStringLiteral("started"));
    QVERIFY(answer.value(u"pid").toInt() > 0);
    QVERIFY(m_agent->waitForEnd(kRun));

    const std::vector<JournalFrame> frames = m_agent->journal(kRun);
    const auto& hello = std::get<spec::Hello>(*frames.at(0).event);
    QCOMPARE(hello.protocolVersion, spec::kProtocolVersion);
    QCOMPARE(hello.run, kRun.toStdString());
    QCOMPARE(hello.host, hostName());
    QCOMPARE(hello.worldSize, 2);
    QVERIFY(!hello.engineVersion.empty());
    const auto& ranks = std::get<spec::RanksStarted>(*frames.at(1).event).ranks;
    QCOMPARE(ranks.size(), 2u);
    QCOMPARE(ranks[1].rank, 1);
    QCOMPARE(ranks[1].device, std::string("cpu:1"));
    QVERIFY(ranks[1].pid > 0 && ranks[1].pid != ranks[0].pid);
    QVERIFY(m_agent->finalState(kRun)->state == spec::RunState::Finished);
    QVERIFY(eventsOf<spec::Failure>(frames).empty());
    QCOMPARE(m_agent->processes(), 0);
    QVERIFY(!m_agent->fileExists(kRun, QStringLiteral("reserve")));
    QVERIFY(!m_agent->fileExists(kRun, QStringLiteral("control")));
}

void AgentVerbsTest::theJournalIsExactlyWhatWasSentOnce() {
    m_agent->start(kRun, 2, R"([[["running"], ["metrics", 20000], ["event", 200, "news"]],
                                [["metrics", 100, 50000], ["event", 77, ""]]])");
    QVERIFY(m_agent->waitForEnd(kRun));
    bool whole = false;
    const std::vector<JournalFrame> frames = framesIn(m_agent->journalBytes(kRun), &whole);
    QVERIFY(whole);
    std::vector<std::int64_t> first, second;
    QStringList unknown;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        QCOMPARE(frames[i].frame.sequence, i + 1);
        QVERIFY(frames[i].frame.timeNs > 1'700'000'000'000'000'000);
        if (!frames[i].event) {
            unknown += QString::number(frames[i].frame.type) +
                       QString::fromStdString(frames[i].frame.payload);
        } else if (const auto* metrics = std::get_if<spec::Metrics>(&*frames[i].event)) {
            (metrics->step < 50000 ? first : second).push_back(metrics->step);
            QCOMPARE(metrics->values.at(0).second, 1.0 / static_cast<double>(metrics->step));
        }
    }
    QCOMPARE(first.size(), 20000u);
    QCOMPARE(second.size(), 100u);
    for (std::size_t i = 0; i < first.size(); ++i)
        QCOMPARE(first[i], static_cast<std::int64_t>(i + 1));
    unknown.sort(); // the two ranks are not ordered against each other
    QCOMPARE(unknown, (QStringList{QStringLiteral("200news"), QStringLiteral("77")}));
}

void AgentVerbsTest::startTwice() {
    const QByteArray script = R"([[["running"], ["wait_file", "go"]]])";
    const QJsonObject first = m_agent->start(kRun, 1, script);
    const QJsonObject second = m_agent->start(kRun, 1, script);
    QCOMPARE(answerOf(second), QStringLiteral("already"));
    QCOMPARE(second.value(u"pid"), first.value(u"pid"));
    m_agent->touch(kRun, QStringLiteral("go"));
    QVERIFY(m_agent->waitForEnd(kRun));
    const QByteArray bytes = m_agent->journalBytes(kRun);
    const QJsonObject third = m_agent->start(kRun, 1, script);
    QCOMPARE(answerOf(third), QStringLiteral("finished"));
    QCOMPARE(third.value(u"state").toString(), QStringLiteral("finished"));
    QCOMPARE(m_agent->journalBytes(kRun), bytes);
}

void AgentVerbsTest::manyStartsAtOnceMakeOneRun() {
    const QByteArray experiment =
        R"({"format": "trainyard.experiment/1", "script": [[["wait_file", "go"]]]})";
    std::vector<std::unique_ptr<QProcess>> starts;
    for (int i = 0; i < 8; ++i) {
        starts.push_back(m_agent->spawn({QStringLiteral("start"), QStringLiteral("--run"), kRun,
                                         QStringLiteral("--ranks"), QStringLiteral("1"),
                                         QStringLiteral("--threads"), QStringLiteral("1")}));
        starts.back()->write(experiment);
        starts.back()->closeWriteChannel();
    }
    QStringList answers;
    for (const auto& process : starts) {
        QVERIFY(process->waitForFinished());
        answers += answerOf(QJsonDocument::fromJson(process->readAllStandardOutput()).object());
    }
    answers.sort();
    QCOMPARE(answers,
             QStringList(7, QStringLiteral("already")) + QStringList{QStringLiteral("started")});
    m_agent->touch(kRun, QStringLiteral("go"));
    QVERIFY(m_agent->waitForEnd(kRun));
    QCOMPARE(eventsOf<spec::RanksStarted>(m_agent->journal(kRun)).size(), 1u);
}

void AgentVerbsTest::startRefusals_data() {
    QTest::addColumn<QByteArray>("experiment");
    QTest::addColumn<QString>("part");
    QTest::newRow("nothing") << QByteArray() << QStringLiteral("is not a JSON object");
    QTest::newRow("a list") << QByteArray("[]") << QStringLiteral("is not a JSON object");
    QTest::newRow("cut") << QByteArray("{\"format\": ") << QStringLiteral("is not a JSON object");
    QTest::newRow("no format") << QByteArray("{}") << QStringLiteral("no experiment");
    QTest::newRow("other format") << QByteArray("{\"format\": \"x/1\"}")
                                  << QStringLiteral("trainyard.experiment/");
}

void AgentVerbsTest::startRefusals() {
    QFETCH(QByteArray, experiment);
    QFETCH(QString, part);
    const Outcome outcome = m_agent->call({QStringLiteral("start"), QStringLiteral("--run"), kRun,
                                           QStringLiteral("--ranks"), QStringLiteral("1"),
                                           QStringLiteral("--threads"), QStringLiteral("1")},
                                          experiment);
    QCOMPARE(outcome.exitCode, 1);
    QCOMPARE(answerOf(outcome.json()), QStringLiteral("refused"));
    QVERIFY2(outcome.json().value(u"error").toString().contains(part), outcome.output.constData());
    QVERIFY(!m_agent->folder(kRun).exists());
}

void AgentVerbsTest::runIds() {
    for (const char* good : {"a", "2026-01-01_run.3", "-"})
        QCOMPARE(isRunId(good), std::string_view(good) != "-");
    for (const char* bad : {"", ".", "..", ".hidden", "-x", "a/b", "a b", "ü", "a\n"})
        QVERIFY(!isRunId(bad));
    QVERIFY(isRunId(std::string(64, 'x')));
    QVERIFY(!isRunId(std::string(65, 'x')));
    const Outcome outcome = m_agent->call(
        {QStringLiteral("stop"), QStringLiteral("--run"), QStringLiteral("../../etc")});
    QCOMPARE(outcome.exitCode, 2);
    QVERIFY(outcome.errors.contains("'../../etc' is no run id"));
}

void AgentVerbsTest::attachFromEveryFrame() {
    m_agent->start(kRun, 1, R"([[["running"], ["print", "a\nb\n"], ["metrics", 5]]])");
    QVERIFY(m_agent->waitForEnd(kRun));
    const QByteArray bytes = m_agent->journalBytes(kRun);
    std::vector<std::uint64_t> offsets{0};
    for (const JournalFrame& frame : framesIn(bytes))
        offsets.push_back(frame.endsAt);
    for (const std::uint64_t from : offsets) {
        const Outcome outcome = m_agent->call(attachArguments(kRun, from));
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(outcome.output, bytes.mid(static_cast<qsizetype>(from)));
    }
}

void AgentVerbsTest::attachInTheMiddleOfAFrame() {
    m_agent->start(kRun, 1, R"([[["metrics", 5]]])");
    QVERIFY(m_agent->waitForEnd(kRun));
    const auto size = static_cast<std::uint64_t>(m_agent->journalBytes(kRun).size());
    for (const std::uint64_t from : {std::uint64_t{1}, std::uint64_t{30}, size - 1, size + 1}) {
        const Outcome outcome = m_agent->call(attachArguments(kRun, from));
        QCOMPARE(outcome.exitCode, 4);
        QVERIFY(outcome.output.isEmpty());
        QVERIFY(outcome.errors.contains("No frame of the journal of run r1 starts at byte"));
    }
}

void AgentVerbsTest::attachFollowsARunningRun() {
    m_agent->start(kRun, 1, R"([[["running"], ["wait_file", "go"], ["metrics", 1000]]])");
    const std::unique_ptr<QProcess> attached = m_agent->spawn(attachArguments(kRun, 0));
    QByteArray received;
    const auto beats = [&]() {
        received += attached->readAllStandardOutput();
        return eventsOf<spec::Heartbeat>(framesIn(received)).size();
    };
    QTRY_VERIFY_WITH_TIMEOUT(beats() >= 3, 10000);
    m_agent->touch(kRun, QStringLiteral("go"));
    QVERIFY(attached->waitForFinished());
    QCOMPARE(attached->exitCode(), 0);
    received += attached->readAllStandardOutput();
    bool whole = false;
    QByteArray journaled;
    for (const JournalFrame& frame : framesIn(received, &whole)) {
        if (frame.frame.sequence > 0) {
            journaled += QByteArray::fromStdString(spec::encodeFrame(frame.frame));
            continue;
        }
        QVERIFY(std::get<spec::Heartbeat>(*frame.event).supervisorAlive);
    }
    QVERIFY(whole);
    QVERIFY(m_agent->waitForEnd(kRun));
    QCOMPARE(journaled, m_agent->journalBytes(kRun));
}

void AgentVerbsTest::attachPrintsTheNonceFirst() {
    m_agent->start(kRun, 1, "[[]]");
    QVERIFY(m_agent->waitForEnd(kRun));
    const Outcome outcome = m_agent->call(
        attachArguments(kRun, 0, {QStringLiteral("--nonce"), QStringLiteral("TY123")}));
    QCOMPARE(outcome.output, "\nTY123\n" + m_agent->journalBytes(kRun));
}

void AgentVerbsTest::attachEndsWhenStdinCloses() {
    m_agent->start(kRun, 1, R"([[["wait_file", "go"]]])");
    const std::unique_ptr<QProcess> attached = m_agent->spawn(attachArguments(kRun, 0));
    QVERIFY(attached->waitForReadyRead());
    attached->closeWriteChannel();
    QVERIFY(attached->waitForFinished(3000));
    QCOMPARE(attached->exitCode(), 0);
    QVERIFY(RunLock::isHeld(m_agent->folder(kRun))); // the run does not care
    m_agent->touch(kRun, QStringLiteral("go"));
    QVERIFY(m_agent->waitForEnd(kRun));
    QVERIFY(m_agent->finalState(kRun)->state == spec::RunState::Finished);
}

void AgentVerbsTest::attachOnceTellsHowTheRunIs() {
    QCOMPARE(m_agent->call(attachArguments(kRun, 0, kOnce)).exitCode, 2);
    m_agent->start(kRun, 1, R"([[["running"], ["wait_file", "go"]]])");
    const Outcome running = m_agent->call(attachArguments(kRun, 0, kOnce));
    QCOMPARE(running.exitCode, 6);
    const std::vector<JournalFrame> seen = framesIn(running.output);
    QVERIFY(!seen.empty());
    m_agent->touch(kRun, QStringLiteral("go"));
    QVERIFY(m_agent->waitForEnd(kRun));
    const Outcome rest = m_agent->call(attachArguments(kRun, seen.back().endsAt, kOnce));
    QCOMPARE(rest.exitCode, 0);
    QCOMPARE(running.output + rest.output, m_agent->journalBytes(kRun));
}

void AgentVerbsTest::attachTornTailAndDamage() {
    m_agent->start(kRun, 1, R"([[["metrics", 5]]])");
    QVERIFY(m_agent->waitForEnd(kRun));
    const QByteArray bytes = m_agent->journalBytes(kRun);
    QFile file(QString::fromStdString(m_agent->folder(kRun).journal()));
    QVERIFY(file.open(QIODevice::ReadWrite));
    QVERIFY(file.resize(bytes.size() - 3)); // as a kill in the middle of a write leaves it
    const Outcome torn = m_agent->call(attachArguments(kRun, 0, kOnce));
    QCOMPARE(torn.exitCode, 5);
    const std::vector<JournalFrame> frames = framesIn(bytes);
    const auto kept = static_cast<qsizetype>(frames[frames.size() - 2].endsAt);
    QVERIFY(torn.output.startsWith(bytes.left(kept)));
    const std::vector<JournalFrame> beats = framesIn(torn.output.mid(kept));
    QCOMPARE(beats.size(), 1u);
    QVERIFY(!std::get<spec::Heartbeat>(*beats[0].event).supervisorAlive);

    QByteArray damaged = bytes;
    damaged[static_cast<qsizetype>(frames[2].endsAt) + 30] ^= 1;
    QVERIFY(file.seek(0) && file.write(damaged) == damaged.size() && file.flush());
    const Outcome broken = m_agent->call(attachArguments(kRun, 0));
    QCOMPARE(broken.exitCode, 4);
    QCOMPARE(broken.output, bytes.left(static_cast<qsizetype>(frames[2].endsAt)));
    QVERIFY(broken.errors.contains("is damaged after " +
                                   QByteArray::number(quint64(frames[2].endsAt))));
}

void AgentVerbsTest::stopIsPolite() {
    m_agent->start(kRun, 2, R"([[["running"], ["wait_stop"], ["metrics", 1]], [["wait_stop"]]])");
    const Outcome outcome = m_agent->call({QStringLiteral("stop"), QStringLiteral("--run"), kRun});
    QCOMPARE(outcome.exitCode, 0);
    QCOMPARE(answerOf(outcome.json()), QStringLiteral("stopped"));
    QCOMPARE(outcome.json().value(u"state").toString(), QStringLiteral("stopped"));
    QVERIFY(outcome.json().value(u"seconds").toDouble() < 5);
    const std::vector<JournalFrame> frames = m_agent->journal(kRun);
    const auto states = eventsOf<spec::StateChanged>(frames);
    QVERIFY(states.back().state == spec::RunState::Stopped);
    QVERIFY(states[states.size() - 2].state == spec::RunState::Stopping);
    QCOMPARE(eventsOf<spec::Metrics>(frames).size(), 1u); // what was said while stopping is there
    QVERIFY(eventsOf<spec::Failure>(frames).empty());
}

void AgentVerbsTest::stopAfterTheEnd() {
    m_agent->start(kRun, 1, "[[]]");
    QVERIFY(m_agent->waitForEnd(kRun));
    const Outcome outcome = m_agent->call({QStringLiteral("stop"), QStringLiteral("--run"), kRun});
    QCOMPARE(answerOf(outcome.json()), QStringLiteral("ended"));
    QCOMPARE(outcome.json().value(u"state").toString(), QStringLiteral("finished"));
    QCOMPARE(m_agent->call({QStringLiteral("stop"), QStringLiteral("--run"), QStringLiteral("no")})
                 .exitCode,
             2);
}

void AgentVerbsTest::removeOnlyWhatHasEnded() {
    const QStringList remove{QStringLiteral("remove"), QStringLiteral("--run"), kRun};
    QCOMPARE(answerOf(m_agent->call(remove).json()), QStringLiteral("absent"));
    m_agent->start(kRun, 1, R"([[["wait_file", "go"]]])");
    const Outcome live = m_agent->call(remove);
    QCOMPARE(live.exitCode, 1);
    QCOMPARE(live.json().value(u"error").toString(),
             QStringLiteral("Run r1 is still running. Stop it first."));
    QVERIFY(m_agent->folder(kRun).exists());
    m_agent->touch(kRun, QStringLiteral("go"));
    QTRY_VERIFY(m_agent->finalState(kRun).has_value());
    QCOMPARE(answerOf(m_agent->call(remove).json()), QStringLiteral("removed"));
    QVERIFY(QDir(m_agent->root() + QStringLiteral("/runs"))
                .entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot)
                .isEmpty());
    QCOMPARE(answerOf(m_agent->start(kRun, 1, "[[]]")), QStringLiteral("started"));
}

void AgentVerbsTest::probeDescribesTheNode() {
    const QJsonObject empty = m_agent->call({QStringLiteral("probe")}).json();
    QVERIFY(!QFile::exists(m_agent->root())); // looking changes nothing
    QCOMPARE(empty.value(u"root").toObject().value(u"writable").toBool(), true);
    const QJsonObject start = m_agent->start(kRun, 1, R"([[["wait_file", "go"]]])");
    const Outcome outcome = m_agent->call({QStringLiteral("probe")});
    QCOMPARE(outcome.exitCode, 0);
    const QJsonObject probe = outcome.json();
    QCOMPARE(probe.value(u"format").toString(), QStringLiteral("trainyard.probe/1"));
    QCOMPARE(probe.value(u"host").toString().toStdString(), hostName());
    QCOMPARE(probe.value(u"protocol_version").toInt(), 1);
    for (const auto& key : {u"engine_version", u"os", u"kernel", u"arch", u"glibc"})
        QVERIFY2(!probe.value(key).toString().isEmpty(), outcome.output.constData());
    const int cores = probe.value(u"cores").toInt();
    QVERIFY(cores >= 1 && cores <= QThread::idealThreadCount());
    QVERIFY(probe.value(u"memory").toObject().value(u"available").toDouble() > 1e6);
    QVERIFY(probe.value(u"memory").toObject().value(u"total").toDouble() >=
            probe.value(u"memory").toObject().value(u"available").toDouble());
    QVERIFY(probe.value(u"root").toObject().value(u"free").toDouble() > 0);
    QVERIFY(!probe.value(u"cpu").toObject().value(u"simd").toString().isEmpty());
    const QJsonObject device = probe.value(u"devices").toArray().at(0).toObject();
    QCOMPARE(device.value(u"id").toString(), QStringLiteral("cpu:0"));
    QCOMPARE(device.value(u"kind").toString(), QStringLiteral("cpu"));
    QCOMPARE(device.value(u"cores").toInt(), cores);
    const QJsonObject run = probe.value(u"runs").toArray().at(0).toObject();
    QCOMPARE(run.value(u"run").toString(), kRun);
    QCOMPARE(run.value(u"pid"), start.value(u"pid"));
    QVERIFY(probe.value(u"swept").toArray().isEmpty());
}

void AgentVerbsTest::strangeRootNames() {
    QTemporaryDir folder;
    AgentHarness agent(folder.path() +
                       QStringLiteral("/数据集 №1/обучение ünï \"a\" 'b'/%1 $HOME;x"));
    QCOMPARE(answerOf(agent.start(kRun, 2, R"([[["running"], ["wait_stop"]]])")),
             QStringLiteral("started"));
    QCOMPARE(agent.processes(), 2);
    QCOMPARE(answerOf(agent.call({QStringLiteral("stop"), QStringLiteral("--run"), kRun}).json()),
             QStringLiteral("stopped"));
    QCOMPARE(agent.call(attachArguments(kRun, 0)).output, agent.journalBytes(kRun));
    QVERIFY(agent.finalState(kRun)->state == spec::RunState::Stopped);
}

void AgentVerbsTest::longRootNames() {
    QTemporaryDir folder;
    AgentHarness agent(folder.path() + QLatin1Char('/') + QString(120, QLatin1Char('d')) +
                       QLatin1Char('/') + QString(120, QLatin1Char('e')));
    const QString run(64, QLatin1Char('r'));
    QCOMPARE(answerOf(agent.start(run, 1, R"([[["wait_stop"]]])")), QStringLiteral("started"));
    QCOMPARE(answerOf(agent.call({QStringLiteral("stop"), QStringLiteral("--run"), run}).json()),
             QStringLiteral("stopped"));
}

void AgentVerbsTest::usageErrors() {
    const auto errorsOf = [&](const QStringList& arguments) {
        const Outcome outcome = m_agent->call(arguments);
        return outcome.exitCode == 2 ? QString::fromUtf8(outcome.errors) : QString();
    };
    QVERIFY(
        errorsOf({QStringLiteral("dance")}).contains(QStringLiteral("There is no verb dance.")));
    QVERIFY(errorsOf({QStringLiteral("probe"), QStringLiteral("--fast")})
                .contains(QStringLiteral("There is no option --fast here.")));
    QVERIFY(errorsOf({QStringLiteral("stop"), QStringLiteral("--run"), kRun,
                      QStringLiteral("--grace"), QStringLiteral("nan")})
                .contains(QStringLiteral("must be a number from 0 to 86400")));
    QVERIFY(
        errorsOf({QStringLiteral("start"), QStringLiteral("--run"), kRun, QStringLiteral("--ranks"),
                  QStringLiteral("0"), QStringLiteral("--threads"), QStringLiteral("1")})
            .contains(QStringLiteral("--ranks is '0'; it must be a number from 1 to 1024")));
    QVERIFY(errorsOf({QStringLiteral("attach"), QStringLiteral("--run"), kRun,
                      QStringLiteral("--from"), QStringLiteral("-1")})
                .contains(QStringLiteral("--from")));
}

QTEST_GUILESS_MAIN(AgentVerbsTest)
#include "tst_agent_verbs.moc"
