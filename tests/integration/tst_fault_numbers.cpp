// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers that are not finite, on one rank, from a step on that the test knows: all ranks end with
// that step, the sentence says on which rank and in which layer it began, and no weights are left
// that are not finite. TRAINYARD_FAULT_ROUNDS: how many steps (6).
#include "engine/data/sampler.h"
#include "engine/plan/mesh.h"
#include "tests/integration/fault_bench.h"

#include <QTest>

#include <cstring>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr int kSamples = 600;
constexpr int kBatch = 24;
constexpr int kSide = 8;
/// Almost the largest number of fp32: a sum of some of them is not finite.
constexpr float kHuge = 3e38F;

/// An array of NumPy, {kSamples, ...} of `descr`.
void writeNpy(const QString& path, const char* descr, const QByteArray& shape,
              const QByteArray& elements) {
    QByteArray header = QByteArray("{'descr': '") + descr +
                        "', 'fortran_order': False, 'shape': (" + shape + "), }";
    while ((10 + header.size() + 1) % 64 != 0)
        header += ' ';
    header += '\n';
    QByteArray bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(header.size() & 0xFF);
    bytes += static_cast<char>(header.size() >> 8);
    QFile file(path);
    if (file.open(QIODevice::WriteOnly))
        file.write(bytes + header + elements);
}

/// Pictures of two classes; the sample `huge` has numbers that no layer can add up.
void writePictures(const TrainBench& bench, int huge) {
    std::mt19937 random(1);
    QByteArray pixels;
    QByteArray labels;
    for (int sample = 0; sample < kSamples; ++sample) {
        const qint64 label = sample % 3;
        labels.append(reinterpret_cast<const char*>(&label), sizeof label);
        for (int pixel = 0; pixel < kSide * kSide; ++pixel) {
            float value = static_cast<float>(random() % 100) / 100 + static_cast<float>(label);
            if (sample == huge)
                value = random() % 2 == 0 ? kHuge : -kHuge;
            pixels.append(reinterpret_cast<const char*>(&value), sizeof value);
        }
    }
    const QByteArray count = QByteArray::number(kSamples);
    writeNpy(bench.path(QStringLiteral("inputs.npy")), "<f4", count + ", 1, 8, 8", pixels);
    writeNpy(bench.path(QStringLiteral("labels.npy")), "<i8", count + ",", labels);
}

QString experimentOn(TrainBench& bench, double learningRate) {
    spec::Experiment experiment = bench.read(bench.quickExperiment());
    experiment.data = {};
    experiment.data.format = "npy";
    experiment.data.normalize = "none";
    experiment.data.train = {{"inputs", bench.path(QStringLiteral("inputs.npy")).toStdString()},
                             {"labels", bench.path(QStringLiteral("labels.npy")).toStdString()}};
    experiment.training.batch = kBatch;
    experiment.training.epochs = 1;
    experiment.training.optimizer.values["learning_rate"] = learningRate;
    return bench.write(QStringLiteral("numbers.json"), experiment);
}

/// From its settings.
plan::Mesh meshOf(const Strategy& strategy) {
    plan::Mesh mesh;
    for (const char* setting : strategy.settings) {
        const QString text = QString::fromUtf8(setting);
        const int value = text.section(u'=', 1).toInt();
        if (text.startsWith(QStringLiteral("parallel.data=")))
            mesh.data = value;
        if (text.startsWith(QStringLiteral("parallel.tensor=")))
            mesh.tensor = value;
        if (text.startsWith(QStringLiteral("parallel.pipeline=")))
            mesh.pipeline = value;
    }
    return mesh;
}

} // namespace

class FaultNumbersTest : public QObject {
    Q_OBJECT

private slots:
    void aSampleThatNobodyCanAddUp_data() { addFaultRounds(6); }
    void aSampleThatNobodyCanAddUp();
    void anUpdateThatIsTooLarge_data() { addFaultRounds(2); }
    void anUpdateThatIsTooLarge();
};

void FaultNumbersTest::aSampleThatNobodyCanAddUp() {
    QFETCH(int, strategy);
    QFETCH(int, moment);
    TrainBench bench;
    const int position = moment % kSamples; // in the first epoch
    const plan::Mesh mesh = meshOf(strategyAt(strategy));
    const std::uint64_t seed = bench.read(bench.quickExperiment()).training.seed;
    writePictures(bench, static_cast<int>(engine::sampleAt(seed, 0, position, kSamples)));
    const int step = position / kBatch + 1;
    const int reader = mesh.rankOf({position % kBatch / (kBatch / mesh.data), 0, 0});

    FaultRun run(bench, experimentOn(bench, 0.01), strategyAt(strategy));
    QVERIFY(run.program().waitForEnd());
    const QString what = run.failureText();
    QVERIFY2(what.startsWith(QStringLiteral("Training diverged at step %1: loss ").arg(step)),
             qPrintable(QString::fromUtf8(run.program().output())));
    QVERIFY2(what.endsWith(QStringLiteral("It began on rank %1 (process %2): the output of layer "
                                          "conv is not finite.")
                               .arg(reader)
                               .arg(run.ranks().at(static_cast<std::size_t>(reader)).pid)),
             qPrintable(what));
    QCOMPARE(run.record().failure->step, step);
    QCOMPARE(QString::fromStdString(run.record().failure->layer), QStringLiteral("conv"));
    QCOMPARE(run.record().lastStep, step);
    QVERIFY(!QFile::exists(run.folder() + QStringLiteral("/weights.safetensors")));
    QCOMPARE(run.defectOfEnd(reader, "diverged"), QString());
}

void FaultNumbersTest::anUpdateThatIsTooLarge() {
    QFETCH(int, strategy);
    TrainBench bench;
    writePictures(bench, -1);
    FaultRun run(bench, experimentOn(bench, 1e38), strategyAt(strategy));
    QVERIFY(run.program().waitForEnd());
    const QString what = run.failureText();
    QVERIFY2(what.startsWith(QStringLiteral("Training diverged at step 2: loss ")),
             qPrintable(QString::fromUtf8(run.program().output())));
    QVERIFY2(what.contains(QStringLiteral("It began on rank ")) &&
                 what.endsWith(QStringLiteral(" not finite.")),
             qPrintable(what));
    QVERIFY(!run.record().failure->layer.empty());
    QVERIFY(!QFile::exists(run.folder() + QStringLiteral("/weights.safetensors")));
    QCOMPARE(run.defectOfEnd(run.record().failure->rank, "diverged"), QString());
}

QTEST_GUILESS_MAIN(FaultNumbersTest)
#include "tst_fault_numbers.moc"
