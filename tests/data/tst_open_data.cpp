// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Opening the data of an experiment: real Fashion-MNIST with its known figures, splits, statistics
// and normalisation against plain arithmetic, and all that is wrong in one answer.
#include "engine/data/dataset.h"

#include "tests/data/data_helpers.h"

#include <QDir>

#include <cmath>
#include <set>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;

namespace {

const QString kPackagedFolder = QStringLiteral("/usr/share/datasets/fashion-mnist/");

} // namespace

class TestOpenData : public QObject {
    Q_OBJECT

private slots:
    void fashionMnist();
    void fashionMnistTestPart();
    void quirks_data();
    void quirks();
    void statisticsAndNormalization_data();
    void statisticsAndNormalization();
    void constantChannelBecomesZero();
    void validationUsesTrainingStatistics();
    void splitIsDisjointAndComplete_data();
    void splitIsDisjointAndComplete();
    void splitDependsOnSeedOnly();
    void gatherInAnyOrder();
    void allProblemsAtOnce();
    void wrongSpec();
    void sizesMustAgree();
    void holdsTheDataOnce();

private:
    spec::FileSet quirkFiles(const char* images, const char* labels) const {
        const QString folder = sharedData() + QStringLiteral("/quirks-A/idx/");
        return {{"images", (folder + QString::fromUtf8(images)).toStdString()},
                {"labels", (folder + QString::fromUtf8(labels)).toStdString()}};
    }
    spec::FileSet generate(const QString& name, const QByteArray& images,
                           const QByteArray& labels) {
        const QString imageFile = m_folder.filePath(name + QStringLiteral("-images"));
        const QString labelFile = m_folder.filePath(name + QStringLiteral("-labels"));
        if (!writeFile(imageFile, images) || !writeFile(labelFile, labels))
            qFatal("cannot write a test file");
        return {{"images", imageFile.toStdString()}, {"labels", labelFile.toStdString()}};
    }
    /// `count` pictures {channels, 5, 7} of the pattern, labels i % classes.
    spec::FileSet generatePattern(const QString& name, std::uint32_t count, std::uint32_t channels,
                                  std::uint32_t classes = 3) {
        QByteArray labels = idxHeader(8, {count});
        for (std::uint32_t i = 0; i < count; ++i)
            labels.append(static_cast<char>(i % classes));
        return generate(name,
                        idxHeader(8, {count, channels, 5, 7}) + patternBytes(count * channels * 35),
                        labels);
    }

    QTemporaryDir m_folder;
};

void TestOpenData::fashionMnist() {
    if (!QDir(kPackagedFolder).exists())
        QSKIP("the Debian package dataset-fashion-mnist is not installed");
    const auto file = [](const char* name) {
        return (kPackagedFolder + QString::fromUtf8(name)).toStdString();
    };
    spec::DataSpec data;
    data.train = {{"images", file("train-images-idx3-ubyte.gz")},
                  {"labels", file("train-labels-idx1-ubyte.gz")}};
    data.validation = {{"images", file("t10k-images-idx3-ubyte.gz")},
                       {"labels", file("t10k-labels-idx1-ubyte.gz")}};
    const DataOutcome outcome = openData(data, 1, 10);
    QVERIFY2(outcome.problems.empty(), qPrintable(allSentences(outcome.problems)));
    const DatasetInfo& training = outcome.data.training->info();
    QCOMPARE(training.samples, 60000);
    QVERIFY(training.sampleShape == (Shape{1, 28, 28}));
    QCOMPARE(training.classes, 10);
    QVERIFY(training.classCounts == std::vector<std::int64_t>(10, 6000));
    // The published figures of the training part.
    QVERIFY(std::abs(training.mean.front() - 0.28604) < 5e-6);
    QVERIFY(std::abs(training.deviation.front() - 0.35302) < 5e-6);
    QVERIFY(gatherRows<float>(*outcome.data.training, firstRows(10)).labels ==
            (std::vector<std::int32_t>{9, 0, 0, 3, 0, 2, 7, 2, 5, 5}));
    QCOMPARE(outcome.data.validation->info().samples, 10000);
    QVERIFY(outcome.data.validation->info().classCounts == std::vector<std::int64_t>(10, 1000));
}

