// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Arrays of NumPy: every number type, order and header, archives of both kinds, files others wrote,
// what is refused before memory is taken.
#include "engine/data/npy_file.h"
#include "tests/data/data_helpers.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;

namespace {

QByteArray littleEndian(quint64 value, int bytes) {
    QByteArray text;
    for (int i = 0; i < bytes; ++i)
        text += static_cast<char>(i < 8 ? value >> 8 * i & 0xFF : 0);
    return text;
}

QByteArray npyOf(const QByteArray& descr, const QByteArray& shape, const QByteArray& elements,
                 bool columnMajor = false, int version = 1) {
    QByteArray header = "{'descr': " + descr +
                        ", 'fortran_order': " + (columnMajor ? "True" : "False") +
                        ", 'shape': " + shape + ", }";
    const int lengthBytes = version == 1 ? 2 : 4;
    while ((8 + lengthBytes + header.size() + 1) % 64 != 0)
        header += ' ';
    header += '\n';
    return "\x93NUMPY" + littleEndian(static_cast<quint64>(version), 2) +
           littleEndian(static_cast<quint64>(header.size()), lengthBytes) + header + elements;
}

template <class Number>
QByteArray elementsOf(std::initializer_list<Number> numbers, bool bigEndian = false) {
    QByteArray bytes;
    for (const Number number : numbers) {
        QByteArray one(sizeof number, '\0');
        std::memcpy(one.data(), &number, sizeof number);
        if (bigEndian)
            std::reverse(one.begin(), one.end());
        bytes += one;
    }
    return bytes;
}

QByteArray floats(int count) {
    QByteArray bytes;
    for (int i = 0; i < count; ++i)
        bytes += elementsOf<float>({static_cast<float>(i)});
    return bytes;
}

/// Raw deflate.
QByteArray deflated(const QByteArray& content) {
    z_stream stream = {};
    deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    QByteArray packed(content.size() + 1000, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.constData()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.truncate(static_cast<qsizetype>(stream.total_out));
    deflateEnd(&stream);
    return packed;
}

/// `large`: sizes and places in the extra fields for files beyond 4 GiB.
QByteArray zipOf(const QList<std::pair<QByteArray, QByteArray>>& files, bool pack,
                 bool large = false) {
    QByteArray zip;
    QByteArray directory;
    for (const auto& [name, content] : files) {
        const QByteArray data = pack ? deflated(content) : content;
        const auto checksum = crc32(0, reinterpret_cast<const Bytef*>(content.constData()),
                                    static_cast<uInt>(content.size()));
        const auto offset = static_cast<quint64>(zip.size());
        const quint64 packed = static_cast<quint64>(data.size());
        const quint64 whole = static_cast<quint64>(content.size());
        const QByteArray extra = large ? QByteArray("\1\0\x18\0", 4) + littleEndian(whole, 8) +
                                             littleEndian(packed, 8) + littleEndian(offset, 8)
                                       : QByteArray();
        const auto short4 = [large](quint64 value) {
            return littleEndian(large ? 0xFFFFFFFF : value, 4);
        };
        const QByteArray common = littleEndian(20, 2) + littleEndian(0, 2) +
                                  littleEndian(pack ? 8 : 0, 2) + littleEndian(0, 4) +
                                  littleEndian(checksum, 4) + short4(packed) + short4(whole) +
                                  littleEndian(static_cast<quint64>(name.size()), 2) +
                                  littleEndian(static_cast<quint64>(extra.size()), 2);
        zip += "PK\3\4" + common + name + extra + data;
        directory += "PK\1\2" + littleEndian(20, 2) + common + littleEndian(0, 10) +
                     short4(offset) + name + extra;
    }
    const auto begin = static_cast<quint64>(zip.size());
    zip += directory;
    if (large) {
        const auto end = static_cast<quint64>(zip.size());
        zip += "PK\6\6" + littleEndian(44, 8) + littleEndian(0, 28) +
               littleEndian(static_cast<quint64>(directory.size()), 8) + littleEndian(begin, 8);
        zip += "PK\6\7" + littleEndian(0, 4) + littleEndian(end, 8) + littleEndian(1, 4);
    }
    return zip + "PK\5\6" + littleEndian(0, 8) +
           littleEndian(large ? 0xFFFFFFFF : static_cast<quint64>(directory.size()), 4) +
           littleEndian(large ? 0xFFFFFFFF : begin, 4) + littleEndian(0, 2);
}

} // namespace

class TestNpy : public QObject {
    Q_OBJECT

private slots:
    void numberTypes_data();
    void numberTypes();
    void orders();
    void archives_data();
    void archives();
    void labelsAndNumbers();
    void pictures();
    void statistics();
    void splitAndValidation();
    void refused_data();
    void refused();
    void wrongTargets();
    void damagedArchives();
    void overlappingArchive();
    void hugeHeader();
    void quirks();
    void otherTools();
    void largeFileStaysOnDisk();

private:
    std::string write(const char* name, const QByteArray& content) {
        const QString path = m_folder.filePath(QString::fromUtf8(name));
        if (!writeFile(path, content))
            qFatal("cannot write a test file");
        return path.toStdString();
    }
    static std::vector<double> valuesOf(const std::string& path) {
        const auto arrays = openArrays(path, "where");
        if (!arrays)
            qFatal("%s", arrays.error().sentence().c_str());
        std::vector<double> values(static_cast<std::size_t>(arrays->front().count()));
        arrays->front().read(0, values);
        return values;
    }
    spec::DataSpec npy(const QByteArray& inputs, const QByteArray& labels) {
        spec::DataSpec data;
        data.format = "npy";
        data.train = {{"inputs", write("inputs.npy", inputs)},
                      {"labels", write("labels.npy", labels)}};
        data.normalize = "none";
        return data;
    }
    static QString quirk(const char* name) {
        return sharedData() + QStringLiteral("/quirks-A/npy/") + QString::fromUtf8(name);
    }

