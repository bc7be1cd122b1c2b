// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Safetensors: what is written is what other tools read, files of other tools are read, wrong ones
// are refused with a sentence before memory is taken, and a write that fails harms nothing.
#include "engine/checkpoint/safetensors.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("(no such file)");
}

/// A file: length of the header, header, data.
QByteArray fileOf(const QByteArray& header, const QByteArray& data) {
    QByteArray file;
    for (int i = 0; i < 8; ++i)
        file += static_cast<char>(static_cast<quint64>(header.size()) >> (8 * i) & 0xff);
    return file + header + data;
}

template <class T>
TensorToSave tensor(const std::string& name, DType type, const Shape& shape, const T& values) {
    return {name, type, shape, reinterpret_cast<const std::byte*>(values.data())};
}

template <class T>
std::vector<T> valuesOf(const SafetensorsFile& file, const SavedTensor& tensor) {
    std::vector<T> values(tensor.bytes / sizeof(T));
    const Result<void> read = file.read(tensor, std::as_writable_bytes(std::span(values)));
    return read ? values : std::vector<T>();
}

/// Files may not grow beyond this while it lives, as on a full disk.
class SmallFiles {
public:
    explicit SmallFiles(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        rlimit limit = m_before;
        limit.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        std::signal(SIGXFSZ, SIG_IGN);
    }
    ~SmallFiles() {
        ::setrlimit(RLIMIT_FSIZE, &m_before);
        std::signal(SIGXFSZ, SIG_DFL);
    }
    SmallFiles(const SmallFiles&) = delete;
    SmallFiles& operator=(const SmallFiles&) = delete;

private:
    rlimit m_before{};
};

} // namespace

class TestSafetensors : public QObject {
    Q_OBJECT

private slots:
    void goldenBytes() {
        const std::array<float, 2> weight = {1.0f, -2.5f};
        const std::array<double, 1> scale = {0.1};
        const std::string file = path("golden");
        const Result<void> written =
            writeSafetensors(file,
                             {tensor("conv1.weight", DType::Fp32, {2, 1}, weight),
                              tensor("s", DType::Fp64, {}, scale)},
                             {{"format", "x"}});
        QVERIFY2(written.ok(), written ? "" : written.error().sentence().c_str());
        QByteArray header = R"({"__metadata__":{"format":"x"},)"
                            R"("conv1.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                            R"("s":{"dtype":"F64","shape":[],"data_offsets":[8,16]}})";
        QCOMPARE(header.size() % 8, 6);
        header += "  ";
        const QByteArray data = QByteArray::fromHex("0000803f000020c0" // 1, -2.5 as IEEE 754
                                                    "9a9999999999b93f");
        QCOMPARE(contentOf(QString::fromStdString(file)), fileOf(header, data));
    }