void TestOpenData::fashionMnistTestPart() {
    QString folder = sharedData() + QStringLiteral("/idx/fashion/");
    if (sharedData().isEmpty() || !QDir(folder).exists())
        folder = kPackagedFolder;
    if (!QDir(folder).exists())
        QSKIP(
            "neither TRAINYARD_SHARED_DATA nor the Debian package dataset-fashion-mnist is there");
    spec::DataSpec data;
    data.train = {{"images", (folder + QStringLiteral("t10k-images-idx3-ubyte.gz")).toStdString()},
                  {"labels", (folder + QStringLiteral("t10k-labels-idx1-ubyte.gz")).toStdString()}};
    data.normalize = "none";
    const DataOutcome outcome = openData(data, 1, 10);
    QVERIFY2(outcome.problems.empty(), qPrintable(allSentences(outcome.problems)));
    const DatasetInfo& info = outcome.data.training->info();
    QVERIFY(info.classCounts == std::vector<std::int64_t>(10, 1000));
    QVERIFY(std::abs(info.mean.front() * 255 - 73.15) < 0.005);
    const Rows<float> first = gatherRows<float>(*outcome.data.training, firstRows(10));
    QVERIFY(first.labels == (std::vector<std::int32_t>{9, 2, 1, 1, 6, 1, 4, 6, 5, 7}));
    QCOMPARE(first.inputs[0], 0.0f);
    QCOMPARE(*std::ranges::max_element(first.inputs), 255.0f);
}

void TestOpenData::quirks_data() {
    QTest::addColumn<QByteArray>("images");
    QTest::addColumn<QByteArray>("labels");
    QTest::addColumn<QStringList>("sayings");
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const QByteArray images = "ok-images-idx3-ubyte.gz";
    const auto say = [](std::initializer_list<const char*> texts) {
        QStringList list;
        for (const char* text : texts)
            list += QString::fromUtf8(text);
        return list;
    };
    QTest::newRow("right") << images << QByteArray("ok-labels-idx1-ubyte.gz") << QStringList();
    QTest::newRow("count mismatch") << images << QByteArray("count-mismatch-labels.gz")
                                    << say({"data.train.labels: ", "199 labels", "200 images"});
    QTest::newRow("out of range") << images << QByteArray("label-out-of-range.gz")
                                  << say({"data.train.labels: Label 10 at row 50 ",
                                          "10 classes (0-9)", "2 of 200 labels", "to 256"});
    QTest::newRow("one-based") << images << QByteArray("one-based-labels.gz")
                               << say({"Label 10 at row 0 ", "10 classes (0-9)", "run from 1 to 10",
                                       "subtract 1", "to 11"});
    QTest::newRow("swapped") << QByteArray("ok-labels-idx1-ubyte.gz")
                             << QByteArray("swapped-as-labels.gz")
                             << say({"data.train.images: ", "means 1-D data (labels)",
                                     "data.train.labels: ", "3-D file (images)"});
    QTest::newRow("truncated") << QByteArray("truncated-images.gz")
                               << QByteArray("ok-labels-idx1-ubyte.gz") << say({"truncated"});
}

void TestOpenData::quirks() {
    QFETCH(QByteArray, images);
    QFETCH(QByteArray, labels);
    QFETCH(QStringList, sayings);
    spec::DataSpec data;
    data.train = quirkFiles(images.constData(), labels.constData());
    const DataOutcome outcome = openData(data, 1, 10);
    const QString sentences = allSentences(outcome.problems);
    QCOMPARE(outcome.problems.empty(), sayings.isEmpty());
    // Nothing half-registered.
    QCOMPARE(outcome.data.training != nullptr, sayings.isEmpty());
    for (const QString& saying : sayings)
        QVERIFY2(sentences.contains(saying), qPrintable(sentences));
}

