// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// IDX files: right ones load to the last byte, wrong ones are refused with a sentence that names
// the file and the fault, before memory is taken.
#include "engine/data/idx_file.h"

#include "tests/data/idx_writer.h"

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>

#include <sys/stat.h>
#include <unistd.h>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;

class TestIdxFile : public QObject {
    Q_OBJECT

private slots:
    void everyFileOfTheManifest_data();
    void everyFileOfTheManifest();
    void sameFromPlainAndGzip();
    void oddSizes_data();
    void oddSizes();
    void severalGzipMembers();
    void gzipUnderAnyName();
    void wrongFiles_data();
    void wrongFiles();
    void truncatedAnywhere();
    void damagedGzip();
    void lyingHeaderTakesNoMemory_data();
    void lyingHeaderTakesNoMemory();
    void missingFile();
    void missingPackagedFile();
    void folderInsteadOfFile();
    void pipeInsteadOfFile();
    void noPermission();
    void pathsInOtherScripts();

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }
    std::string write(const QString& name, const QByteArray& content) const {
        if (!writeFile(path(name), content))
            qFatal("cannot write a test file");
        return path(name).toStdString();
    }
    /// The sentence of the refusal; fails if the file loads or the sentence does not name it.
    static QString refusal(const std::string& file, IdxRole role) {
        const Result<IdxArray> array = readIdx(file, role, "data.train.images");
        if (array)
            return QStringLiteral("(it was accepted)");
        const QString sentence = QString::fromStdString(array.error().sentence());
        if (!sentence.contains(QString::fromStdString(file)) ||
            !sentence.startsWith(QLatin1StringView("data.train.images: ")))
            return QStringLiteral("(names neither place nor file) ") + sentence;
        return sentence;
    }

    QTemporaryDir m_folder;
};

void TestIdxFile::everyFileOfTheManifest_data() {
    QTest::addColumn<QString>("file");
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    QFile manifest(sharedData() + QStringLiteral("/quirks-A/MANIFEST.tsv"));
    QVERIFY2(manifest.open(QIODevice::ReadOnly), qPrintable(manifest.fileName()));
    int rows = 0;
    for (const QByteArray& line : manifest.readAll().split('\n'))
        if (line.startsWith("idx/")) {
            const QByteArray name = line.split('\t').first();
            QTest::newRow(name.constData()) << QString::fromUtf8(name);
            ++rows;
        }
    QCOMPARE(rows, 12);
}

void TestIdxFile::everyFileOfTheManifest() {
    // What the manifest asks of each file, as far as one file alone can tell; labels against a
    // model and counts against each other are in tst_open_data.
    struct Outcome {
        IdxRole role;
        Shape extents;       ///< it loads
        QStringList sayings; ///< or it is refused with all of these
    };
    const auto text = [](const char* value) {
        return QString::fromUtf8(value);
    };
    const QHash<QString, Outcome> outcomes = {
        {text("idx/ok-images-idx3-ubyte.gz"), {IdxRole::Images, {200, 28, 28}, {}}},
        {text("idx/ok-labels-idx1-ubyte.gz"), {IdxRole::Labels, {200}, {}}},
        {text("idx/ok-images-idx3-ubyte"), {IdxRole::Images, {200, 28, 28}, {}}},
        {text("idx/wrong-magic-images.gz"),
         {IdxRole::Images, {}, {text("0x00000801"), text("0x00000803")}}},
        {text("idx/swapped-as-labels.gz"),
         {IdxRole::Labels, {}, {text("is a 3-D file (images); labels must be 1-D")}}},
        {text("idx/truncated-images.gz"), {IdxRole::Images, {}, {text("gzip"), text("truncated")}}},
        {text("idx/short-images-idx3-ubyte"),
         {IdxRole::Images, {}, {text("156,816 bytes"), text("found 156,716")}}},
        {text("idx/count-mismatch-labels.gz"), {IdxRole::Labels, {199}, {}}},
        {text("idx/label-out-of-range.gz"), {IdxRole::Labels, {200}, {}}},
        {text("idx/one-based-labels.gz"), {IdxRole::Labels, {200}, {}}},
        {text("idx/huge-dims"), {IdxRole::Images, {}, {text("bytes"), text("found 80")}}},
        {text("idx/html-named-images.gz"),
         {IdxRole::Images,
          {},
          {text("not gzip"), text("begins with \"<!DOCTYPE"), text("looks like a web page")}}},
    };
    QFETCH(QString, file);
    QVERIFY2(outcomes.contains(file), "the manifest has a file that this test does not know");
    const Outcome& outcome = outcomes[file];
    const std::string path = (sharedData() + QStringLiteral("/quirks-A/") + file).toStdString();
    if (outcome.sayings.isEmpty()) {
        const Result<IdxArray> array = readIdx(path, outcome.role, "data.train.images");
        QVERIFY2(array.ok(), array ? "" : array.error().sentence().c_str());
        QVERIFY(array->extents == outcome.extents);
        return;
    }
    const QString sentence = refusal(path, outcome.role);
    for (const QString& saying : outcome.sayings)
        QVERIFY2(sentence.contains(saying), qPrintable(sentence));
}

