// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole runs: the real command line, the real worker, small real data. What a person would do, and
// what happens to him: killed programs, full disks, odd names, foreign locales.
#include "tests/agent/small_disk.h"
#include "tests/integration/train_bench.h"
#include "tests/support/foreign_locale.h"

#include <QElapsedTimer>
#include <QJsonDocument>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <csignal>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr int kPatience = 60'000; ///< ms, for a machine under load
constexpr const char* kLoss = spec::metric::kTrainLoss;

QJsonObject objectIn(const QByteArray& text) {
    return QJsonDocument::fromJson(text).object();
}

QString text(const QJsonObject& object, const char* key) {
    return object[QLatin1StringView(key)].toString();
}

double number(const QJsonObject& object, const char* key) {
    return object[QLatin1StringView(key)].toDouble(-1);
}

QString logOf(const TrainBench& bench, RunId run) {
    QStringList lines;
    const std::vector<LogLine> found = *bench.reader()->log(run);
    for (const LogLine& line : found)
        lines << QString::fromStdString(line.text.text());
    return lines.join(u'\n');
}

std::vector<std::int64_t> samplesByClass(const TrainBench& bench, RunId run) {
    const ConfusionTable table = bench.reader()->confusion(run, Validation::Newest)->value();
    std::vector<std::int64_t> samples;
    for (int each = 0; each < table.classes(); ++each)
        samples.push_back(table.labelled(each));
    return samples;
}

void kill9(qint64 pid) {
    ::kill(static_cast<pid_t>(pid), SIGKILL);
}

} // namespace