void TestOpenData::statisticsAndNormalization_data() {
    QTest::addColumn<QByteArray>("normalize");
    QTest::addColumn<quint32>("channels");
    for (const char* normalize : {"standard", "unit", "none"})
        for (const quint32 channels : {1u, 3u})
            QTest::addRow("%s, %u channels", normalize, channels)
                << QByteArray(normalize) << channels;
}

void TestOpenData::statisticsAndNormalization() {
    QFETCH(QByteArray, normalize);
    QFETCH(quint32, channels);
    constexpr std::uint32_t kCount = 57;
    spec::DataSpec data;
    data.train = generatePattern(QStringLiteral("pattern"), kCount, channels);
    data.normalize = normalize.toStdString();
    const DataOutcome outcome = openData(data, 1, 3);
    QVERIFY2(outcome.problems.empty(), qPrintable(allSentences(outcome.problems)));
    const DatasetInfo& info = outcome.data.training->info();
    QVERIFY(info.sampleShape == (Shape{channels, 5, 7}));
    QVERIFY(info.classCounts == (std::vector<std::int64_t>{19, 19, 19}));

    const Rows<double> doubles = gatherRows<double>(*outcome.data.training, firstRows(kCount));
    const Rows<float> floats = gatherRows<float>(*outcome.data.training, firstRows(kCount));
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        std::vector<std::size_t> indices;
        for (std::size_t i = 0; i < kCount * channels * 35; ++i)
            if (i / 35 % channels == channel)
                indices.push_back(i);
        double mean = 0;
        for (const std::size_t i : indices)
            mean += patternAt(i) / 255.0 / static_cast<double>(indices.size());
        double variance = 0;
        for (const std::size_t i : indices)
            variance +=
                std::pow(patternAt(i) / 255.0 - mean, 2) / static_cast<double>(indices.size());
        QVERIFY(std::abs(info.mean[channel] - mean) < 1e-12);
        QVERIFY(std::abs(info.deviation[channel] - std::sqrt(variance)) < 1e-12);
        for (const std::size_t i : indices) {
            const double unit = patternAt(i) / 255.0;
            const double expected = normalize == "none"   ? patternAt(i)
                                    : normalize == "unit" ? unit
                                                          : (unit - mean) / std::sqrt(variance);
            QVERIFY(std::abs(doubles.inputs[i] - expected) < 1e-12 * std::max(1.0, expected));
            QVERIFY(std::abs(floats.inputs[i] - expected) <
                    3e-7 * std::max(1.0, std::abs(expected)));
        }
    }
}

void TestOpenData::constantChannelBecomesZero() {
    QByteArray pixels;
    for (int sample = 0; sample < 4; ++sample)
        pixels += QByteArray(6, '\x4D') + QByteArray(6, static_cast<char>(sample * 10));
    spec::DataSpec data;
    data.train = generate(QStringLiteral("constant"), idxHeader(8, {4, 2, 2, 3}) + pixels,
                          idxHeader(8, {4}) + QByteArray(4, '\0'));
    const DataOutcome outcome = openData(data, 1, 1);
    QVERIFY2(outcome.problems.empty(), qPrintable(allSentences(outcome.problems)));
    QCOMPARE(outcome.data.training->info().deviation[0], 0.0);
    const Rows<float> all = gatherRows<float>(*outcome.data.training, firstRows(4));
    for (std::size_t i = 0; i < all.inputs.size(); ++i) {
        QVERIFY(std::isfinite(all.inputs[i]));
        if (i / 6 % 2 == 0)
            QCOMPARE(all.inputs[i], 0.0f);
    }
}

