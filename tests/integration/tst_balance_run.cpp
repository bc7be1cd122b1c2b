// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs whose ranks measure how fast they are, with the programs as they are built: a rank that is
// held up most of the time gets less of the batch. And sizes of buckets from the command line.
#include "tests/integration/train_bench.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QTest>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr auto kStopped = std::chrono::milliseconds(45);
constexpr auto kRuns = std::chrono::milliseconds(5);

bool isRank(qint64 pid, const char* number) {
    const QList<QByteArray> words =
        contentOf(QStringLiteral("/proc/%1/cmdline").arg(pid)).split('\0');
    const qsizetype option = words.indexOf("--rank");
    return option >= 0 && words.value(option + 1) == number;
}

/// Holds a run's second rank up from its start on: of 50 ms it has 5.
class Brake {
public:
    explicit Brake(const TrainBench& bench) : m_bench(bench), m_thread([this] { hold(); }) {}
    ~Brake() {
        {
            const std::lock_guard lock(m_mutex);
            m_over = true;
        }
        m_changed.notify_all();
        m_thread.join();
    }
    Brake(const Brake&) = delete;
    Brake& operator=(const Brake&) = delete;

private:
    /// True: the brake is let go.
    bool isOverWithin(std::chrono::milliseconds time) {
        std::unique_lock lock(m_mutex);
        return m_changed.wait_for(lock, time, [this] { return m_over; });
    }

    void hold() {
        pid_t rank = 0;
        while (rank == 0 && !isOverWithin(kRuns))
            for (const qint64 pid : m_bench.processes())
                if (isRank(pid, "1"))
                    rank = static_cast<pid_t>(pid);
        while (rank != 0 && isRank(rank, "1")) { // while it lives
            ::kill(rank, SIGSTOP);
            const bool over = isOverWithin(kStopped);
            ::kill(rank, SIGCONT);
            if (over || isOverWithin(kRuns))
                return;
        }
    }

    const TrainBench& m_bench;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_over = false;
    std::thread m_thread; ///< last: it uses the others
};

/// The only argument of the log's line on shares; empty where it is not there.
QStringList sharesToldBy(const TrainBench& bench) {
    const std::vector<RunRecord> runs = bench.runs();
    if (runs.empty())
        return {};
    const std::vector<LogLine> lines = *bench.reader()->log(runs.front().id);
    for (const LogLine& line : lines)
        if (line.text.format.starts_with("Shares of the batch by measured speed"))
            return QString::fromStdString(line.text.arguments.front()).split(QStringLiteral(", "));
    return {};
}

QJsonObject planned(const QString& experiment, const QStringList& settings) {
    QStringList words{QStringLiteral("plan"), experiment, QStringLiteral("--json"),
                      QStringLiteral("--no-calibration")};
    for (const QString& setting : settings)
        words << QStringLiteral("--set") << setting;
    return QJsonDocument::fromJson(runWords(words).output).object();
}

} // namespace

class TestBalanceRun : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { qunsetenv("TRAINYARD_WORKER"); }

    void aRankThatIsHeldUpGetsLess() {
        TrainBench bench;
        const QString experiment = bench.endlessExperiment();
        Output done;
        {
            const Brake brake(bench);
            done = run({"train", experiment, "--store", bench.store(), "--set",
                        "training.max_steps=10", "--set", "parallel.balance=measured"});
        }
        QVERIFY2(done.exitCode == 0, done.errors.constData());
        const QStringList shares = sharesToldBy(bench);
        QCOMPARE(shares.size(), 2);
        const auto percent = [](QString share) {
            return share.remove(QStringLiteral(" %")).toDouble();
        };
        QVERIFY2(percent(shares[0]) > percent(shares[1]),
                 qPrintable(shares.join(QStringLiteral(", "))));
        QVERIFY(std::abs(percent(shares[0]) + percent(shares[1]) - 100) < 0.2);
        const Output shown = run({"runs", "show", "1", "--store", bench.store()});
        QVERIFY2(shown.output.contains("  balance   Shares of the batch by measured speed"),
                 shown.output.constData());
    }

    /// Every row is trained on once, whatever the shares are.
    void measuredRunsEnd() {
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        for (const char* mesh : {"parallel.data=2", "parallel.pipeline=2"}) {
            const Output done = run({"train", experiment, "--store", bench.store(), "--set", mesh,
                                     "--set", "parallel.balance=measured"});
            QVERIFY2(done.exitCode == 0, done.errors.constData());
        }
        for (const RunRecord& run : bench.runs()) {
            QCOMPARE(bench.reader()->axes(run.id)->samples.back(), 3.0 * 210);
            const Points losses = bench.points(run.id, spec::metric::kTrainLoss);
            QVERIFY(isUnbroken(losses) && losses.values.back() < losses.values.front());
        }
    }

    void buckets() {
        TrainBench bench;
        const QString experiment = bench.endlessExperiment();
        const QString bytes = QStringLiteral("parallel.bucket_bytes=4096");
        const QJsonObject one =
            planned(experiment, {QStringLiteral("parallel.bucket_bytes=26214400")});
        const QJsonObject more = planned(experiment, {bytes});
        QCOMPARE(more[QLatin1StringView("bucket_size")].toInt(), 4096);
        QCOMPARE(one[QLatin1StringView("bucket_bytes")].toArray().size(), 1);
        QCOMPARE(more[QLatin1StringView("bucket_bytes")].toArray().size(), 2);
        const Output text = run({"plan", experiment, "--no-calibration", "--set", bytes});
        QVERIFY2(text.output.contains("in 2 pieces that end at 4.00 KiB, each as soon as"),
                 text.output.constData());
    }
};

QTEST_GUILESS_MAIN(TestBalanceRun)
#include "tst_balance_run.moc"
