// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// CIFAR-10 binary: files made here with known bytes, real pictures in its layout, and damaged
// files.
#include "tests/data/data_helpers.h"

#include <QDir>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;

namespace {

/// Record i has the label (first + i) % 10 and bytes of the pattern.
QByteArray records(std::size_t first, std::size_t count) {
    QByteArray bytes;
    for (std::size_t i = first; i < first + count; ++i) {
        bytes += static_cast<char>(i % 10);
        for (std::size_t pixel = 0; pixel < 3072; ++pixel)
            bytes += static_cast<char>(patternAt(i * 3072 + pixel));
    }
    return bytes;
}

} // namespace

class TestCifar : public QObject {
    Q_OBJECT

private slots:
    void folderInOrder();
    void oneFileIsSplit();
    void realPictures();
    void damaged();

private:
    std::string write(const char* name, const QByteArray& content) {
        const QString path = m_folder.filePath(QString::fromUtf8(name));
        QDir().mkpath(QFileInfo(path).path());
        if (!writeFile(path, content))
            qFatal("cannot write a test file");
        return path.toStdString();
    }
    static spec::DataSpec cifar(const std::string& path) {
        spec::DataSpec data;
        data.format = "cifar";
        data.train = {{"pictures", path}};
        data.normalize = "none";
        return data;
    }

    QTemporaryDir m_folder;
};

void TestCifar::folderInOrder() {
    write("set №1/data_batch_2.bin", records(7, 5));
    write("set №1/data_batch_1.bin", records(0, 7));
    write("set №1/test_batch.bin", records(100, 3));
    write("set №1/batches.meta.txt", "airplane\r\nautomobile\nbird\n\n");
    const std::string folder = m_folder.filePath(QStringLiteral("set №1")).toStdString();
    spec::DataSpec data = cifar(folder);
    data.validation = data.train;
    const DataOutcome outcome = openData(data, 1, 10);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QCOMPARE(info.samples, 12);
    QVERIFY(info.sampleShape == (Shape{3, 32, 32}));
    QVERIFY(info.classNames == (std::vector<std::string>{"airplane", "automobile", "bird"}));
    const auto all = gatherRows<float>(*outcome.data.training, firstRows(12));
    for (std::size_t i = 0; i < 12; ++i) {
        QCOMPARE(all.labels[i], static_cast<std::int32_t>(i % 10));
        for (std::size_t pixel = 0; pixel < 3072; ++pixel)
            QCOMPARE(all.inputs[i * 3072 + pixel], static_cast<float>(patternAt(i * 3072 + pixel)));
    }
    const auto test = gatherRows<double>(*outcome.data.validation, firstRows(3));
    QCOMPARE(test.labels[2], 2);
    QCOMPARE(test.inputs[0], static_cast<double>(patternAt(100 * 3072)));
}

void TestCifar::oneFileIsSplit() {
    spec::DataSpec data = cifar(write("one.bin.gz", gzip(records(0, 20))));
    data.validationFraction = 0.25;
    const DataOutcome outcome = openData(data, 1, 0);
    VERIFY_OPENED(outcome);
    QCOMPARE(outcome.data.training->info().samples, 15);
    QCOMPARE(outcome.data.validation->info().samples, 5);
}

void TestCifar::realPictures() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    spec::DataSpec data = cifar((sharedData() + QStringLiteral("/cifar-format")).toStdString());
    data.validation = data.train;
    data.normalize = "standard";
    const DataOutcome outcome = openData(data, 1, 10);
    VERIFY_OPENED(outcome);
    QCOMPARE(outcome.data.training->info().samples, 1602);
    QCOMPARE(outcome.data.validation->info().samples, 460);
    QVERIFY(outcome.data.validation->info().classCounts == std::vector<std::int64_t>(10, 46));
    QCOMPARE(outcome.data.training->info().classNames.size(), std::size_t{10});
    QVERIFY(measureGather("CIFAR-10 binary", *outcome.data.training) > 0);
}

void TestCifar::damaged() {
    if (!sharedData().isEmpty()) {
        const std::string path =
            (sharedData() + QStringLiteral("/quirks-A/cifar/truncated.bin")).toStdString();
        VERIFY_REFUSED(openData(cifar(path), 1, 10),
                       "60,960 bytes are 19 records of 3,073 bytes and 2,573 bytes more");
    }
    VERIFY_REFUSED(openData(cifar(write("packed.gz", gzip(records(0, 2).chopped(1)))), 1, 10),
                   "1 records of 3,073 bytes and 3,072 bytes more");
    QByteArray wrong = records(0, 4);
    wrong[3 * 3073] = 77;
    VERIFY_REFUSED(openData(cifar(write("wrong.bin", wrong)), 1, 0), "Label 77 at row 3 of");
    VERIFY_REFUSED(openData(cifar(write("wrong.bin", wrong)), 1, 10), "10 classes (0-9)");
    QDir().mkpath(m_folder.filePath(QStringLiteral("nothing")));
    VERIFY_REFUSED(
        openData(cifar(m_folder.filePath(QStringLiteral("nothing")).toStdString()), 1, 10),
        "There is no file data_batch*.bin in the folder");
}

QTEST_APPLESS_MAIN(TestCifar)
#include "tst_cifar.moc"