void TestIdxFile::sameFromPlainAndGzip() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const std::string base =
        (sharedData() + QStringLiteral("/quirks-A/idx/ok-images-idx3-ubyte")).toStdString();
    const Result<IdxArray> plain = readIdx(base, IdxRole::Images, "");
    const Result<IdxArray> packed = readIdx(base + ".gz", IdxRole::Images, "");
    QVERIFY(plain.ok() && packed.ok());
    QVERIFY(plain->extents == packed->extents);
    QVERIFY(std::ranges::equal(plain->bytes(), packed->bytes()));
}

void TestIdxFile::oddSizes_data() {
    QTest::addColumn<QList<quint32>>("extents");
    QTest::newRow("one pixel") << QList<quint32>{1, 1, 1};
    QTest::newRow("odd") << QList<quint32>{7, 3, 5};
    QTest::newRow("one column") << QList<quint32>{13, 257, 1};
    QTest::newRow("colours") << QList<quint32>{5, 3, 9, 11};
    QTest::newRow("features") << QList<quint32>{101, 17};
    QTest::newRow("beyond the stream buffer") << QList<quint32>{3, 577, 601};
}

void TestIdxFile::oddSizes() {
    QFETCH(QList<quint32>, extents);
    std::size_t count = 1;
    for (const quint32 extent : extents)
        count *= extent;
    QByteArray content;
    switch (extents.size()) {
    case 2:
        content = idxHeader(8, {extents[0], extents[1]});
        break;
    case 3:
        content = idxHeader(8, {extents[0], extents[1], extents[2]});
        break;
    default:
        content = idxHeader(8, {extents[0], extents[1], extents[2], extents[3]});
        break;
    }
    content += patternBytes(count);
    for (const bool packed : {false, true}) {
        const std::string file = write(QStringLiteral("odd"), packed ? gzip(content) : content);
        const Result<IdxArray> array = readIdx(file, IdxRole::Images, "");
        QVERIFY2(array.ok(), array ? "" : array.error().sentence().c_str());
        QVERIFY(array->extents == Shape(extents.begin(), extents.end()));
        QCOMPARE(array->bytes().size(), count);
        for (std::size_t i = 0; i < count; ++i)
            QCOMPARE(array->bytes()[i], patternAt(i));
    }
}

void TestIdxFile::severalGzipMembers() {
    const QByteArray content = idxHeader(8, {10, 4, 4}) + patternBytes(160);
    const std::string file =
        write(QStringLiteral("members.gz"), gzip(content.left(50)) + gzip(content.mid(50)));
    const Result<IdxArray> array = readIdx(file, IdxRole::Images, "");
    QVERIFY2(array.ok(), array ? "" : array.error().sentence().c_str());
    QCOMPARE(array->bytes().back(), patternAt(159));
}

void TestIdxFile::gzipUnderAnyName() {
    const QByteArray content = idxHeader(8, {3}) + QByteArray("\0\1\2", 3);
    QVERIFY(readIdx(write(QStringLiteral("plain.gz"), content), IdxRole::Labels, "").ok());
    QVERIFY(readIdx(write(QStringLiteral("packed"), gzip(content)), IdxRole::Labels, "").ok());
}

