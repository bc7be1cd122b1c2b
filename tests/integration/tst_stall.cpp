// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Real ranks that are halted at any moment, or never come: who holds the others up is said, the run
// goes on when the rank does, with the bits of a run that nothing happened to, and ends at the
// limit when it does not. TRAINYARD_FAULT_ROUNDS: how many moments of each kind (1 or 2).
#include "tests/integration/fault_bench.h"

#include <QElapsedTimer>
#include <QTest>

#include <csignal>
#include <cstring>
#include <map>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr int kStallWithin = 10'000; ///< ms, until the warning
constexpr int kLimit = 4000;         ///< ms, of the others' patience
constexpr int kSteps = 60 * 5;

/// What a run leaves, to the bit.
struct Trained {
    std::vector<double> losses;
    QByteArray weights;
};

Trained resultOf(const TrainBench& bench, const FaultRun& run) {
    const Points points = bench.points(run.record().id, spec::metric::kTrainLoss);
    const QByteArray file = contentOf(run.folder() + QStringLiteral("/weights.safetensors"));
    // Before the numbers stand 8 bytes for the size of a header, which names files of the bench.
    quint64 header = 0;
    std::memcpy(&header, file.constData(), std::min(sizeof header, std::size_t(file.size())));
    return {points.values, file.mid(static_cast<qsizetype>(sizeof header + header))};
}

QString whoIsHalted(const spec::RankInfo& rank) {
    return QStringLiteral("Rank %1 (process %2 on %3) ")
        .arg(rank.rank)
        .arg(rank.pid)
        .arg(QSysInfo::machineHostName());
}

/// The warning, or nothing.
QString warningOf(const FaultRun& run) {
    return run.log().filter(QStringLiteral("holds the others up,")).value(0);
}

} // namespace

class StallTest : public QObject {
    Q_OBJECT

private slots:
    void init();
    void aHaltedRankIsNamedAndMayGoOn_data() { addFaultRounds(2); }
    void aHaltedRankIsNamedAndMayGoOn();
    void aHaltedRankEndsTheRunAtTheLimit_data() { addFaultRounds(1); }
    void aHaltedRankEndsTheRunAtTheLimit();
    void aRankThatNeverComesEndsTheRunAtTheLimit_data() { addFaultRounds(1); }
    void aRankThatNeverComesEndsTheRunAtTheLimit();

private:
    const Trained& undisturbed(int strategy);

    std::map<int, Trained> m_undisturbed; ///< by strategy
};

void StallTest::init() {
    qputenv("TRAINYARD_STALL_SECONDS", "1");
    qunsetenv("TRAINYARD_WAIT_SECONDS");
}

const Trained& StallTest::undisturbed(int strategy) {
    if (!m_undisturbed.contains(strategy)) {
        TrainBench bench;
        FaultRun run(bench, bench.endlessExperiment(kSteps / 5), strategyAt(strategy));
        if (run.program().waitForEnd())
            m_undisturbed[strategy] = resultOf(bench, run);
    }
    return m_undisturbed[strategy];
}