void TestOpenData::validationUsesTrainingStatistics() {
    const QByteArray labels = idxHeader(8, {2}) + QByteArray(2, '\0');
    spec::DataSpec data;
    data.train = generate(QStringLiteral("train"),
                          idxHeader(8, {2, 1, 2}) + QByteArray("\0\144\144\0", 4), labels);
    data.validation = generate(QStringLiteral("val"),
                               idxHeader(8, {2, 1, 2}) + QByteArray("\226\226\310\310", 4), labels);
    const DataOutcome outcome = openData(data, 1, 1);
    QVERIFY2(outcome.problems.empty(), qPrintable(allSentences(outcome.problems)));
    // Training: 0 and 100, so mean 50 and deviation 50; validation: 150 and 200.
    const Rows<double> values = gatherRows<double>(*outcome.data.validation, firstRows(2));
    QVERIFY(std::abs(values.inputs[0] - 2.0) < 1e-12 && std::abs(values.inputs[3] - 3.0) < 1e-12);
    QVERIFY(std::abs(outcome.data.validation->info().mean[0] - 175.0 / 255) < 1e-12);
}

void TestOpenData::splitIsDisjointAndComplete_data() {
    QTest::addColumn<quint32>("count");
    QTest::addColumn<double>("fraction");
    QTest::addColumn<qint64>("validation");
    QTest::newRow("a fifth") << 250u << 0.2 << qint64{50};
    QTest::newRow("rounded") << 101u << 0.1 << qint64{10};
    QTest::newRow("at least one") << 20u << 0.001 << qint64{1};
    QTest::newRow("never all") << 3u << 0.999 << qint64{2};
}

void TestOpenData::splitIsDisjointAndComplete() {
    QFETCH(quint32, count);
    QFETCH(double, fraction);
    QFETCH(qint64, validation);
    // Each picture holds its own number.
    QByteArray pixels;
    for (quint32 i = 0; i < count; ++i)
        pixels += static_cast<char>(i);
    spec::DataSpec data;
    data.train = generate(QStringLiteral("numbered"), idxHeader(8, {count, 1, 1}) + pixels,
                          idxHeader(8, {count}) + pixels);
    data.validationFraction = fraction;
    data.normalize = "none";
    const DataOutcome outcome = openData(data, 9, 256);
    QVERIFY2(outcome.problems.empty(), qPrintable(allSentences(outcome.problems)));
    QCOMPARE(outcome.data.validation->info().samples, validation);
    QCOMPARE(outcome.data.training->info().samples, static_cast<qint64>(count) - validation);
    std::set<int> seen;
    for (const Dataset* part : {outcome.data.training.get(), outcome.data.validation.get()}) {
        const Rows<float> all = gatherRows<float>(*part, firstRows(part->info().samples));
        double sum = 0;
        for (std::size_t i = 0; i < all.inputs.size(); ++i) {
            QCOMPARE(static_cast<int>(all.inputs[i]), all.labels[i]);
            QVERIFY2(seen.insert(all.labels[i]).second, "a row is in both parts");
            sum += all.labels[i];
        }
        // Statistics are the part's own: nothing leaks from validation into training.
        QVERIFY(std::abs(part->info().mean[0] * 255 -
                         sum / static_cast<double>(all.labels.size())) < 1e-9);
    }
    QCOMPARE(seen.size(), static_cast<std::size_t>(count));
}

void TestOpenData::splitDependsOnSeedOnly() {
    spec::DataSpec data;
    data.train = generatePattern(QStringLiteral("split"), 200, 1);
    data.validationFraction = 0.25;
    const auto validation = [&](std::uint64_t seed) {
        const DataOutcome outcome = openData(data, seed, 3);
        return gatherRows<double>(*outcome.data.validation, firstRows(50)).inputs;
    };
    QVERIFY(validation(1) == validation(1));
    QVERIFY(validation(1) != validation(2));
}

void TestOpenData::gatherInAnyOrder() {
    spec::DataSpec data;
    data.train = generatePattern(QStringLiteral("order"), 30, 2);
    data.normalize = "none";
    const DataOutcome outcome = openData(data, 1, 3);
    const std::vector<std::int64_t> rows = {29, 0, 7, 7, 12};
    const Rows<float> some = gatherRows<float>(*outcome.data.training, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        QCOMPARE(some.labels[i], static_cast<std::int32_t>(rows[i] % 3));
        for (std::size_t pixel = 0; pixel < 70; ++pixel)
            QCOMPARE(some.inputs[i * 70 + pixel],
                     static_cast<float>(patternAt(static_cast<std::size_t>(rows[i]) * 70 + pixel)));
    }
    gatherRows<float>(*outcome.data.training, {});
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, gatherRows<float>(*outcome.data.training, {30}));
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, gatherRows<float>(*outcome.data.training, {-1}));
}

