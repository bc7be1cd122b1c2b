// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Strategies as processes: every kind of mesh trains like one rank, in shared memory and over TCP,
// and when a rank is killed at any moment the run ends at once, says who it was, and leaves nothing
// behind. TRAINYARD_FAULT_ROUNDS: how many moments (8).
#include "tests/integration/train_bench.h"

#include <QElapsedTimer>
#include <QTest>

#include <cmath>
#include <csignal>
#include <random>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr int kPatience = 60'000; ///< ms, for a machine under load
constexpr const char* kLoss = spec::metric::kTrainLoss;

struct Strategy {
    const char* name;
    std::vector<const char*> settings;
};

const std::vector<Strategy>& strategies() {
    static const std::vector<Strategy> all = {
        {"data", {"parallel.data=2"}},
        {"data over TCP", {"parallel.data=2", "parallel.transport=\"gloo\""}},
        {"ZeRO 3", {"parallel.data=3", "parallel.zero=3"}},
        {"ZeRO 3 over TCP", {"parallel.data=2", "parallel.zero=3", "parallel.transport=\"gloo\""}},
        {"tensor", {"parallel.data=1", "parallel.tensor=2"}},
        {"pipeline", {"parallel.data=1", "parallel.pipeline=3", "parallel.micro_batches=4"}},
        {"pipeline over TCP",
         {"parallel.data=1", "parallel.pipeline=2", "parallel.micro_batches=4",
          "parallel.transport=\"gloo\""}},
        {"interleaved",
         {"parallel.data=1", "parallel.pipeline=2", "parallel.micro_batches=4",
          "parallel.schedule=\"interleaved\""}},
        {"data x tensor x pipeline",
         {"parallel.data=2", "parallel.tensor=2", "parallel.pipeline=2",
          "parallel.micro_batches=2"}},
        {"data x tensor over TCP",
         {"parallel.data=2", "parallel.tensor=2", "parallel.transport=\"gloo\""}},
    };
    return all;
}

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

int rounds() {
    const int asked = qEnvironmentVariableIntValue("TRAINYARD_FAULT_ROUNDS");
    return asked > 0 ? asked : 8;
}

} // namespace

class FaultsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { qunsetenv("TRAINYARD_WORKER"); }
    void everyStrategyTrainsLikeOneRank_data() { addStrategies(); }
    void everyStrategyTrainsLikeOneRank();
    void killedAtAnyMoment_data();
    void killedAtAnyMoment();
};

void FaultsTest::everyStrategyTrainsLikeOneRank() {
    QFETCH(int, strategy);
    TrainBench bench;
    const QString experiment = bench.quickExperiment();
    const Output alone = runWords(trainWords(experiment, bench, {"one", {"parallel.data=1"}}));
    QVERIFY2(alone.exitCode == 0, alone.errors.constData());
    const Output done =
        runWords(trainWords(experiment, bench, strategies()[static_cast<std::size_t>(strategy)]));
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

void FaultsTest::killedAtAnyMoment_data() {
    QTest::addColumn<int>("strategy");
    QTest::addColumn<int>("step");
    QTest::addColumn<int>("victim");
    std::random_device device;
    const unsigned seed = qEnvironmentVariableIsSet("TRAINYARD_FAULT_SEED")
                              ? qEnvironmentVariable("TRAINYARD_FAULT_SEED").toUInt()
                              : device();
    qInfo() << "TRAINYARD_FAULT_SEED" << seed;
    std::mt19937 random(seed);
    for (int round = 0; round < rounds(); ++round) {
        const auto strategy = static_cast<std::size_t>(round) % strategies().size();
        QTest::addRow("%d: %s", round + 1, strategies()[strategy].name)
            << static_cast<int>(strategy) << static_cast<int>(random() % 40)
            << static_cast<int>(random() % 8);
    }
}

void FaultsTest::killedAtAnyMoment() {
    QFETCH(int, strategy);
    QFETCH(int, step);
    QFETCH(int, victim);
    TrainBench bench;
    const QString experiment = bench.endlessExperiment();
    Program program(
        trainWords(experiment, bench, strategies()[static_cast<std::size_t>(strategy)]));
    const auto ranks = [&] {
        const std::vector<RunRecord> runs = bench.runs();
        return runs.empty() ? std::vector<spec::RankInfo>() : *bench.reader()->ranks(runs[0].id);
    };
    // Step 0: as soon as the ranks are known, while they still meet.
    QTRY_VERIFY_WITH_TIMEOUT(!ranks().empty() && bench.runs()[0].lastStep >= step, kPatience);
    const std::vector<spec::RankInfo> all = ranks();
    const spec::RankInfo& killed = all[static_cast<std::size_t>(victim) % all.size()];
    QElapsedTimer timer;
    timer.start();
    QCOMPARE(::kill(static_cast<pid_t>(killed.pid), SIGKILL), 0);
    QVERIFY(program.waitForEnd());
    QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
    QCOMPARE(program.exitCode(), 1);
    const QByteArray told = program.output();
    const QByteArray who = "Rank " + QByteArray::number(killed.rank) + " (process " +
                           QByteArray::number(static_cast<qint64>(killed.pid)) + ")";
    QVERIFY2(told.contains(who) && told.contains("killed"), told.constData());
    const RunRecord record = bench.runs()[0];
    QCOMPARE(nameOf(record.status), QStringLiteral("failed"));
    QVERIFY(record.failure && record.failure->rank == killed.rank);
    QVERIFY(isUnbroken(bench.points(record.id, kLoss)));
    QTRY_VERIFY(bench.processes().empty());
    // The run can be deleted, and with it goes all that it wrote.
    const Output deleted = runWords({QStringLiteral("runs"), QStringLiteral("delete"), record.uid,
                                     QStringLiteral("--store"), bench.store()});
    QVERIFY2(deleted.exitCode == 0, deleted.errors.constData());
    QVERIFY(bench.runs().empty());
}

QTEST_GUILESS_MAIN(FaultsTest)
#include "tst_faults.moc"
