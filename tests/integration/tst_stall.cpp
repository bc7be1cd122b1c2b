// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Real ranks that are halted in the middle of training: who holds the others up is said, the run
// goes on when the rank does, and ends at the limit when it does not.
#include "tests/integration/train_bench.h"

#include <QElapsedTimer>
#include <QTest>

#include <csignal>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr int kPatience = 60'000; ///< ms, for a machine under load
constexpr int kRank = 1;

QStringList logOf(const TrainBench& bench) {
    QStringList lines;
    const std::vector<LogLine> found = *bench.reader()->log(bench.runs()[0].id);
    for (const LogLine& line : found)
        lines << QString::fromStdString(line.text.text());
    return lines;
}

bool logHas(const TrainBench& bench, const QString& part) {
    return !logOf(bench).filter(part).isEmpty();
}

/// The process of kRank, halted, in the middle of training.
pid_t haltRank(const TrainBench& bench) {
    const std::vector<spec::RankInfo> ranks = *bench.reader()->ranks(bench.runs()[0].id);
    const auto pid = static_cast<pid_t>(ranks.at(kRank).pid);
    ::kill(pid, SIGSTOP);
    return pid;
}

bool trains(const TrainBench& bench) {
    return !bench.runs().empty() && bench.runs()[0].lastStep >= 3;
}

QString whoIsHalted(pid_t pid) {
    return QStringLiteral("Rank 1 (process %1 on %2) holds the others up, at step ")
        .arg(pid)
        .arg(QSysInfo::machineHostName());
}

} // namespace

class StallTest : public QObject {
    Q_OBJECT

private slots:
    void init() { qputenv("TRAINYARD_STALL_SECONDS", "1"); }
    void cleanup() {
        qunsetenv("TRAINYARD_STALL_SECONDS");
        qunsetenv("TRAINYARD_WAIT_SECONDS");
    }

    void aHaltedRankIsNamedAndMayGoOn() {
        TrainBench bench;
        Program program({"train", bench.endlessExperiment(), "--store", bench.store(), "--set",
                         "training.epochs=150"});
        QTRY_VERIFY_WITH_TIMEOUT(trains(bench), kPatience);
        const pid_t pid = haltRank(bench);
        QTRY_VERIFY_WITH_TIMEOUT(logHas(bench, whoIsHalted(pid)), kPatience);
        const QString warning = logOf(bench).filter(QStringLiteral("holds the others up")).at(0);
        QVERIFY2(warning.endsWith(QStringLiteral("Its process is halted (SIGSTOP); kill -CONT %1 "
                                                 "lets it go on.")
                                      .arg(pid)),
                 qPrintable(warning));
        ::kill(pid, SIGCONT);
        QVERIFY(program.waitForEnd());
        QCOMPARE(program.exitCode(), 0);
        QVERIFY(logHas(bench, QStringLiteral("The run goes on; it had stood for ")));
        QVERIFY(bench.runs()[0].status == RunStatus::Finished);
        QCOMPARE(bench.runs()[0].lastStep, 150 * 5);
        QVERIFY(isUnbroken(bench.points(bench.runs()[0].id, spec::metric::kTrainLoss)));
        QTRY_VERIFY(bench.processes().empty());
    }

    void aHaltedRankEndsTheRunAtTheLimit() {
        qputenv("TRAINYARD_WAIT_SECONDS", "4");
        TrainBench bench;
        Program program({"train", bench.endlessExperiment(), "--store", bench.store()});
        QTRY_VERIFY_WITH_TIMEOUT(trains(bench), kPatience);
        const pid_t pid = haltRank(bench);
        QElapsedTimer timer;
        timer.start();
        QVERIFY(program.waitForEnd());
        QVERIFY2(timer.elapsed() > 3500 && timer.elapsed() < 30'000,
                 QByteArray::number(timer.elapsed()).constData());
        QVERIFY(program.exitCode() != 0);
        QVERIFY(logHas(bench, whoIsHalted(pid))); // before the end
        const RunRecord record = bench.runs()[0];
        QVERIFY(record.status == RunStatus::Failed);
        QVERIFY(record.failure.has_value());
        const QString what = QString::fromStdString(record.failure->what.text());
        QVERIFY2(what.startsWith(QStringLiteral("Rank 1 (process %1) was halted (SIGSTOP) and did "
                                                "not answer the other ranks at step ")
                                     .arg(pid)),
                 qPrintable(what));
        QCOMPARE(record.failure->rank, kRank);
        QTRY_VERIFY(bench.processes().empty());
        QVERIFY(::kill(pid, 0) != 0);
    }
};

QTEST_GUILESS_MAIN(StallTest)
#include "tst_stall.moc"