class TestTrain : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { qunsetenv("TRAINYARD_WORKER"); }

    void theSameLossesOnOneTwoAndThreeRanks() {
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        for (const char* ranks : {"1", "2", "3"}) {
            const Output done =
                run({"train", experiment, "--store", bench.store(), "--json", "--set",
                     QString(u"parallel.data=" + QString::fromUtf8(ranks))});
            QVERIFY2(done.exitCode == 0, done.errors.constData());
            const QJsonObject result = objectIn(done.output);
            QCOMPARE(text(result, "state"), QStringLiteral("finished"));
            QCOMPARE(number(result, "steps"), 27.0);
            QCOMPARE(number(result, "epochs"), 3.0);
            QCOMPARE(number(result, "ranks"), QByteArray(ranks).toDouble());
            QVERIFY(number(result, "val_accuracy") > 0.5); // it has learned something
        }
        const std::vector<RunRecord> runs = bench.runs();
        QCOMPARE(runs.size(), 3U);
        const Points one = bench.points(runs[2].id, kLoss);
        QCOMPARE(one.size(), 27U);
        for (const RunRecord& each : runs) {
            // Counted over all ranks and of this validation only.
            const ConfusionTable table =
                bench.reader()->confusion(each.id, Validation::Newest)->value();
            QCOMPARE(table.step(), 27);
            QCOMPARE(table.epoch(), 3.0);
            QCOMPARE(table.classes(), 3);
            QCOMPARE(table.total(), 46);
            const double accuracy =
                bench.points(each.id, spec::metric::kValidationAccuracy).values.back();
            QCOMPARE(static_cast<double>(table.correct()) / 46, accuracy);
            const Points validated = bench.points(each.id, spec::metric::kValidationLoss);
            const auto lowest = std::ranges::min_element(validated.values);
            QCOMPARE(bench.reader()->confusion(each.id, Validation::Best)->value().step(),
                     validated.steps[static_cast<std::size_t>(lowest - validated.values.begin())]);
        }
        for (const std::size_t other : {0U, 1U}) {
            const Points losses = bench.points(runs[other].id, kLoss);
            QVERIFY(isUnbroken(losses));
            QCOMPARE(losses.size(), 27U);
            for (std::size_t i = 0; i < 20; ++i)
                QVERIFY2(std::abs(losses.values[i] - one.values[i]) <= 1e-5 * one.values[i],
                         qPrintable(QStringLiteral("step %1: %2 and %3")
                                        .arg(i + 1)
                                        .arg(one.values[i])
                                        .arg(losses.values[i])));
            QCOMPARE(samplesByClass(bench, runs[other].id), samplesByClass(bench, runs[2].id));
            // Each picture once an epoch.
            const Axes axes = *bench.reader()->axes(runs[other].id);
            QCOMPARE(axes.samples.back(), 3.0 * 210);
        }
    }

    void killedCommandLineLosesNothing() {
        TrainBench bench;
        {
            Program program({"train", bench.endlessExperiment(), "--store", bench.store()});
            QTRY_VERIFY_WITH_TIMEOUT(!bench.runs().empty() && bench.runs()[0].lastStep >= 3,
                                     kPatience);
            kill9(program.pid());
            program.waitForEnd();
        }
        const std::int64_t atDeath = bench.runs()[0].lastStep;
        QTRY_VERIFY_WITH_TIMEOUT((run({"runs", "list", "--store", bench.store()}),
                                  bench.runs()[0].lastStep > atDeath + 5),
                                 kPatience);
        QVERIFY(bench.runs()[0].status == RunStatus::Running);
        const Output stopped = run({"runs", "stop", "1", "--store", bench.store()});
        QVERIFY2(stopped.exitCode == 0, stopped.errors.constData());
        const RunRecord record = bench.runs()[0];
        QCOMPARE(nameOf(record.status), QStringLiteral("stopped"));
        const Points losses = bench.points(record.id, kLoss);
        QCOMPARE(static_cast<std::int64_t>(losses.size()), record.lastStep);
        QVERIFY(isUnbroken(losses));
        QTRY_VERIFY(bench.processes().empty());
    }

    void killedRankEndsTheRun() {
        TrainBench bench;
        Program program({"train", bench.endlessExperiment(), "--store", bench.store()});
        QTRY_VERIFY_WITH_TIMEOUT(!bench.runs().empty() && bench.runs()[0].lastStep >= 3, kPatience);
        const RunRecord running = bench.runs()[0];
        const std::vector<spec::RankInfo> ranks = *bench.reader()->ranks(running.id);
        QCOMPARE(ranks.size(), 2U);
        QElapsedTimer timer;
        timer.start();
        kill9(ranks[1].pid);
        QVERIFY(program.waitForEnd());
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
        QCOMPARE(program.exitCode(), 1);
        const QByteArray told = program.output();
        const QByteArray pid = QByteArray::number(static_cast<qint64>(ranks[1].pid));
        QVERIFY2(told.contains("ank 1") && told.contains(QByteArray("process " + pid)) &&
                     told.contains("step ") && told.contains("killed"),
                 told.constData());
        const RunRecord record = bench.runs()[0];
        QCOMPARE(nameOf(record.status), QStringLiteral("failed"));
        QVERIFY(record.failure && record.failure->rank == 1);
        QVERIFY(isUnbroken(bench.points(record.id, kLoss)));
        QTRY_VERIFY(bench.processes().empty());
    }

    void killedSupervisorIsSweptByTheNextStart() {
        TrainBench bench;
        Program program({"train", bench.endlessExperiment(), "--store", bench.store()});
        QTRY_VERIFY_WITH_TIMEOUT(!bench.runs().empty() && bench.runs()[0].lastStep >= 3, kPatience);
        const qint64 supervisor = bench.supervisorOf(bench.runs()[0]);
        QVERIFY(supervisor > 1);
        kill9(supervisor);
        QVERIFY(program.waitForEnd());
        QCOMPARE(program.exitCode(), 1);
        QVERIFY2(program.output().contains("crashed"), program.output().constData());
        QCOMPARE(nameOf(bench.runs()[0].status), QStringLiteral("crashed"));
        const Output next = run({"train", bench.quickExperiment(), "--store", bench.store()});
        QVERIFY2(next.exitCode == 0, next.errors.constData());
        QTRY_VERIFY(bench.processes().empty());
        // It can be deleted, and so can the other.
        QCOMPARE(run({"runs", "delete", "1", "--store", bench.store()}).exitCode, 0);
        QCOMPARE(bench.runs().size(), 1U);
    }

    void twoAtOnceWithOneName() {
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        Program first({"train", experiment, "--store", bench.store(), "--name", "baseline", "--set",
                       "parallel.data=2"});
        Program second({"train", experiment, "--store", bench.store(), "--name", "baseline",
                        "--set", "parallel.data=2"});
        QVERIFY(first.waitForEnd() && second.waitForEnd());
        QVERIFY2(first.exitCode() == 0, first.output().constData());
        QVERIFY2(second.exitCode() == 0, second.output().constData());
        const std::vector<RunRecord> runs = bench.runs();
        QCOMPARE(runs.size(), 2U);
        QVERIFY(runs[0].uid != runs[1].uid);
        for (const RunRecord& record : runs) {
            QCOMPARE(nameOf(record.status), QStringLiteral("finished"));
            QVERIFY(isUnbroken(bench.points(record.id, kLoss)));
            QCOMPARE(bench.points(record.id, kLoss).size(), 27U);
        }
        QCOMPARE(bench.points(runs[0].id, kLoss), bench.points(runs[1].id, kLoss)); // the same seed
    }

    void namesOfAllKinds() {
        TrainBench bench(QStringLiteral("数据集 №1/обучение ünï/it's \"a\" $HOME"));
        const QString name = QStringLiteral("实验-1 \"a/b\"");
        const Output done = run({"train", bench.quickExperiment(), "--store", bench.store(),
                                 "--name", name, "--json", "--set", "parallel.data=2"});
        QVERIFY2(done.exitCode == 0, done.errors.constData());
        QCOMPARE(text(objectIn(done.output), "name"), name);
        QCOMPARE(bench.runs()[0].name, name);
        const QString csv = bench.path(QStringLiteral("实验 1.csv"));
        QCOMPARE(run({"runs", "export", name, "--out", csv, "--store", bench.store()}).exitCode, 0);
        QCOMPARE(contentOf(csv).trimmed().count('\n'), 27);
    }

    void foreignLocales() {
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        const auto train = [&] {
            return run({"train", experiment, "--store", bench.store(), "--set",
                        "training.optimizer.learning_rate=0.0015", "--set", "parallel.data=2"});
        };
        QCOMPARE(train().exitCode, 0);
        const auto frozen = [&](RunId id) {
            return *bench.reader()->configuration(id);
        };
        const RunId plain = bench.runs()[0].id;
        QVERIFY(frozen(plain).contains("0.0015"));
        for (const char* language : {"de_DE", "ru_RU"}) {
            const ForeignLocale locale(QString::fromUtf8(language));
            if (!locale.active())
                QSKIP("localedef or the sources of the locales (package locales) are missing");
            qputenv("LC_ALL", QByteArray(language) + ".UTF-8");
            const Output done = train();
            const QByteArray sample = run({"samples", "write", "fashion-cnn", "-"}).output;
            qunsetenv("LC_ALL");
            QVERIFY2(done.exitCode == 0, done.errors.constData());
            const RunId foreign = bench.runs()[0].id;
            QCOMPARE(frozen(foreign), frozen(plain));
            QCOMPARE(bench.points(foreign, kLoss), bench.points(plain, kLoss));
            QCOMPARE(sample, run({"samples", "write", "fashion-cnn", "-"}).output);
        }
    }

    void missingDataFile() {
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        QVERIFY(QFile::remove(bench.path(QStringLiteral("quick-train-labels"))));
        const Output failed = run({"train", experiment, "--store", bench.store()});
        QCOMPARE(failed.exitCode, 2);
        QVERIFY2(failed.errors.startsWith("data.train.labels: ") &&
                     failed.errors.contains("quick-train-labels"),
                 failed.errors.constData());
        QCOMPARE(failed.errors.count('\n'), 1);
        QVERIFY(bench.runs().empty());
    }

    void divergence() {
        TrainBench bench;
        const Output failed =
            run({"train", bench.quickExperiment(), "--store", bench.store(), "--json", "--set",
                 "training.optimizer={\"type\": \"sgd\", \"learning_rate\": 1e38}"});
        QCOMPARE(failed.exitCode, 1);
        QCOMPARE(text(objectIn(failed.output), "state"), QStringLiteral("diverged"));
        QVERIFY2(failed.errors.contains("diverged at step "), failed.errors.constData());
    }

    /// A rate so large that the numbers overflow within a few steps: the run says so at once.
    void divergenceOfALargeRate() {
        TrainBench bench;
        const Output failed =
            run({"train", bench.quickExperiment(), "--store", bench.store(), "--set",
                 "training.epochs=50", "--set", "parallel.data=2", "--set",
                 "training.optimizer={\"type\": \"sgd\", \"learning_rate\": 1e20}"});
        QCOMPARE(failed.exitCode, 1);
        const RunRecord record = bench.runs()[0];
        QCOMPARE(nameOf(record.status), QStringLiteral("diverged"));
        const QByteArray step = QByteArray::number(static_cast<qint64>(record.lastStep));
        QVERIFY2(record.lastStep < 9 &&
                     failed.errors.contains(QByteArray("diverged at step " + step + ": ")),
                 failed.errors.constData());
        QVERIFY2(!failed.errors.contains("-nan"), failed.errors.constData());
        // The curve ends where it happened.
        const Points losses = bench.points(record.id, kLoss);
        QCOMPARE(losses.steps.back(), record.lastStep);
        QVERIFY(!std::isfinite(losses.values.back()));
    }

    /// The last update of a run is looked at, too.
    void divergenceInTheLastStep() {
        TrainBench bench;
        const Output failed =
            run({"train", bench.quickExperiment(), "--store", bench.store(), "--set",
                 "training.max_steps=1", "--set", "data.validation=null", "--set",
                 "training.optimizer={\"type\": \"sgd\", \"learning_rate\": 1e300}"});
        QCOMPARE(failed.exitCode, 1);
        QVERIFY2(failed.errors.contains("it made weights that are not finite"),
                 failed.errors.constData());
        QCOMPARE(nameOf(bench.runs()[0].status), QStringLiteral("diverged"));
    }

    void earlyStopping_data() {
        QTest::addColumn<int>("patience");
        QTest::addColumn<int>("ranks");
        QTest::newRow("patience 1") << 1 << 1;
        QTest::newRow("patience 3, two ranks") << 3 << 2;
    }

    /// With a rate of nearly nothing the validation stays as it is, and equal is not better.
    void earlyStopping() {
        QFETCH(int, patience);
        QFETCH(int, ranks);
        TrainBench bench;
        const Output done =
            run({"train", bench.quickExperiment(), "--store", bench.store(), "--json", "--set",
                 "training.epochs=20", "--set", "training.optimizer.learning_rate=1e-30", "--set",
                 QStringLiteral("training.early_stopping.patience=%1").arg(patience), "--set",
                 QStringLiteral("parallel.data=%1").arg(ranks)});
        QVERIFY2(done.exitCode == 0, done.errors.constData());
        const QJsonObject result = objectIn(done.output);
        QCOMPARE(text(result, "state"), QStringLiteral("finished"));
        QCOMPARE(number(result, "epochs"), 1.0 + patience);
        QCOMPARE(number(result, "steps"), 9.0 * (1 + patience));
        const RunId run = bench.runs()[0].id;
        const Points losses = bench.points(run, spec::metric::kValidationLoss);
        QCOMPARE(losses.size(), 1U + static_cast<std::size_t>(patience));
        QCOMPARE(number(result, "val_loss"), losses.values.front());
        QVERIFY2(logOf(bench, run)
                     .contains(QStringLiteral(
                                   "Stopped early after epoch %1: the validation loss was best in "
                                   "epoch 1 with ")
                                   .arg(1 + patience)),
                 qPrintable(logOf(bench, run)));
    }

    /// Labels that are not those of the pictures: the better the model learns, the worse it is on
    /// them, so the first epoch stays the best one and is what the run ends with.
    void theBestEpochIsKept() {
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        QVERIFY(writeIdx(bench.path(QStringLiteral("wrong")), {46, 8, 3}, 77));
        const Output done =
            run({"train", experiment, "--store", bench.store(), "--json", "--set",
                 "training.epochs=4", "--set", "training.early_stopping.patience=9", "--set",
                 QString(u"data.validation.labels=" + bench.path(QStringLiteral("wrong-labels")))});
        QVERIFY2(done.exitCode == 0, done.errors.constData());
        const RunId run = bench.runs()[0].id;
        const Points losses = bench.points(run, spec::metric::kValidationLoss);
        QCOMPARE(losses.size(), 4U);
        QVERIFY(losses.values.back() > losses.values.front());
        QCOMPARE(number(objectIn(done.output), "val_loss"), losses.values.front());
        QVERIFY2(logOf(bench, run)
                     .contains(QStringLiteral("The validation loss was best in epoch 1 with ")),
                 qPrintable(logOf(bench, run)));
    }

    /// The recorded rate is the scaled one, at every step, on any number of ranks.
    void theRateIsScaledToTheBatch() {
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        const auto train = [&](const char* batch, const char* ranks) {
            const Output done =
                run({"train", experiment, "--store", bench.store(), "--set", batch, "--set", ranks,
                     "--set", "training.schedule={\"type\": \"one_cycle\"}"});
            return done.exitCode == 0 ? bench.runs()[0].id : RunId{};
        };
        const auto rates = [&](RunId run) {
            return bench.points(run, spec::metric::kLearningRate);
        };
        const Points plain = rates(train("training.learning_rate_batch=null", "parallel.data=1"));
        const RunId scaled = train("training.learning_rate_batch=12", "parallel.data=2");
        const Points twice = rates(scaled);
        QCOMPARE(plain.size(), 27U);
        QCOMPARE(twice.size(), 27U);
        for (std::size_t i = 0; i < 27; ++i)
            QVERIFY(std::abs(twice.values[i] - 2 * plain.values[i]) <= 1e-12);
        QVERIFY2(logOf(bench, scaled)
                     .contains(QStringLiteral(
                         "The learning rate is multiplied by 2: it is meant for a batch "
                         "of 12, and the batch is 24.")),
                 qPrintable(logOf(bench, scaled)));
    }

    /// The average lags behind the weights that are trained, and is what is validated.
    void validationUsesTheAverage() {
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        const auto losses = [&](const char* average) {
            const Output done =
                run({"train", experiment, "--store", bench.store(), "--set", average});
            const RunId run = done.exitCode == 0 ? bench.runs()[0].id : RunId{};
            return std::pair(bench.points(run, kLoss),
                             bench.points(run, spec::metric::kValidationLoss));
        };
        const auto [trained, validated] = losses("training.ema_decay=null");
        const auto [averagedTrained, averagedValidated] = losses("training.ema_decay=0.9999");
        QCOMPARE(averagedTrained, trained); // training goes on as without it
        QCOMPARE(averagedValidated.size(), validated.size());
        for (std::size_t i = 0; i < validated.size(); ++i)
            QVERIFY(averagedValidated.values[i] > validated.values[i]);
        // A decay of 0 averages nothing.
        QCOMPARE(losses("training.ema_decay=0").second, validated);
    }

    void fullDisk() {
        SmallDisk disk(2 << 20);
        if (!disk.isMounted())
            QSKIP(disk.whyNot().constData());
        TrainBench bench;
        bench.setStore(disk.path() + QStringLiteral("/store"));
        Program program({"train", bench.endlessExperiment(), "--store", bench.store()});
        QTRY_VERIFY_WITH_TIMEOUT(!bench.runs().empty() && bench.runs()[0].lastStep >= 3, kPatience);
        disk.fill();
        QVERIFY(program.waitForEnd()); // the run comes to an end by itself
        QCOMPARE(program.exitCode(), 1);
        QVERIFY2(program.output().contains(QByteArray("disk full: " + disk.path().toUtf8())),
                 program.output().constData());
        disk.clear();
        // What was written is intact, the state is final, and later runs start.
        QCOMPARE(run({"runs", "list", "--store", bench.store()}).exitCode, 0);
        QVERIFY(isFinal(bench.runs()[0].status));
        const Points losses = bench.points(bench.runs()[0].id, kLoss);
        QVERIFY(losses.size() >= 3);
        QVERIFY(isUnbroken(losses));
        QTRY_VERIFY(bench.processes().empty());
        const Output next = run({"train", bench.quickExperiment(), "--store", bench.store()});
        QVERIFY2(next.exitCode == 0, next.errors.constData());
    }
};

QTEST_GUILESS_MAIN(TestTrain)
#include "tst_train.moc"