void StallTest::aHaltedRankIsNamedAndMayGoOn() {
    QFETCH(int, strategy);
    QFETCH(int, moment);
    QFETCH(int, victim);
    const Trained& expected = undisturbed(strategy);
    QCOMPARE(expected.losses.size(), static_cast<std::size_t>(kSteps));
    QVERIFY(!expected.weights.isEmpty());

    TrainBench bench;
    FaultRun run(bench, bench.endlessExperiment(kSteps / 5), strategyAt(strategy));
    QTRY_VERIFY_WITH_TIMEOUT(run.reached(moment % (kSteps / 3)), kPatience);
    const spec::RankInfo halted = run.rankOf(victim);
    QCOMPARE(::kill(static_cast<pid_t>(halted.pid), SIGSTOP), 0);
    QTRY_VERIFY_WITH_TIMEOUT(!warningOf(run).isEmpty(), kStallWithin);
    const QString warning = warningOf(run);
    QVERIFY2(warning.contains(whoIsHalted(halted)), qPrintable(warning));
    QVERIFY2(warning.contains(QStringLiteral("before its first step")) ||
                 (warning.contains(QStringLiteral("at step ")) &&
                  warning.contains(QStringLiteral("instruction ")) &&
                  warning.contains(QStringLiteral("layer "))),
             qPrintable(warning));
    QVERIFY2(warning.endsWith(QStringLiteral("Its process is halted (SIGSTOP); kill -CONT %1 lets "
                                             "it go on.")
                                  .arg(halted.pid)),
             qPrintable(warning));
    QCOMPARE(::kill(static_cast<pid_t>(halted.pid), SIGCONT), 0);
    QVERIFY(run.program().waitForEnd());
    QCOMPARE(run.program().exitCode(), 0);
    QVERIFY(run.logHas(QStringLiteral("The run goes on; it had stood for ")));
    const Trained result = resultOf(bench, run);
    QVERIFY(result.losses == expected.losses);
    QVERIFY(result.weights == expected.weights);
    QTRY_VERIFY(bench.processes().empty());
}

void StallTest::aHaltedRankEndsTheRunAtTheLimit() {
    QFETCH(int, strategy);
    QFETCH(int, moment);
    QFETCH(int, victim);
    qputenv("TRAINYARD_WAIT_SECONDS", QByteArray::number(kLimit / 1000));
    TrainBench bench;
    FaultRun run(bench, bench.endlessExperiment(), strategyAt(strategy));
    QTRY_VERIFY_WITH_TIMEOUT(run.reached(moment % 40), kPatience);
    const spec::RankInfo halted = run.rankOf(victim);
    QElapsedTimer timer;
    timer.start();
    QCOMPARE(::kill(static_cast<pid_t>(halted.pid), SIGSTOP), 0);
    QVERIFY(run.program().waitForEnd());
    QVERIFY2(timer.elapsed() > kLimit - 500 && timer.elapsed() < kLimit + kEndsWithin,
             QByteArray::number(timer.elapsed()).constData());
    QVERIFY(warningOf(run).contains(whoIsHalted(halted))); // before the end
    const QString what = run.failureText();
    QVERIFY2(what.startsWith(QStringLiteral("Rank %1 (process %2) was halted (SIGSTOP) and did not "
                                            "answer the other ranks ")
                                 .arg(halted.rank)
                                 .arg(halted.pid)),
             qPrintable(what));
    QCOMPARE(run.defectOfEnd(halted.rank), QString());
    QVERIFY(::kill(static_cast<pid_t>(halted.pid), 0) != 0);
}

void StallTest::aRankThatNeverComesEndsTheRunAtTheLimit() {
    QFETCH(int, strategy);
    QFETCH(int, victim);
    qputenv("TRAINYARD_WAIT_SECONDS", QByteArray::number(kLimit / 1000));
    const int absent = victim % 2; // there are two at least
    TrainBench bench;
    QElapsedTimer timer;
    timer.start();
    FaultRun run(bench, bench.endlessExperiment(), strategyAt(strategy),
                 QStringLiteral("halt %1").arg(absent));
    QVERIFY(run.program().waitForEnd());
    QVERIFY2(timer.elapsed() < kLimit + 2 * kEndsWithin, // with the start of the others
             QByteArray::number(timer.elapsed()).constData());
    QVERIFY2(run.logHas(QStringLiteral("Rank %1 did not join the group within 4 s.").arg(absent)),
             qPrintable(run.log().join(u'\n')));
    const spec::RankInfo rank = run.rankOf(absent);
    QVERIFY(warningOf(run).contains(whoIsHalted(rank)));
    QCOMPARE(
        run.failureText(),
        QStringLiteral("Rank %1 (process %2) was halted (SIGSTOP) and did not answer the other "
                       "ranks before its first step.")
            .arg(absent)
            .arg(rank.pid));
    QCOMPARE(run.defectOfEnd(absent), QString());
}

QTEST_GUILESS_MAIN(StallTest)
#include "tst_stall.moc"
