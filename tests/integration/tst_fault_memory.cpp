// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank gets less memory than it needs: from the beginning, anywhere between what its program
// takes to be loaded and what training takes, or from some step on. The run ends, and one sentence
// says whose memory it was, how much was asked for, and what helps. TRAINYARD_FAULT_ROUNDS: how
// many limits of each kind (4).
#include "tests/integration/fault_bench.h"
#include "tests/support/run_support.h"

#include <QRegularExpression>
#include <QTest>

#include <csignal>
#include <sys/resource.h>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr qint64 kMiB = 1 << 20;
/// Parameters, gradients and the two states of Adam of the large experiment.
constexpr qint64 kTraining = 104 * kMiB;
/// So many steps without more memory mean that none is needed.
constexpr int kEnoughSteps = 60;

/// The program of a rank is loaded and answers with so much.
bool loadsWith(qint64 bytes) {
    QProcess worker;
    worker.setChildProcessModifier([bytes] {
        const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
        ::setrlimit(RLIMIT_AS, &limit);
    });
    worker.start(builtProgram(QStringLiteral("bin/trainyard-worker")), {QStringLiteral("version")});
    return worker.waitForFinished() && worker.exitStatus() == QProcess::NormalExit &&
           worker.exitCode() == 0;
}

/// Who, how much, what helps; empty: all is said.
QString missingIn(const QString& told, const spec::RankInfo& rank) {
    const auto has = [&](const QString& pattern) {
        const QRegularExpression expression(pattern, QRegularExpression::CaseInsensitiveOption);
        return expression.match(told).hasMatch();
    };
    if (!has(QStringLiteral("rank %1 \\(process %2\\)").arg(rank.rank).arg(rank.pid)))
        return QStringLiteral("who: ") + told;
    if (!has(QStringLiteral("memory (when it asked for|of|for) [\\d,]+ bytes|memory for a thread|"
                            "got no memory(: | in a thread)|Not enough memory to open the data")))
        return QStringLiteral("how much: ") + told;
    if (!has(QStringLiteral("(use|or) (a smaller|fewer)")))
        return QStringLiteral("what helps: ") + told;
    return {};
}

} // namespace

class FaultMemoryTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void tooLittleFromTheBeginning_data() { addFaultRounds(4); }
    void tooLittleFromTheBeginning();
    void noMoreWhileItTrains_data() { addFaultRounds(4); }
    void noMoreWhileItTrains();

private:
    void seeTheEnd(TrainBench& bench, FaultRun& run, int rank, std::int64_t enough);

    qint64 m_loaded = 0; ///< what the program needs before it does anything
};

void FaultMemoryTest::initTestCase() {
    qint64 enough = 4096 * kMiB;
    qint64 tooLittle = 0;
    while (enough - tooLittle > kMiB) {
        const qint64 middle = (enough + tooLittle) / 2;
        (loadsWith(middle) ? enough : tooLittle) = middle;
    }
    m_loaded = enough;
}

/// A rank that reaches the step `enough` needs no more to train; the end that is then asked for
/// takes some memory once more, for the weights that are kept.
void FaultMemoryTest::seeTheEnd(TrainBench& bench, FaultRun& run, int rank, std::int64_t enough) {
    QTRY_VERIFY_WITH_TIMEOUT(run.isOver() || run.reached(enough), kPatience);
    if (!run.isOver())
        run.program().send(SIGINT);
    QVERIFY(run.program().waitForEnd());
    if (run.record().status == RunStatus::Stopped) {
        QTRY_VERIFY(bench.processes().empty());
        return;
    }
    const QString told = QString::fromUtf8(run.program().output());
    QCOMPARE(missingIn(told.mid(told.indexOf(QStringLiteral("cpu:"))), run.rankOf(rank)),
             QString());
    QCOMPARE(run.defectOfEnd(rank), QString());
}

void FaultMemoryTest::tooLittleFromTheBeginning() {
    QFETCH(int, strategy);
    QFETCH(int, moment);
    QFETCH(int, victim);
    const int rank = victim % 2; // there are two at least
    const qint64 limit = m_loaded + kTraining * moment / 1000;
    TrainBench bench;
    FaultRun run(bench, bench.largeExperiment(), strategyAt(strategy),
                 QStringLiteral("memory %1 %2").arg(rank).arg(limit));
    seeTheEnd(bench, run, rank, 2); // ranks that share the model need less
}

void FaultMemoryTest::noMoreWhileItTrains() {
    QFETCH(int, strategy);
    QFETCH(int, moment);
    QFETCH(int, victim);
    TrainBench bench;
    FaultRun run(bench, bench.endlessExperiment(), strategyAt(strategy));
    const std::int64_t step = moment % 30;
    QTRY_VERIFY_WITH_TIMEOUT(run.reached(step), kPatience);
    const spec::RankInfo rank = run.rankOf(victim);
    const rlimit nothing{1, RLIM_INFINITY};
    QCOMPARE(::prlimit(static_cast<pid_t>(rank.pid), RLIMIT_AS, &nothing, nullptr), 0);
    seeTheEnd(bench, run, rank.rank, step + kEnoughSteps);
}

QTEST_GUILESS_MAIN(FaultMemoryTest)
#include "tst_fault_memory.moc"
