// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Small models on real data must get as far as the same models elsewhere: the floors are the worst
// of several seeds of PyTorch (Adam 1e-3, the same epochs and batch) less two points.
#include "engine/spec/event.h"
#include "tests/integration/train_bench.h"
#include "tests/support/program.h"

#include <QFile>
#include <QtTest>

using namespace trainyard;
using namespace trainyard::test;

namespace {

QString dataFolder() {
    return qEnvironmentVariable("TRAINYARD_SHARED_DATA");
}

/// %1: data, %2: model, %3: loss, %4: training.
QString experiment(const char* data, const char* shape, const char* layers, const char* loss,
                   const char* training) {
    return QStringLiteral(R"({"format": "trainyard.experiment/1", "name": "floor", "data": {%1},
        "model": {"input": {"shape": %2}, "layers": [%3], "loss": {"type": "%4"}},
        "training": {%5}})")
        .arg(QString::fromUtf8(data).replace(QStringLiteral("$"), dataFolder()),
             QLatin1String(shape), QLatin1String(layers), QLatin1String(loss),
             QLatin1String(training));
}

constexpr const char* kMlp128 = R"({"id": "flat", "type": "flatten"},
    {"id": "fc1", "type": "linear", "out_features": 128}, {"id": "relu", "type": "relu"},
    {"id": "fc2", "type": "linear", "out_features": 10})";
constexpr const char* kCnn = R"(
    {"id": "conv1", "type": "conv2d", "out_channels": 16, "padding": 1},
    {"id": "relu1", "type": "relu"}, {"id": "pool1", "type": "max_pool"},
    {"id": "conv2", "type": "conv2d", "out_channels": 32, "padding": 1},
    {"id": "relu2", "type": "relu"}, {"id": "pool2", "type": "max_pool"},
    {"id": "flat", "type": "flatten"}, {"id": "fc", "type": "linear", "out_features": 10})";
constexpr const char* kMlp32 = R"({"id": "fc1", "type": "linear", "out_features": 32},
    {"id": "relu", "type": "relu"}, {"id": "fc2", "type": "linear", "out_features": %1})";

QString adam(int epochs, int batch, double rate = 1e-3) {
    return QStringLiteral(R"("epochs": %1, "batch": %2,
        "optimizer": {"type": "adam", "learning_rate": %3})")
        .arg(epochs)
        .arg(batch)
        .arg(rate);
}

} // namespace

class DataFloorsTest : public QObject {
    Q_OBJECT
private slots:
    void floors_data();
    void floors();
    void textIsLearned();

private:
    /// The last value of `metric` of a run of `text`; NaN when the run failed.
    static double trained(const QString& text, const QString& metric);
};

double DataFloorsTest::trained(const QString& text, const QString& metric) {
    TrainBench bench;
    const QString path = bench.path(QStringLiteral("floor.json"));
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(text.toUtf8()) < 0)
        return qQNaN();
    file.close();
    const Output done = run({"train", path, "--store", bench.store()});
    if (done.exitCode != 0) {
        qWarning("%s", done.errors.constData());
        return qQNaN();
    }
    const std::vector<double> values =
        bench.points(bench.runs()[0].id, metric.toUtf8().constData()).values;
    qInfo("%s", qPrintable(QStringLiteral("%1 %2").arg(metric).arg(values.back())));
    return values.back();
}

void DataFloorsTest::floors_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("metric");
    QTest::addColumn<double>("atLeast");
    const auto accuracy = [](const char* name, const QString& text, double floor) {
        QTest::newRow(name) << text << QString::fromUtf8(spec::metric::kValidationAccuracy)
                            << floor;
    };
    accuracy("MNIST, MLP",
             experiment(R"("format": "idx", "train": {
                "images": "$/unclear-licence/idx-mnist/t10k-images-idx3-ubyte.gz",
                "labels": "$/unclear-licence/idx-mnist/t10k-labels-idx1-ubyte.gz"},
                "validation": {"fraction": 0.2})",
                        "[1, 28, 28]", kMlp128, "cross_entropy", qPrintable(adam(5, 64))),
             0.912);
    accuracy("Fashion, MLP",
             experiment(R"("format": "idx", "train": {
                "images": "$/idx/fashion/t10k-images-idx3-ubyte.gz",
                "labels": "$/idx/fashion/t10k-labels-idx1-ubyte.gz"},
                "validation": {"fraction": 0.2})",
                        "[1, 28, 28]", kMlp128, "cross_entropy", qPrintable(adam(5, 64))),
             0.802);
    accuracy("sign digits, CNN",
             experiment(R"("format": "cifar",
                "train": {"pictures": "$/cifar-format/data_batch_1.bin"},
                "validation": {"pictures": "$/cifar-format/test_batch.bin"})",
                        "[3, 32, 32]", kCnn, "cross_entropy", qPrintable(adam(15, 64))),
             0.828);
    accuracy("digits, MLP",
             experiment(R"("format": "csv", "train": {"table": "$/tabular/sklearn-digits.csv.gz"},
                "validation": {"fraction": 0.2}, "header": "no", "task": "classification")",
                        "[64]", qPrintable(QString::fromUtf8(kMlp32).arg(10)), "cross_entropy",
                        qPrintable(adam(30, 64))),
             0.933);
    accuracy("penguins, MLP",
             experiment(R"("format": "csv", "train": {"table": "$/tabular/penguins.csv"},
                "validation": {"fraction": 0.3}, "target": "species")",
                        "[11]", qPrintable(QString::fromUtf8(kMlp32).arg(3)), "cross_entropy",
                        qPrintable(adam(60, 16))),
             0.961);
    QTest::newRow("wine quality, MLP: R2 of 1 - 0.408 / variance")
        << experiment(R"("format": "csv",
                "train": {"table": "$/unclear-licence/tabular/winequality-red-bom-crlf.csv"},
                "validation": {"fraction": 0.2}, "target": "quality", "task": "regression")",
                      "[11]", qPrintable(QString::fromUtf8(kMlp32).arg(1)), "mse",
                      qPrintable(adam(30, 32, 1e-2)))
        << QString::fromUtf8(spec::metric::kValidationR2) << 1 - 0.408 / 0.548 - 0.02;
}

void DataFloorsTest::floors() {
    QFETCH(QString, text);
    QFETCH(QString, metric);
    QFETCH(double, atLeast);
    if (dataFolder().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const double reached = trained(text, metric);
    QVERIFY2(reached >= atLeast,
             qPrintable(QStringLiteral("%1, expected %2").arg(reached).arg(atLeast)));
}

/// The sample gpt-small on its text, by characters.
void DataFloorsTest::textIsLearned() {
    TrainBench bench;
    const QString file = bench.path(QStringLiteral("gpt.json"));
    QCOMPARE(run({"samples", "write", "gpt-small", file}).exitCode, 0);
    Program train({"train", file, "--store", bench.store(), "--set", "training.max_steps=500"});
    bool ended = false;
    for (int patience = 0; patience < 25 && !ended; ++patience)
        ended = train.waitForEnd();
    QVERIFY(ended);
    QVERIFY2(train.exitCode() == 0, train.output().constData());
    const double loss =
        bench.points(bench.runs()[0].id, spec::metric::kValidationLoss).values.back();
    qInfo("validation loss after 500 steps: %s", qPrintable(QString::number(loss)));
    QVERIFY2(loss < 1.9, qPrintable(QString::number(loss)));
}

QTEST_GUILESS_MAIN(DataFloorsTest)
#include "tst_data_floors.moc"