    void roundTrip() {
        std::vector<float> large(100'003);
        for (std::size_t i = 0; i < large.size(); ++i)
            large[i] = static_cast<float>(i) * 0.37f - 7;
        const std::array<std::int32_t, 3> whole = {-1, 0, 2147483647};
        const std::string file = path("round");
        const std::string text = "{\"a\": \"ü 数 \\\" \n\"}";
        QVERIFY(writeSafetensors(file,
                                 {tensor("z", DType::Fp32, {100'003}, large),
                                  tensor("empty", DType::Fp32, {0, 5}, large),
                                  tensor("层.\"1\"", DType::Int32, {3}, whole)},
                                 {{"experiment", text}, {"step", "12"}})
                    .ok());
        const Result<SafetensorsFile> read = SafetensorsFile::open(file);
        QVERIFY2(read.ok(), read ? "" : read.error().sentence().c_str());
        QCOMPARE(read->tensors().size(), 3U);
        QCOMPARE(read->metadata().size(), 2U);
        QCOMPARE(read->metadata().at("experiment"), text);
        QVERIFY(valuesOf<float>(*read, *read->find("z")) == large);
        QVERIFY(read->find("empty")->shape == (Shape{0, 5}));
        QCOMPARE(read->find("empty")->bytes, 0U);
        QVERIFY(std::ranges::equal(valuesOf<std::int32_t>(*read, *read->find("层.\"1\"")), whole));
        QVERIFY(read->find("y") == nullptr);
    }

    void noTensors() {
        const std::string file = path("none");
        QVERIFY(writeSafetensors(file, {}, {}).ok());
        QCOMPARE(contentOf(QString::fromStdString(file)), fileOf("{}      ", {}));
        QVERIFY(SafetensorsFile::open(file)->tensors().empty());
    }

    void everyFileOfTheManifest_data() {
        QTest::addColumn<QString>("saying"); // empty: it loads
        if (shared().empty())
            QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
        const auto row = [](const char* name, const char* saying) {
            QTest::newRow(name) << QString::fromUtf8(saying);
        };
        row("ok", "");
        row("header-too-long", "its header has 1099511627776 bytes, but 2 bytes follow");
        row("shape-mismatch", "needs 120 bytes for 5 × 6 of F32, but has 96");
        row("truncated", "of the data, but the file has 86 bytes of data");
    }

    void everyFileOfTheManifest() {
        QFETCH(QString, saying);
        const std::string file =
            shared() + "/quirks-A/safetensors/" + QTest::currentDataTag() + ".safetensors";
        const Result<SafetensorsFile> read = SafetensorsFile::open(file);
        QCOMPARE(read.ok(), saying.isEmpty());
        if (!read.ok()) {
            const QString sentence = QString::fromStdString(read.error().sentence());
            QVERIFY2(sentence.contains(saying) && sentence.contains(QString::fromStdString(file)),
                     qPrintable(sentence));
            return;
        }
        QCOMPARE(read->metadata().at("format"), std::string("pt"));
        QVERIFY(read->find("w")->shape == (Shape{4, 6}));
        const std::vector<float> values = valuesOf<float>(*read, *read->find("w"));
        QCOMPARE(values.size(), 24U);
        for (std::size_t i = 0; i < values.size(); ++i)
            QCOMPARE(values[i], static_cast<float>(i));
    }

    void filesOfOtherTools() {
        if (shared().empty())
            QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
        const auto open = [&](const char* name) {
            return SafetensorsFile::open(shared() + "/models/" + name);
        };
        const Result<SafetensorsFile> speech = open("silero_vad_16k.safetensors");
        QVERIFY2(speech.ok(), speech ? "" : speech.error().sentence().c_str());
        QCOMPARE(speech->tensors().size(), 15U);
        std::int64_t values = 0;
        for (const SavedTensor& tensor : speech->tensors()) {
            QCOMPARE(tensor.type, std::string("F32"));
            values += tensor.elements();
            for (const float value : valuesOf<float>(*speech, tensor))
                QVERIFY(std::isfinite(value) && std::abs(value) < 1000);
        }
        QCOMPARE(values, 309'633);
        QVERIFY(speech->find("stft_conv.weight")->shape == (Shape{258, 1, 256}));
        const Result<SafetensorsFile> codes = open("candle-jfk-codes.safetensors");
        QVERIFY(codes.ok());
        QCOMPARE(codes->find("codes")->type, std::string("I64"));
        const auto numbers = valuesOf<std::int64_t>(*codes, *codes->find("codes"));
        QCOMPARE(numbers.size(), 1656U);
        QVERIFY(std::ranges::all_of(numbers, [](std::int64_t n) { return n >= 0 && n < 2048; }));
    }

    void wrongFiles_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("saying");
        const auto row = [](const char* name, const QByteArray& content, const char* saying) {
            QTest::newRow(name) << content << QString::fromUtf8(saying);
        };
        const auto one = [](const QByteArray& entry, int bytes) {
            return fileOf("{\"a\":" + entry + "}", QByteArray(bytes, 'x'));
        };
        row("empty file", {}, "it has 0 bytes, fewer than the 8");
        row("seven bytes", "abcdefg", "it has 7 bytes, fewer than the 8");
        row("a web page", "<!DOCTYPE html><html>", "it says that its header has ");
        row("length beyond the file", fileOf("{}", {}).replace(0, 1, "\3"),
            "it says that its header has 3 bytes, but 2 bytes follow");
        row("largest length", QByteArray(8, '\xff') + "{}",
            "its header has 18446744073709551615 bytes, but 2 bytes follow");
        row("no JSON", fileOf("{\"a\":", {}), "cannot be read: it is not JSON.");
        row("not UTF-8", fileOf("{\"\xff\":1}", {}), "it is not JSON.");
        row("a list", fileOf("[]", {}), "is no JSON object.");
        row("key twice",
            fileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                   R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                   "xy"),
            "the key \"a\" is there twice.");
        row("field twice",
            one(R"({"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]})", 1),
            "the key \"dtype\" is there twice.");
        row("deep", fileOf("{\"a\":" + QByteArray(100'000, '[') + "}", {}),
            "nested deeper than the format allows");
        row("metadata that is no text", fileOf(R"({"__metadata__":{"a":1}})", {}),
            "is no object of texts.");
        row("no offsets", one(R"({"dtype":"U8","shape":[1]})", 1),
            "must have dtype, shape and data_offsets, and nothing else");
        row("one field more", one(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1})", 1),
            "and nothing else");
        row("unknown type", one(R"({"dtype":"F31","shape":[1],"data_offsets":[0,1]})", 1),
            "has the element type \"F31\", which is not known.");
        row("type is a number", one(R"({"dtype":1,"shape":[1],"data_offsets":[0,1]})", 1),
            "has the element type 1, which is not known.");
        row("negative extent", one(R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", 1),
            "has the shape [-1]; a shape is a list of whole numbers");
        row("fraction", one(R"({"dtype":"U8","shape":[1.0],"data_offsets":[0,1]})", 1),
            "has the shape [1.0]");
        row("overflow",
            one(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0),
            "has the shape [4294967296,4294967296]");
        row("overflow by the element's bytes",
            one(R"({"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]})", 0),
            "has the shape [2305843009213693952]");
        row("extent above 64 bits",
            one(R"({"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,0]})", 0),
            "has the shape [");
        row("one offset", one(R"({"dtype":"U8","shape":[1],"data_offsets":[0]})", 1),
            "has the offsets [0]; they must be two whole numbers");
        row("backwards", one(R"({"dtype":"U8","shape":[1],"data_offsets":[1,0]})", 1),
            "lies at the bytes 1 to 0");
        row("beyond the end", one(R"({"dtype":"U8","shape":[9],"data_offsets":[0,9]})", 8),
            "lies at the bytes 0 to 9 of the data, but the file has 8 bytes of data");
        row("too few", one(R"({"dtype":"U8","shape":[3],"data_offsets":[0,2]})", 2),
            "needs 3 bytes for 3 of U8, but has 2");
        row("overlap",
            fileOf(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                   R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                   "xyz"),
            "\"b\" in ");
        row("gap",
            fileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                   R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                   "xyz"),
            "has a gap of 1 bytes before it");
        row("bytes at the end", one(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})", 3),
            "has 3 bytes of data, but its tensors take 1.");
    }

    void wrongFiles() {
        QFETCH(QByteArray, content);
        QFETCH(QString, saying);
        const std::string name = path("wrong");
        QFile file(QString::fromStdString(name));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(content) == content.size());
        file.close();
        const Result<SafetensorsFile> read = SafetensorsFile::open(name);
        QVERIFY(!read.ok());
        const QString sentence = QString::fromStdString(read.error().sentence());
        QVERIFY2(sentence.contains(saying) && sentence.contains(QString::fromStdString(name)),
                 qPrintable(sentence));
        QVERIFY2(!read.error().cure.empty(), qPrintable(sentence));
    }

    void hugeHeaderTakesNoMemory() {
        // A file with holes: it is long enough for what its header claims, and takes no room.
        const std::string name = path("huge");
        QFile file(QString::fromStdString(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        QVERIFY(file.write(QByteArray::fromHex("0000001000000000")) == 8); // 256 MiB
        QVERIFY(file.resize(qint64{1} << 29));
        file.close();
        const Result<SafetensorsFile> read = SafetensorsFile::open(name);
        QVERIFY(!read.ok());
        QVERIFY2(read.error().sentence().find("more than 100,000,000 are not allowed") !=
                     std::string::npos,
                 read.error().sentence().c_str());
    }

    void noFile() {
        for (const auto& [name, why] :
             {std::pair("missing", "No such file or directory"),
              std::pair("folder", "it is a folder"), std::pair("pipe", "it is no file")}) {
            if (name == std::string("folder"))
                QVERIFY(QDir().mkpath(QString::fromStdString(path(name))));
            if (name == std::string("pipe"))
                QCOMPARE(::mkfifo(path(name).c_str(), 0600), 0);
            const Result<SafetensorsFile> read = SafetensorsFile::open(path(name));
            QVERIFY(!read.ok());
            QCOMPARE(read.error().sentence(), path(name) + " cannot be read: " + why +
                                                  ". Check the path and the permissions.");
        }
    }

    void failedWriteHarmsNothing() {
        std::vector<float> values(50'000, 3.0f);
        const std::string file = path("kept");
        QVERIFY(writeSafetensors(file, {tensor("a", DType::Fp32, {3}, values)}, {}).ok());
        const QByteArray before = contentOf(QString::fromStdString(file));
        {
            const SmallFiles small(100'000);
            const Result<void> failed =
                writeSafetensors(file, {tensor("a", DType::Fp32, {50'000}, values)}, {});
            QVERIFY(!failed.ok());
            QCOMPARE(failed.error().sentence(), file + " cannot be written: File too large. "
                                                       "Check the folder and its permissions.");
        }
        QCOMPARE(contentOf(QString::fromStdString(file)), before);
        QCOMPARE(QDir(m_folder.path()).entryList({QStringLiteral("kept*")}).size(), 1);
        // And where there was nothing, nothing is.
        const std::string nowhere = path("no/such/folder");
        QVERIFY(!writeSafetensors(nowhere, {}, {}).ok());
    }

    void replacedWhileItIsRead() {
        const std::array<float, 1> old = {1.0f};
        const std::array<float, 1> next = {2.0f};
        const std::string file = path("replaced");
        QVERIFY(writeSafetensors(file, {tensor("a", DType::Fp32, {1}, old)}, {}).ok());
        const Result<SafetensorsFile> reader = SafetensorsFile::open(file);
        QVERIFY(writeSafetensors(file, {tensor("a", DType::Fp32, {1}, next)}, {}).ok());
        QCOMPARE(valuesOf<float>(*reader, *reader->find("a")), std::vector<float>{1.0f});
        const Result<SafetensorsFile> later = SafetensorsFile::open(file);
        QCOMPARE(valuesOf<float>(*later, *later->find("a")), std::vector<float>{2.0f});
    }

private:
    std::string path(const char* name) const {
        return m_folder.filePath(QString::fromUtf8(name)).toStdString();
    }
    static std::string shared() {
        return qEnvironmentVariable("TRAINYARD_SHARED_DATA").toStdString();
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestSafetensors)
#include "tst_safetensors.moc"