    QTemporaryDir m_folder;
};

void TestNpy::numberTypes_data() {
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<QList<double>>("values");
    QTest::addColumn<QString>("type");
    const auto row = [](const char* descr, const QByteArray& elements, const char* type,
                        const QList<double>& values) {
        QTest::newRow(descr) << npyOf(descr, '(' + QByteArray::number(values.size()) + ",)",
                                      elements)
                             << values << QString::fromUtf8(type);
    };
    row("'<f4'", elementsOf<float>({1.5f, -2.25f, 3e30f}), "float32", {1.5, -2.25, double{3e30f}});
    row("'>f4'", elementsOf<float>({1.5f, -2.25f}, true), "float32", {1.5, -2.25});
    row("'<f8'", elementsOf<double>({0.1, -1e300}), "float64", {0.1, -1e300});
    row("'>f8'", elementsOf<double>({0.1, -1e300}, true), "float64", {0.1, -1e300});
    row("'<f2'", elementsOf<quint16>({0x3C00, 0xC500, 0x0001, 0x7BFF, 0x8000}), "float16",
        {1, -5, std::ldexp(1.0, -24), 65504, -0.0});
    row("'|u1'", elementsOf<quint8>({0, 255}), "uint8", {0, 255});
    row("'|i1'", elementsOf<qint8>({-128, 127}), "int8", {-128, 127});
    row("'|b1'", elementsOf<quint8>({1, 0}), "uint8", {1, 0});
    row("'<u2'", elementsOf<quint16>({65535, 256}), "uint16", {65535, 256});
    row("'>i2'", elementsOf<qint16>({-2, 300}, true), "int16", {-2, 300});
    row("'<i4'", elementsOf<qint32>({-70000, 7}), "int32", {-70000, 7});
    row("\"<u4\"", elementsOf<quint32>({4000000000u}), "uint32", {4e9});
    row("'<i8'", elementsOf<qint64>({-5000000000, 9}), "int64", {-5e9, 9});
    row("'>u8'", elementsOf<quint64>({1ull << 40}, true), "uint64", {1099511627776.0});
}

void TestNpy::numberTypes() {
    QFETCH(QByteArray, file);
    QFETCH(QList<double>, values);
    QFETCH(QString, type);
    const std::string path = write("types.npy", file);
    const auto arrays = openArrays(path, "where");
    QVERIFY2(arrays.ok(), arrays.ok() ? "" : arrays.error().sentence().c_str());
    QCOMPARE(QString::fromStdString(arrays->front().type()), type);
    const std::vector<double> found = valuesOf(path);
    QVERIFY(std::equal(found.begin(), found.end(), values.begin(), values.end()));
    // One element out of the middle.
    std::vector<double> last(1);
    arrays->front().read(values.size() - 1, last);
    QCOMPARE(last[0], values.last());
}

void TestNpy::orders() {
    // {2, 3, 2} column by column: element (i, j, k) has the value 100 i + 10 j + k.
    QByteArray columns;
    for (int k = 0; k < 2; ++k)
        for (int j = 0; j < 3; ++j)
            for (int i = 0; i < 2; ++i)
                columns += elementsOf<float>({static_cast<float>(100 * i + 10 * j + k)});
    const auto values = valuesOf(write("columns.npy", npyOf("'<f4'", "(2, 3, 2)", columns, true)));
    QVERIFY(values == (std::vector<double>{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}));
    // Headers of the later versions have a longer length.
    for (int version : {2, 3})
        QVERIFY(valuesOf(write("later.npy", npyOf("'<f4'", "(3,)", floats(3), false, version))) ==
                (std::vector<double>{0, 1, 2}));
}

void TestNpy::archives_data() {
    QTest::addColumn<bool>("pack");
    QTest::addColumn<bool>("large");
    QTest::newRow("stored") << false << false;
    QTest::newRow("deflated") << true << false;
    QTest::newRow("stored, large fields") << false << true;
    QTest::newRow("deflated, large fields") << true << true;
}

void TestNpy::archives() {
    QFETCH(bool, pack);
    QFETCH(bool, large);
    const QByteArray inputs = npyOf("'<f4'", "(4, 3)", floats(12));
    const QByteArray labels = npyOf("'<i8'", "(4,)", elementsOf<qint64>({2, 0, 1, 2}));
    spec::DataSpec data;
    data.format = "npy";
    data.normalize = "none";
    data.train = {{"inputs", write("both.npz", zipOf({{"other.npy", labels},
                                                      {"y.npy", labels},
                                                      {"x.npy", inputs},
                                                      {"readme.txt", "hello"}},
                                                     pack, large))}};
    const DataOutcome outcome = openData(data, 1, 3);
    VERIFY_OPENED(outcome);
    const auto rows = gatherRows<float>(*outcome.data.training, {3, 0});
    QVERIFY(rows.inputs == (std::vector<float>{9, 10, 11, 0, 1, 2}));
    QVERIFY(rows.labels == (std::vector<std::int32_t>{2, 2}));
    data.values["labels_key"] = std::string("other");
    VERIFY_OPENED(openData(data, 1, 3));
    data.values["labels_key"] = std::string("z");
    VERIFY_REFUSED(openData(data, 1, 3), "has no array \"z\", but other, y, x.");
    data.train = {
        {"inputs", write("both.npz", zipOf({{"p.npy", inputs}, {"q.npy", labels}}, pack, large))}};
    data.values.clear();
    VERIFY_REFUSED(openData(data, 1, 3), "It is not clear which array of ");
    data.values = {{"inputs_key", std::string("p")}, {"labels_key", std::string("q")}};
    VERIFY_OPENED(openData(data, 1, 3));
}

void TestNpy::labelsAndNumbers() {
    const QByteArray inputs = npyOf("'<f8'", "(3,)", elementsOf<double>({0.5, 1.5, 2.5}));
    // One column is as good as none.
    DataOutcome outcome =
        openData(npy(inputs, npyOf("'|u1'", "(3, 1)", elementsOf<quint8>({1, 0, 1}))), 1, 2);
    VERIFY_OPENED(outcome);
    QVERIFY(outcome.data.training->info().sampleShape == Shape{1});
    QVERIFY(outcome.data.training->info().targetShape.empty());
    QVERIFY(outcome.data.training->info().classCounts == (std::vector<std::int64_t>{1, 2}));
    // A label for each position.
    outcome = openData(
        npy(inputs, npyOf("'<i4'", "(3, 2)", elementsOf<qint32>({0, 1, 2, 3, 4, 5}))), 1, 0);
    QVERIFY(outcome.data.training->info().targetShape == Shape{2});
    QVERIFY(gatherRows<double>(*outcome.data.training, {2, 0}).labels ==
            (std::vector<std::int32_t>{4, 5, 0, 1}));
    // Numbers.
    spec::DataSpec data = npy(inputs, npyOf("'<f4'", "(3,)", floats(3)));
    outcome = openData(data, 1, 0);
    VERIFY_OPENED(outcome);
    QVERIFY(outcome.data.training->info().target == TargetKind::Numbers);
    QVERIFY(outcome.data.training->info().targetShape == Shape{1});
    QVERIFY(gatherRows<float>(*outcome.data.training, {2, 1}).numbers ==
            (std::vector<double>{2, 1}));
    data.values["task"] = std::string("classification");
    outcome = openData(data, 1, 3);
    VERIFY_OPENED(outcome);
    QCOMPARE(outcome.data.training->info().classes, 3);
}

void TestNpy::pictures() {
    const QByteArray labels = npyOf("'|u1'", "(2,)", elementsOf<quint8>({0, 1}));
    DataOutcome outcome =
        openData(npy(npyOf("'|u1'", "(2, 5, 7)", patternBytes(70)), labels), 1, 2);
    VERIFY_OPENED(outcome);
    QVERIFY(outcome.data.training->info().sampleShape == (Shape{1, 5, 7}));
    const spec::DataSpec last = npy(npyOf("'|u1'", "(2, 5, 7, 3)", patternBytes(210)), labels);
    outcome = openData(last, 1, 2);
    VERIFY_OPENED(outcome);
    QVERIFY(outcome.data.training->info().sampleShape == (Shape{3, 5, 7}));
    QVERIFY(allNotes(outcome.data.training->info())
                .contains(QLatin1StringView("stand last and are moved to the front")));
    const auto rows = gatherRows<float>(*outcome.data.training, {1});
    for (std::size_t channel = 0; channel < 3; ++channel)
        for (std::size_t pixel = 0; pixel < 35; ++pixel)
            QCOMPARE(rows.inputs[channel * 35 + pixel],
                     static_cast<float>(patternAt(105 + pixel * 3 + channel)));
    spec::DataSpec arrays = last;
    arrays.values["samples"] = std::string("arrays");
    QVERIFY(openData(arrays, 1, 2).data.training->info().sampleShape == (Shape{5, 7, 3}));
}

void TestNpy::statistics() {
    const QByteArray labels = npyOf("'|u1'", "(4,)", elementsOf<quint8>({0, 1, 0, 1}));
    spec::DataSpec data = npy(
        npyOf("'<f8'", "(4, 2)", elementsOf<double>({1, 1e9, 2, 1e9 + 1, 3, 1e9 + 2, 6, 1e9 + 5})),
        labels);
    data.normalize = "standard";
    const auto inputs = [&] {
        return gatherRows<double>(*openData(data, 1, 2).data.training, firstRows(4)).inputs;
    };
    // Mean 3, variance (4 + 1 + 0 + 9) / 4; the second column is the first and a billion.
    std::vector<double> found = inputs();
    for (std::size_t i = 0; i < 4; ++i) {
        const double expected = (std::vector<double>{-2, -1, 0, 3})[i] / std::sqrt(3.5);
        QVERIFY(std::abs(found[2 * i] - expected) < 1e-12);
        QVERIFY(std::abs(found[2 * i + 1] - expected) < 1e-6);
    }
    data.normalize = "unit";
    found = inputs();
    QVERIFY(found[0] == 0 && std::abs(found[2] - 0.2) < 1e-12 && found[6] == 1);
    // Bytes of pictures go by 255 whatever occurs.
    data = npy(npyOf("'|u1'", "(4, 1, 1)", elementsOf<quint8>({51, 102, 51, 102})), labels);
    data.normalize = "unit";
    found = inputs();
    QVERIFY(std::abs(found[0] - 0.2) < 1e-12);
    const DatasetInfo info = openData(data, 1, 2).data.training->info();
    QVERIFY(std::abs(info.mean[0] - 0.3) < 1e-12 && std::abs(info.deviation[0] - 0.1) < 1e-12);
}

void TestNpy::splitAndValidation() {
    spec::DataSpec data = npy(npyOf("'<f4'", "(10,)", floats(10)),
                              npyOf("'|u1'", "(10,)", QByteArray("\0\1\2\3\4\5\6\7\x8\x9", 10)));
    data.validationFraction = 0.3;
    DataOutcome outcome = openData(data, 1, 10);
    VERIFY_OPENED(outcome);
    double sum = 0;
    for (const Dataset* part : {outcome.data.training.get(), outcome.data.validation.get()}) {
        const auto rows = gatherRows<float>(*part, firstRows(part->info().samples));
        double partSum = 0;
        for (std::size_t i = 0; i < rows.labels.size(); ++i) {
            QCOMPARE(static_cast<int>(rows.inputs[i]), rows.labels[i]);
            partSum += rows.inputs[i];
        }
        QVERIFY(std::abs(part->info().mean[0] - partSum / static_cast<double>(rows.labels.size())) <
                1e-9);
        sum += partSum;
    }
    QCOMPARE(sum, 45.0);
    QCOMPARE(outcome.data.validation->info().samples, 3);
    data.validation = {{"inputs", write("v.npy", npyOf("'<f4'", "(2, 2)", floats(4)))},
                       {"labels", write("vl.npy", npyOf("'|u1'", "(2,)", QByteArray(2, '\1')))}};
    VERIFY_REFUSED(openData(data, 1, 10), "Choose arrays of the same shapes.");
}

void TestNpy::refused_data() {
    QTest::addColumn<QByteArray>("inputs");
    QTest::addColumn<QByteArray>("saying");
    const auto row = [](const char* name, const QByteArray& inputs, const char* saying) {
        QTest::newRow(name) << inputs << QByteArray(saying);
    };
    row("objects", npyOf("'|O'", "(3,)", "x"), "holds Python objects (pickle), which are never");
    row("texts", npyOf("'<U5'", "(3,)", QByteArray(60, 'x')), "are of the type '<U5'");
    row("records", npyOf("[('a', '<f4')]", "(3,)", floats(3)), "are of the type");
    row("complex", npyOf("'<c8'", "(3,)", floats(6)), "are of the type '<c8'");
    row("long double", npyOf("'<f16'", "(3,)", QByteArray(48, '\0')), "are of the type '<f16'");
    row("cut", npyOf("'<f4'", "(3,)", floats(3).chopped(1)), "is cut short: its header asks for");
    row("too long", npyOf("'<f4'", "(3,)", floats(4)), "is longer than it should be");
    row("negative", npyOf("'<f4'", "(-3,)", floats(3)), "The header of ");
    row("no shape", npyOf("'<f4'", "None", floats(3)), "The header of ");
    row("scalar", npyOf("'<f4'", "()", floats(1)), "holds no samples");
    row("none", npyOf("'<f4'", "(0, 3)", ""), "holds no samples");
    row("too deep", npyOf("'<f4'", "(3, 1, 1, 1, 1)", floats(3)), "have 4 dimensions");
    row("not a number", npyOf("'<f4'", "(3,)", elementsOf<float>({1, NAN, 2})), "Sample 1 of ");
    row("other file", "<!DOCTYPE html><html>", "is no array of NumPy");
    row("cut header", npyOf("'<f4'", "(3,)", "").first(40), "The header of ");
    row("cut magic", "\x93NUM", "is no array of NumPy");
}

void TestNpy::refused() {
    QFETCH(QByteArray, inputs);
    QFETCH(QByteArray, saying);
    VERIFY_REFUSED(openData(npy(inputs, npyOf("'|u1'", "(3,)", QByteArray("\0\1\2", 3))), 1, 3),
                   saying.constData());
}

void TestNpy::wrongTargets() {
    const QByteArray inputs = npyOf("'<f4'", "(3,)", floats(3));
    VERIFY_REFUSED(openData(npy(inputs, npyOf("'|u1'", "(2,)", QByteArray(2, '\0'))), 1, 3),
                   "There are 2 labels in ");
    VERIFY_REFUSED(openData(npy(inputs, npyOf("'|u1'", "(3,)", QByteArray("\0\1\7", 3))), 1, 3),
                   "Label 7 at row 2 of ");
    VERIFY_REFUSED(
        openData(npy(inputs, npyOf("'<i8'", "(3,)", elementsOf<qint64>({0, -1, 2}))), 1, 3),
        "Label -1 at row 1 of ");
    VERIFY_REFUSED(
        openData(npy(inputs, npyOf("'<i8'", "(3,)", elementsOf<qint64>({0, 1ll << 40, 2}))), 1, 3),
        "which is no class");
    VERIFY_REFUSED(
        openData(npy(inputs, npyOf("'<f4'", "(3,)", elementsOf<float>({1, 2, INFINITY}))), 1, 0),
        "Number 2 of ");
    spec::DataSpec data = npy(inputs, "");
    data.train.erase("labels");
    VERIFY_REFUSED(openData(data, 1, 3), "what is to be predicted is missing");
}

void TestNpy::damagedArchives() {
    const QByteArray inputs = npyOf("'<f4'", "(400,)", floats(400));
    for (const bool pack : {false, true}) {
        const QByteArray whole = zipOf({{"x.npy", inputs}, {"y.npy", inputs}}, pack);
        QVERIFY(openArrays(write("whole.npz", whole), "where").ok());
        for (qsizetype size = 2; size < whole.size(); size += 29)
            QVERIFY2(!openArrays(write("cut.npz", whole.first(size)), "where"),
                     qPrintable(QString::number(size)));
        // Any flipped byte is either harmless or said, never a crash.
        for (qsizetype at = 0; at < whole.size(); at += at < 200 ? 1 : 17) {
            QByteArray flipped = whole;
            flipped[at] = static_cast<char>(flipped[at] ^ 0xFF);
            const auto arrays = openArrays(write("flipped.npz", flipped), "where");
            QVERIFY(arrays.ok() || !arrays.error().what.empty());
        }
    }
    QByteArray wrong = zipOf({{"x.npy", inputs}}, true);
    wrong[60] = static_cast<char>(wrong[60] ^ 0x10); // within the packed bytes
    const auto arrays = openArrays(write("wrong.npz", wrong), "where");
    QVERIFY(!arrays.ok());
}

/// A list of files that all are the same packed bytes would unpack to any size.
void TestNpy::overlappingArchive() {
    const QByteArray zip = zipOf({{"x.npy", npyOf("'<f4'", "(400,)", floats(400))}}, false);
    const qsizetype list = zip.lastIndexOf("PK\1\2");
    const qsizetype end = zip.lastIndexOf("PK\5\6");
    const QByteArray twice = zip.mid(list, end - list).repeated(2);
    const QByteArray wrong = zip.first(list) + twice + "PK\5\6" + littleEndian(0, 8) +
                             littleEndian(static_cast<quint64>(twice.size()), 4) +
                             littleEndian(static_cast<quint64>(list), 4) + littleEndian(0, 2);
    const auto arrays = openArrays(write("overlapping.npz", wrong), "where");
    QVERIFY(!arrays.ok());
    QVERIFY(QString::fromStdString(arrays.error().sentence())
                .contains(QStringLiteral("is damaged: files in it overlap.")));
}

void TestNpy::hugeHeader() {
    const qint64 before = memoryFigure("VmPeak");
    VERIFY_REFUSED(openData(npy(npyOf("'<f8'", "(4611686018427387904, 4)", floats(3)),
                                npyOf("'|u1'", "(3,)", QByteArray(3, '\0'))),
                            1, 3),
                   "is cut short");
    QVERIFY(memoryFigure("VmPeak") - before < 4 * 1024);
}

void TestNpy::quirks() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    std::vector<double> expected(24);
    std::iota(expected.begin(), expected.end(), 0);
    for (const char* name : {"ok-f4.npy", "fortran.npy", "big-endian.npy", "f8.npy"}) {
        const auto arrays = openArrays(quirk(name).toStdString(), "where");
        QVERIFY(arrays.ok() && arrays->front().shape() == (Shape{4, 6}));
        QVERIFY2(valuesOf(quirk(name).toStdString()) == expected, name);
    }
    const auto labels = valuesOf(quirk("i8-labels.npy").toStdString());
    QVERIFY(labels == std::vector<double>(expected.begin(), expected.begin() + 10));
    const auto refusal = [](const char* name) {
        return QString::fromStdString(
            openArrays(quirk(name).toStdString(), "where").error().sentence());
    };
    QVERIFY(refusal("object-pickle.npy").contains(QLatin1StringView("never loaded")));
    QVERIFY2(refusal("truncated.npy")
                 .contains(QString::fromUtf8("asks for 224 bytes (4 × 6 of float32), found 215")),
             qPrintable(refusal("truncated.npy")));
    spec::DataSpec data;
    data.format = "npy";
    data.train = {{"inputs", quirk("fashion200.npz").toStdString()}};
    const DataOutcome outcome = openData(data, 1, 10);
    VERIFY_OPENED(outcome);
    QCOMPARE(outcome.data.training->info().samples, 200);
    QVERIFY(outcome.data.training->info().sampleShape == (Shape{1, 28, 28}));
    QVERIFY(measureGather("npz with bytes", *outcome.data.training) > 0);
    // The same pictures as the first 200 of the IDX file.
    spec::DataSpec idx;
    const QString folder = sharedData() + QStringLiteral("/quirks-A/idx/");
    idx.train = {{"images", (folder + QStringLiteral("ok-images-idx3-ubyte.gz")).toStdString()},
                 {"labels", (folder + QStringLiteral("ok-labels-idx1-ubyte.gz")).toStdString()}};
    const DataOutcome same = openData(idx, 1, 10);
    const auto a = gatherRows<double>(*outcome.data.training, firstRows(200));
    const auto b = gatherRows<double>(*same.data.training, firstRows(200));
    QVERIFY(a.labels == b.labels);
    for (std::size_t i = 0; i < a.inputs.size(); ++i)
        QVERIFY(std::abs(a.inputs[i] - b.inputs[i]) < 1e-9);
}

