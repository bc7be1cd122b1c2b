// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Strategies as processes: every kind of mesh trains like one rank, in shared memory and over TCP,
// and when a rank is killed at any moment the run ends at once, says who it was, and leaves nothing
// behind. TRAINYARD_FAULT_ROUNDS: how many moments (8).
#include "tests/integration/fault_bench.h"

#include <QElapsedTimer>
#include <QTest>

#include <cmath>
#include <csignal>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr const char* kLoss = spec::metric::kTrainLoss;

QStringList trainWords(const QString& experiment, const TrainBench& bench,
                       const Strategy& strategy) {
    QStringList words = {QStringLiteral("train"), experiment, QStringLiteral("--store"),
                         bench.store()};
    for (const char* setting : strategy.settings)
        words << QStringLiteral("--set") << QString::fromUtf8(setting);
    return words;
}

void addStrategies() {
    QTest::addColumn<int>("strategy");
    for (std::size_t i = 0; i < strategies().size(); ++i)
        QTest::newRow(strategies()[i].name) << static_cast<int>(i);
}

} // namespace

class FaultsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { qunsetenv("TRAINYARD_WORKER"); }
    void everyStrategyTrainsLikeOneRank_data() { addStrategies(); }
    void everyStrategyTrainsLikeOneRank();
    void killedAtAnyMoment_data() { addFaultRounds(8); }
    void killedAtAnyMoment();
};

void FaultsTest::everyStrategyTrainsLikeOneRank() {
    QFETCH(int, strategy);
    TrainBench bench;
    const QString experiment = bench.quickExperiment();
    const Output alone = runWords(trainWords(experiment, bench, {"one", {"parallel.data=1"}}));
    QVERIFY2(alone.exitCode == 0, alone.errors.constData());
    const Output done = runWords(trainWords(experiment, bench, strategyAt(strategy)));
    QVERIFY2(done.exitCode == 0, done.errors.constData());
    const std::vector<RunRecord> runs = bench.runs(); // the newest first
    const Points one = bench.points(runs[1].id, kLoss);
    const Points many = bench.points(runs[0].id, kLoss);
    QVERIFY(isUnbroken(many));
    QCOMPARE(many.size(), one.size());
    for (std::size_t i = 0; i < 20; ++i)
        QVERIFY2(std::abs(many.values[i] - one.values[i]) <= 1e-5 * one.values[i],
                 qPrintable(QStringLiteral("step %1: %2 and %3")
                                .arg(i + 1)
                                .arg(one.values[i])
                                .arg(many.values[i])));
    // The weights of all ranks are in the file: the model can be asked.
    const Output asked = runWords({QStringLiteral("predict"), runs[0].uid,
                                   bench.path(QStringLiteral("quick-test-images")),
                                   QStringLiteral("--store"), bench.store()});
    QVERIFY2(asked.exitCode == 0, asked.errors.constData());
    QTRY_VERIFY(bench.processes().empty());
}

void FaultsTest::killedAtAnyMoment() {
    QFETCH(int, strategy);
    QFETCH(int, moment);
    QFETCH(int, victim);
    TrainBench bench;
    FaultRun run(bench, bench.endlessExperiment(), strategyAt(strategy));
    // Step 0: as soon as the ranks are known, while they still meet.
    QTRY_VERIFY_WITH_TIMEOUT(run.reached(moment % 40), kPatience);
    const spec::RankInfo killed = run.rankOf(victim);
    QElapsedTimer timer;
    timer.start();
    QCOMPARE(::kill(static_cast<pid_t>(killed.pid), SIGKILL), 0);
    QVERIFY(run.program().waitForEnd());
    QVERIFY2(timer.elapsed() < kEndsWithin, qPrintable(QString::number(timer.elapsed())));
    const QByteArray told = run.program().output();
    const QByteArray who = "Rank " + QByteArray::number(killed.rank) + " (process " +
                           QByteArray::number(static_cast<qint64>(killed.pid)) + ")";
    QVERIFY2(told.contains(who) && told.contains("killed"), told.constData());
    QCOMPARE(run.defectOfEnd(killed.rank), QString());
}

QTEST_GUILESS_MAIN(FaultsTest)
#include "tst_faults.moc"
