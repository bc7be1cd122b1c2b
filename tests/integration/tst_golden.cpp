// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Golden runs: the first 20 losses of each sample, on small batches. Two runs give the same bits;
// the recorded losses (golden/NAME.txt) are met within kTolerance, a tenth more with each step,
// because kernels round differently on other processors and training multiplies that (oneDNN held
// to SSE4.1 moves resnet18 by 4e-3 in 17 steps). Steps are small (kStepSize): on batches of eight
// the samples' own learning rates overshoot, and a run that bounces soon has nothing in common.
// TRAINYARD_RECORD_GOLDEN=1 in the environment writes the records anew.
#include "app/samples/samples.h"
#include "engine/base/number_text.h"
#include "engine/spec/event.h"
#include "tests/integration/train_bench.h"
#include "tests/support/program.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <cmath>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr std::size_t kSteps = 20;
constexpr double kTolerance = 2e-3; ///< relative, of the first loss
constexpr double kGrowth = 1.1;     ///< of the tolerance with each step
constexpr double kStepSize = 0.02;  ///< of the sample's learning rate

QString recordOf(const QString& sample) {
    return QStringLiteral(TRAINYARD_GOLDEN_FOLDER "/%1.txt").arg(sample);
}

std::vector<double> readRecord(const QString& sample) {
    std::vector<double> losses;
    QFile file(recordOf(sample));
    if (file.open(QIODevice::ReadOnly))
        for (const QByteArray& line : file.readAll().trimmed().split('\n'))
            losses.push_back(line.toDouble());
    return losses;
}

QString smallStepsOf(const QString& experiment) {
    const QJsonObject root = QJsonDocument::fromJson(contentOf(experiment)).object();
    const QJsonObject training = root[QStringLiteral("training")].toObject();
    const QJsonObject optimizer = training[QStringLiteral("optimizer")].toObject();
    return QStringLiteral("training.optimizer.learning_rate=%1")
        .arg(kStepSize * optimizer[QStringLiteral("learning_rate")].toDouble());
}

void writeRecord(const QString& sample, const std::vector<double>& losses) {
    QFile file(recordOf(sample));
    QVERIFY2(file.open(QIODevice::WriteOnly), qPrintable(file.errorString()));
    for (const double loss : losses)
        file.write(QByteArray::fromStdString(shortest(loss)) + '\n');
}

} // namespace

class GoldenTest : public QObject {
    Q_OBJECT
private slots:
    void firstLosses_data() {
        QTest::addColumn<QString>("sample");
        for (const Sample& sample : samples())
            QTest::newRow(qPrintable(sample.name)) << sample.name;
    }
    void firstLosses();
};

void GoldenTest::firstLosses() {
    QFETCH(QString, sample);
    TrainBench bench;
    const QString file = bench.path(sample + QStringLiteral(".json"));
    QCOMPARE(run({"samples", "write", sample, file}).exitCode, 0);
    const QString rate = smallStepsOf(file);
    const auto train = [&] {
        return run({"train", file, "--store", bench.store(), "--set", "training.batch=8", "--set",
                    "training.max_steps=20", "--set", "data.validation=null", "--set",
                    "training.schedule={\"type\": \"constant\"}", "--set", rate});
    };
    const Output first = train();
    if (first.exitCode == 2 && first.errors.contains("dataset-fashion-mnist"))
        QSKIP("The pictures of clothes (package dataset-fashion-mnist) are not installed.");
    QVERIFY2(first.exitCode == 0, first.errors.constData());
    const std::vector<double> losses =
        bench.points(bench.runs()[0].id, spec::metric::kTrainLoss).values;
    QCOMPARE(losses.size(), kSteps);
    QCOMPARE(train().exitCode, 0);
    QCOMPARE(bench.points(bench.runs()[0].id, spec::metric::kTrainLoss).values, losses);

    if (qEnvironmentVariableIsSet("TRAINYARD_RECORD_GOLDEN"))
        return writeRecord(sample, losses);
    const std::vector<double> recorded = readRecord(sample);
    QCOMPARE(recorded.size(), kSteps);
    for (std::size_t i = 0; i < kSteps; ++i)
        QVERIFY2(std::abs(losses[i] - recorded[i]) <=
                     kTolerance * std::pow(kGrowth, i) * std::abs(recorded[i]),
                 qPrintable(QStringLiteral("step %1: %2, recorded %3")
                                .arg(i + 1)
                                .arg(losses[i])
                                .arg(recorded[i])));
}

QTEST_GUILESS_MAIN(GoldenTest)
#include "tst_golden.moc"