void TestNpy::otherTools() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const std::string folder = (sharedData() + QStringLiteral("/models/")).toStdString();
    const auto one = openArrays(folder + "candle-test.npy", "where");
    QVERIFY(one.ok() && one->front().shape() == Shape{10} && one->front().type() == "int64");
    const auto two = openArrays(folder + "candle-test.npz", "where");
    QVERIFY(two.ok());
    QCOMPARE(two->size(), std::size_t{2});
}

void TestNpy::largeFileStaysOnDisk() {
    const QString path = m_folder.filePath(QStringLiteral("large.npy"));
    const QByteArray header = npyOf("'<f4'", "(65536, 256)", "");
    QVERIFY(writeFile(path, header));
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadWrite) && file.resize(header.size() + (64 << 20)));
    QVERIFY(file.seek(header.size() + 4 * (65535 * 256 + 255)) &&
            file.write(elementsOf<float>({7.0f})) == 4);
    file.close();
    spec::DataSpec data = npy("", npyOf("'|u1'", "(65536,)", QByteArray(65536, '\0')));
    data.train["inputs"] = path.toStdString();
    if (!resetMostMemoryHeld())
        QSKIP("the most memory held cannot be measured here");
    const qint64 before = memoryFigure("VmHWM");
    const DataOutcome outcome = openData(data, 1, 1);
    VERIFY_OPENED(outcome);
    QCOMPARE(gatherRows<float>(*outcome.data.training, {65535}).inputs[255], 7.0f);
    QVERIFY(measureGather("npy on the disk", *outcome.data.training) > 0);
    const qint64 taken = memoryFigure("VmHWM") - before;
    QVERIFY2(taken < 12 * 1024, qPrintable(QString::number(taken)));
}

QTEST_APPLESS_MAIN(TestNpy)
#include "tst_npy.moc"