void TestIdxFile::wrongFiles_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<bool>("images");
    QTest::addColumn<QString>("saying");
    const auto row = [](const char* name, const QByteArray& content, bool images,
                        const char* saying) {
        QTest::newRow(name) << content << images << QString::fromUtf8(saying);
    };
    row("empty", {}, true, "is empty");
    row("one byte", QByteArray(1, '\0'), true, "not an IDX file");
    row("text", "sepal_len,sepal_wid\n5.1,3.5\n", true, "begins with \"sepal_len,sepal_\"");
    row("zip", QByteArray("PK\3\4abcdefgh"), true, "a ZIP archive");
    row("png", QByteArray("\x89PNG\r\n\x1a\n"), true, "a PNG picture");
    row("numpy", QByteArray("\x93NUMPY\1\0", 8), true, "a NumPy array");
    row("pointer", "version https://git-lfs.github.com/spec/v1\n", true, "Git LFS");
    row("web page in gzip", gzip("<html><body>404</body></html>"), true, "a web page");
    row("gzip in gzip", gzip(gzip(idxHeader(8, {1}) + "a")), false, "gzip inside gzip");
    row("floats", idxHeader(0x0D, {1, 1, 1}) + QByteArray(4, '\0'), true, "32-bit float");
    row("integers", idxHeader(0x0C, {1}) + QByteArray(4, '\0'), false, "32-bit integer");
    row("signed", idxHeader(0x09, {1}) + QByteArray(1, '\0'), false, "signed byte");
    row("labels for images", idxHeader(8, {3}) + "abc", true, "means 1-D data (labels)");
    row("images for labels", idxHeader(8, {1, 1, 1}) + "a", false, "3-D file (images)");
    row("matrix for labels", idxHeader(8, {1, 1}) + "a", false, "2-D file");
    row("five dimensions", idxHeader(8, {1, 1, 1, 1, 1}) + "a", true, "5-D data");
    row("no samples", idxHeader(8, {0, 28, 28}), true, "holds no samples");
    row("no pixels", idxHeader(8, {5, 0, 28}), true, "holds no samples");
    row("header cut", idxHeader(8, {5, 28, 28}).left(13), true, "asks for 16 bytes, found 13");
    row("header cut in gzip", gzip(idxHeader(8, {5, 28, 28}).left(13)), true,
        "asks for 16 bytes, found 13");
    row("short in gzip", gzip(idxHeader(8, {5, 2, 2}) + QByteArray(19, 'a')), true,
        "asks for 36 bytes, found 35");
    row("too long", idxHeader(8, {5, 2, 2}) + QByteArray(21, 'a'), true,
        "expected 36 bytes, found 37");
    row("too long in gzip", gzip(idxHeader(8, {5, 2, 2}) + QByteArray(21, 'a')), true,
        "expected 36 bytes, found more");
    row("channels last", idxHeader(8, {2, 8, 8, 3}) + QByteArray(384, 'a'), true, "channels last");
}

void TestIdxFile::wrongFiles() {
    QFETCH(QByteArray, content);
    QFETCH(bool, images);
    QFETCH(QString, saying);
    const QString sentence = refusal(write(QStringLiteral("wrong"), content),
                                     images ? IdxRole::Images : IdxRole::Labels);
    QVERIFY2(sentence.contains(saying), qPrintable(sentence));
}

void TestIdxFile::truncatedAnywhere() {
    const QByteArray content = idxHeader(8, {4, 5, 6}) + patternBytes(120);
    const QByteArray packed = gzip(content);
    for (const QByteArray& whole : {content, packed})
        for (qsizetype length = 0; length < whole.size(); ++length) {
            const std::string file = write(QStringLiteral("cut"), whole.left(length));
            const QString sentence = refusal(file, IdxRole::Images);
            QVERIFY2(!sentence.startsWith(QLatin1Char('(')),
                     qPrintable(QString::number(length) + sentence));
        }
}

void TestIdxFile::damagedGzip() {
    const QByteArray content = idxHeader(8, {40, 5, 6}) + patternBytes(1200);
    const QByteArray packed = gzip(content);
    int refused = 0;
    for (qsizetype at = 10; at < packed.size(); ++at) {
        QByteArray damaged = packed;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        const Result<IdxArray> array =
            readIdx(write(QStringLiteral("damaged.gz"), damaged), IdxRole::Images, "");
        refused += array ? 0 : 1;
        // A few bits of a stream are padding; with any other the content would be another.
        if (array)
            for (std::size_t i = 0; i < 1200; ++i)
                QCOMPARE(array->bytes()[i], patternAt(i));
    }
    QVERIFY2(refused >= packed.size() - 12, qPrintable(QString::number(refused)));
}