void TestOpenData::allProblemsAtOnce() {
    spec::DataSpec data;
    data.train = generate(QStringLiteral("bad"), "<!DOCTYPE html>", idxHeader(8, {2}) + "\1\7");
    data.train["weights"] = "w";
    data.validation = {{"images", "/nowhere/images"}};
    const DataOutcome outcome = openData(data, 1, 5);
    const QString sentences = allSentences(outcome.problems);
    for (const char* saying :
         {"data.train.images: ", "a web page", "data.train.labels: Label 7 at row 1",
          "data.train.weights: ", "data.validation.images: There is no file \"/nowhere/images\"",
          "data.validation.labels: No file with the labels is chosen."})
        QVERIFY2(sentences.contains(QString::fromUtf8(saying)), qPrintable(sentences));
    QCOMPARE(outcome.problems.size(), std::size_t{5});
    QVERIFY(!outcome.data.training);
}

void TestOpenData::wrongSpec() {
    spec::DataSpec data;
    data.format = "idy";
    data.normalize = "maximum";
    data.validationFraction = 1.0;
    const QString sentences = allSentences(openData(data, 1, 5).problems);
    for (const char* saying : {"data.format: ", "data.normalize: ", "data.validation.fraction: "})
        QVERIFY2(sentences.contains(QString::fromUtf8(saying)), qPrintable(sentences));

    data = {};
    data.train = generatePattern(QStringLiteral("single"), 1, 1);
    data.validationFraction = 0.5;
    QVERIFY(allSentences(openData(data, 1, 5).problems)
                .contains(QLatin1StringView("One sample cannot be split")));
}

void TestOpenData::sizesMustAgree() {
    spec::DataSpec data;
    data.train = generatePattern(QStringLiteral("one"), 6, 1);
    data.validation = generatePattern(QStringLiteral("three"), 6, 3);
    const QString sentences = allSentences(openData(data, 1, 3).problems);
    QVERIFY2(sentences.contains(QString::fromUtf8("3 × 5 × 7")) &&
                 sentences.contains(QString::fromUtf8("1 × 5 × 7")),
             qPrintable(sentences));
}

void TestOpenData::holdsTheDataOnce() {
    constexpr qint64 kMiB = 1024 * 1024;
    const QString images = m_folder.filePath(QStringLiteral("large-images"));
    QVERIFY(writeFile(images, idxHeader(8, {4096, 128, 128})));
    QFile file(images);
    QVERIFY(file.resize(file.size() + 64 * kMiB));
    const QString labels = m_folder.filePath(QStringLiteral("large-labels"));
    QVERIFY(writeFile(labels, idxHeader(8, {4096}) + QByteArray(4096, '\0')));
    spec::DataSpec data;
    data.train = {{"images", images.toStdString()}, {"labels", labels.toStdString()}};
    data.validationFraction = 0.5;
    if (!resetMostMemoryHeld())
        QSKIP("the most memory held cannot be measured here");
    const qint64 before = memoryFigure("VmHWM");
    const DataOutcome outcome = openData(data, 1, 1);
    QVERIFY2(outcome.problems.empty(), qPrintable(allSentences(outcome.problems)));
    QCOMPARE(outcome.data.validation->info().samples, 2048);
    // Reading, statistics and the split together: one copy and little besides.
    const qint64 taken = memoryFigure("VmHWM") - before;
    QVERIFY2(taken > 60 * 1024 && taken < 80 * 1024, qPrintable(QString::number(taken)));
}

QTEST_APPLESS_MAIN(TestOpenData)
#include "tst_open_data.moc"