void TestIdxFile::lyingHeaderTakesNoMemory_data() {
    QTest::addColumn<bool>("packed");
    QTest::addColumn<QList<quint32>>("extents");
    for (const bool packed : {false, true}) {
        const char* kind = packed ? "gzip" : "plain";
        QTest::addRow("%s, 2^61 bytes", kind)
            << packed << QList<quint32>{0x7FFFFFFF, 0x7FFF, 0x7FFF};
        QTest::addRow("%s, product overflows", kind)
            << packed << QList<quint32>{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF};
        QTest::addRow("%s, product wraps to 0", kind)
            << packed << QList<quint32>{0x80000000, 0x80000000, 4};
        QTest::addRow("%s, 3 GB", kind) << packed << QList<quint32>{3000, 1000, 1000};
    }
}

void TestIdxFile::lyingHeaderTakesNoMemory() {
    QFETCH(bool, packed);
    QFETCH(QList<quint32>, extents);
    const QByteArray content =
        idxHeader(8, {extents[0], extents[1], extents[2]}) + QByteArray(64, '\0');
    const std::string file = write(QStringLiteral("huge"), packed ? gzip(content) : content);
    const qint64 residentBefore = memoryFigure("VmHWM");
    const qint64 addressesBefore = memoryFigure("VmPeak");
    const QString sentence = refusal(file, IdxRole::Images);
    QVERIFY2(sentence.contains(QLatin1StringView("header")), qPrintable(sentence));
    QVERIFY(memoryFigure("VmHWM") - residentBefore < 4096);
    QVERIFY(memoryFigure("VmPeak") - addressesBefore < 4096);
}

void TestIdxFile::missingFile() {
    const QString sentence =
        refusal(path(QStringLiteral("nowhere/train")).toStdString(), IdxRole::Images);
    QVERIFY2(sentence.contains(QLatin1StringView("There is no file")), qPrintable(sentence));
    QVERIFY(!sentence.contains(QLatin1StringView("apt")));
}

void TestIdxFile::missingPackagedFile() {
    const QString sentence =
        refusal("/usr/share/datasets/fashion-mnist/no-such-file.gz", IdxRole::Images);
    QVERIFY2(sentence.contains(QLatin1StringView("sudo apt install dataset-fashion-mnist")),
             qPrintable(sentence));
}

void TestIdxFile::folderInsteadOfFile() {
    const QString sentence = refusal(m_folder.path().toStdString(), IdxRole::Images);
    QVERIFY2(sentence.contains(QLatin1StringView("is a folder")), qPrintable(sentence));
}

void TestIdxFile::pipeInsteadOfFile() {
    const QString pipe = path(QStringLiteral("pipe"));
    QCOMPARE(::mkfifo(QFile::encodeName(pipe).constData(), 0600), 0);
    const QString sentence = refusal(pipe.toStdString(), IdxRole::Images);
    QVERIFY2(sentence.contains(QLatin1StringView("not an ordinary file")), qPrintable(sentence));
}

void TestIdxFile::noPermission() {
    const std::string file = write(QStringLiteral("secret"), idxHeader(8, {1}) + "a");
    QCOMPARE(::chmod(file.c_str(), 0), 0);
    QCOMPARE(::chmod(m_folder.path().toLocal8Bit().constData(), 0755), 0);
    const uid_t user = ::geteuid();
    // The superuser may read everything: be nobody for this one call.
    if (user == 0 && ::seteuid(65534) != 0)
        QSKIP("cannot give up the superuser's rights");
    const QString sentence = refusal(file, IdxRole::Labels);
    if (user == 0)
        QCOMPARE(::seteuid(user), 0);
    QVERIFY2(sentence.contains(QLatin1StringView("No permission to read")), qPrintable(sentence));
}

void TestIdxFile::pathsInOtherScripts() {
    const QString folder = path(QStringLiteral("数据集 №1/обучение ünï"));
    QVERIFY(QDir().mkpath(folder));
    const QString file = folder + QStringLiteral("/метки \"a\" 'b' %1");
    QVERIFY(writeFile(file, idxHeader(8, {3}) + QByteArray("\0\1\2", 3)));
    QVERIFY(readIdx(file.toStdString(), IdxRole::Labels, "").ok());
    const QString sentence = refusal(file.toStdString(), IdxRole::Images);
    QVERIFY2(sentence.contains(QLatin1StringView("means 1-D data")), qPrintable(sentence));
}

QTEST_APPLESS_MAIN(TestIdxFile)
#include "tst_idx_file.moc"
