// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Tables: how they are cut (against files with known contents), what their columns become, that
// nothing leaks from validation into training, real tables, broken ones, large ones.
#include "engine/data/csv_reader.h"
#include "tests/data/data_helpers.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <cmath>
#include <set>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;

namespace {

using Cells = std::vector<std::vector<std::string>>;

/// All records, with the error's sentence as a record of its own.
Cells recordsOf(const std::string& content, char delimiter = ',') {
    const TextSource text{ByteSource::ofMemory(content, "memory"), 0, {}};
    CsvReader reader(text, "table", delimiter);
    Cells records;
    CsvRecord record;
    for (;;) {
        const Result<bool> read = reader.nextRow(record);
        if (!read)
            records.push_back({read.error().sentence()});
        if (!read || !*read)
            return records;
        auto& fields = records.emplace_back();
        for (const CsvField& field : record.fields)
            fields.emplace_back(field.text);
    }
}

spec::DataSpec csv(const std::string& path) {
    spec::DataSpec data;
    data.format = "csv";
    data.train = {{"table", path}};
    return data;
}

bool near(double found, double expected, double within = 1e-12) {
    return std::abs(found - expected) <= within;
}

} // namespace

class TestCsv : public QObject {
    Q_OBJECT

private slots:
    void recordsByHand_data();
    void recordsByHand();
    void longFieldsAcrossPieces();
    void spectrum_data();
    void spectrum();
    void numbersAndCategories();
    void missingIsDropped();
    void normalizations();
    void splitDoesNotLeak();
    void targets();
    void classesOfTheModel();
    void ownValidationFile();
    void formats_data();
    void formats();
    void refused_data();
    void refused();
    void sizeDoesNotMatter();
    void changedWhileTraining();
    void quirks_data();
    void quirks();
    void realTables_data();
    void realTables();
    void penguins();
    void otherTables_data();
    void otherTables();

private:
    std::string write(const char* name, const QByteArray& content) {
        const QString path = m_folder.filePath(QString::fromUtf8(name));
        if (!writeFile(path, content))
            qFatal("cannot write a test file");
        return path.toStdString();
    }
    spec::DataSpec table(const QByteArray& content) { return csv(write("table.csv", content)); }

    QTemporaryDir m_folder;
};

void TestCsv::recordsByHand_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<char>("delimiter");
    QTest::addColumn<QStringList>("records"); // fields joined with ¦
    const auto row = [](const char* name, const char* content, char delimiter,
                        const QStringList& records) {
        QTest::newRow(name) << QByteArray(content) << delimiter << records;
    };
    row("plain", "a,b\n1,2\n", ',', {"a¦b", "1¦2"});
    row("no last newline", "a,b\n1,2", ',', {"a¦b", "1¦2"});
    row("CRLF", "a,b\r\n1,2\r\n", ',', {"a¦b", "1¦2"});
    row("CR", "a,b\r1,2\r", ',', {"a¦b", "1¦2"});
    row("quotes", "\"a,\"\"b\"\"\",\" x \"\n\"\",y\n", ',', {"a,\"b\"¦ x ", "¦y"});
    row("newline in quotes", "1,\"a\nb\r\nc\",2\n3", ',', {"1¦a\nb\r\nc¦2", "3"});
    row("blanks", " a , b c ,\t1\n", ',', {"a¦b c¦1"});
    row("blank lines", "\n\na\n\n\nb\n\n", ',', {"a", "b"});
    row("empty fields", ",,\na,,\n", ',', {"¦¦", "a¦¦"});
    row("blank before a quote", "1, \"a,b\" ,2\n", ',', {"1¦a,b¦2"});
    row("text behind a quote", "\"5\"\" disk\",\"a\"b\n", ',', {"5\" disk¦ab"});
    row("quote within", "5\" disk,a\n", ',', {"5\" disk¦a"});
    row("semicolon", "1,5;2,5\n", ';', {"1,5¦2,5"});
    row("spaces", "  1   2.5\t3 \n 4 5 6\n", ' ', {"1¦2.5¦3", "4¦5¦6"});
    row("spaces and quotes", "1 \"a b\"\n   \n2 c\n", ' ', {"1¦a b", "2¦c"});
    row("open quote", "a,b\n1,\"x\ny\nz", ',',
        {"a¦b", "table: A quote that opens in line 2 of \"memory\" is never closed. Close it, or "
                "write a quote that belongs to the text twice, within quotes."});
}

void TestCsv::recordsByHand() {
    QFETCH(QByteArray, content);
    QFETCH(char, delimiter);
    QFETCH(QStringList, records);
    QStringList found;
    for (const auto& record : recordsOf(content.toStdString(), delimiter)) {
        QStringList fields;
        for (const std::string& field : record)
            fields += QString::fromStdString(field);
        found += fields.join(QStringLiteral("¦"));
    }
    QCOMPARE(found, records);
}

void TestCsv::longFieldsAcrossPieces() {
    // Pieces of a megabyte end within fields, quotes and line ends.
    std::string content;
    Cells expected;
    for (int i = 0; content.size() < 4'000'000; ++i) {
        const std::string text(static_cast<std::size_t>(1000 + i * 7 % 977), 'x');
        expected.push_back({std::to_string(i), text + "\n\"" + text});
        content += std::to_string(i) + ",\"" + text + "\n\"\"" + text + "\"\r\n";
    }
    QVERIFY(recordsOf(content) == expected);
    // No quote takes the whole file.
    const Cells open = recordsOf("a,b\n1,\"" + std::string(20'000'000, 'y'));
    QCOMPARE(open.size(), std::size_t{2});
    QVERIFY(open[1][0].starts_with("table: A quote that opens in line 2"));
}

void TestCsv::spectrum_data() {
    QTest::addColumn<QString>("file");
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const QDir folder(sharedData() + QStringLiteral("/tabular/csv-spectrum"));
    for (const QString& file : folder.entryList({QStringLiteral("*.csv")}))
        QTest::newRow(qPrintable(file)) << folder.filePath(file);
}

void TestCsv::spectrum() {
    QFETCH(QString, file);
    QFile csvFile(file);
    QFile jsonFile(QString(file).replace(QStringLiteral(".csv"), QStringLiteral(".json")));
    QVERIFY(csvFile.open(QIODevice::ReadOnly) && jsonFile.open(QIODevice::ReadOnly));
    const QByteArray content = csvFile.readAll();
    const Cells records = recordsOf(content.toStdString());
    const QJsonArray rows = QJsonDocument::fromJson(jsonFile.readAll()).array();
    QCOMPARE(static_cast<qsizetype>(records.size()), rows.size() + 1);
    for (qsizetype row = 0; row < rows.size(); ++row)
        for (std::size_t i = 0; i < records[0].size(); ++i) {
            const QString key = QString::fromStdString(records[0][i]);
            const QString found =
                QString::fromStdString(records[static_cast<std::size_t>(row) + 1][i]);
            QString expected = rows[row].toObject()[key].toVariant().toString();
            // One file has lost its CR on its way here.
            if (!content.contains('\r'))
                expected.remove(QLatin1Char('\r'));
            QCOMPARE(found, expected);
        }
}

void TestCsv::numbersAndCategories() {
    const DataOutcome outcome = openData(table("size,colour,empty,kind\n"
                                               "1,red,,cat\n"
                                               "3,blue,,dog\n"
                                               "NA,red,,cat\n"
                                               "5,?,,ant\n"),
                                         1, 3);
    VERIFY_OPENED(outcome);
    const Dataset& dataset = *outcome.data.training;
    const DatasetInfo& info = dataset.info();
    QCOMPARE(info.samples, 4);
    QVERIFY(info.sampleShape == Shape{4});
    QVERIFY(info.classNames == (std::vector<std::string>{"ant", "cat", "dog"}));
    QVERIFY(info.classCounts == (std::vector<std::int64_t>{1, 2, 1}));
    // Mean 3, variance (4 + 0 + 4) / 3.
    const double unit = std::sqrt(8.0 / 3);
    const auto rows = gatherRows<double>(dataset, {3, 0, 1, 2});
    const std::vector<double> expected = {2 / unit, 0, 0, 1, -2 / unit, 0, 1, 0,
                                          0,        1, 0, 0, 0,         0, 1, 0};
    for (std::size_t i = 0; i < expected.size(); ++i)
        QVERIFY2(near(rows.inputs[i], expected[i]), qPrintable(QString::number(i)));
    QVERIFY(rows.labels == (std::vector<std::int32_t>{0, 1, 2, 1}));
    const auto floats = gatherRows<float>(dataset, {3});
    QCOMPARE(floats.inputs[0], static_cast<float>(2 / unit));
    QVERIFY(near(info.mean[0], 3) && near(info.deviation[0], unit) && near(info.mean[2], 0.5));
    const QString notes = allNotes(info);
    for (const char* saying :
         {"The delimiter is the comma, the decimal mark is the point, the first row is a header.",
          "The target is the last column, \"kind\".", "\"kind\" has 3 classes.",
          "Column \"empty\" is left out: it has no values.", "size 1, colour 1"})
        QVERIFY2(notes.contains(QString::fromUtf8(saying)), qPrintable(notes));
    using Use = ColumnFacts::Use;
    QVERIFY(info.columns[0].use == Use::Number && info.columns[1].use == Use::Category &&
            info.columns[2].use == Use::LeftOut && info.columns[3].use == Use::Class);
    QVERIFY(info.columns[1].categories == (std::vector<std::string>{"blue", "red", "(missing)"}));
    QVERIFY(info.columns[0].examples == (std::vector<std::string>{"1", "3", "NA"}));
}

void TestCsv::missingIsDropped() {
    spec::DataSpec data = table("a,b,y\n1,x,0\n,x,1\n3,,0\n4,z,\n5,z,1\n");
    const DataOutcome filled = openData(data, 1, 2);
    VERIFY_OPENED(filled);
    QCOMPARE(filled.data.training->info().samples, 4); // no target, no sample
    data.values["missing"] = std::string("drop");
    const DataOutcome dropped = openData(data, 1, 2);
    VERIFY_OPENED(dropped);
    QCOMPARE(dropped.data.training->info().samples, 2);
    data.normalize = "none";
    const DataOutcome raw = openData(data, 1, 2);
    QVERIFY(gatherRows<double>(*raw.data.training, {0, 1}).inputs ==
            (std::vector<double>{1, 1, 0, 5, 0, 1}));
    QVERIFY(allNotes(raw.data.training->info()).contains(QLatin1StringView("3 of 5 rows of ")));
    VERIFY_REFUSED(openData(table("a,b,y\n1,?,\n2,?,\n3,4,NA\n"), 1, 2), "has no values");
}

void TestCsv::normalizations() {
    spec::DataSpec data = table("a,k,y\n10,7,0.5\n20,7,1.5\n40,7,2.5\n");
    const auto inputs = [&](const char* normalize) {
        data.normalize = normalize;
        return gatherRows<double>(*openData(data, 1, 0).data.training, {0, 1, 2}).inputs;
    };
    QVERIFY(inputs("none") == (std::vector<double>{10, 7, 20, 7, 40, 7}));
    const auto unit = inputs("unit");
    QVERIFY(near(unit[0], 0) && near(unit[2], 1.0 / 3) && near(unit[4], 1) && near(unit[1], 0));
    const auto standard = inputs("standard");
    QVERIFY(near(standard[0] + standard[2] + standard[4], 0) && near(standard[5], 0));
    QVERIFY(allNotes(openData(data, 1, 0).data.training->info())
                .contains(QLatin1StringView("Column \"k\" is 7 in all training rows")));
    // Large numbers that differ little keep their deviation.
    data = table("a,y\n1000000001,0.5\n1000000002,0.5\n1000000003,0.25\n");
    QVERIFY(near(inputs("standard")[0], -std::sqrt(1.5), 1e-9));
}

void TestCsv::splitDoesNotLeak() {
    QByteArray content = "x,y\n";
    for (int i = 0; i < 100; ++i)
        content += QByteArray::number(i * i) + ',' + QByteArray::number(i + 0.5) + '\n';
    spec::DataSpec data = table(content);
    data.validationFraction = 0.3;
    const DataOutcome outcome = openData(data, 5, 0);
    VERIFY_OPENED(outcome);
    QCOMPARE(outcome.data.training->info().samples, 70);
    QCOMPARE(outcome.data.validation->info().samples, 30);
    std::set<double> seen;
    double mean = 0;
    for (const Dataset* part : {outcome.data.training.get(), outcome.data.validation.get()}) {
        const auto all = gatherRows<double>(*part, firstRows(part->info().samples));
        for (const double number : all.numbers)
            QVERIFY2(seen.insert(number).second, "a row is in both parts");
        double sum = 0;
        for (const double number : all.numbers)
            sum += (number - 0.5) * (number - 0.5);
        sum /= static_cast<double>(all.numbers.size());
        QVERIFY(near(part->info().mean[0], sum, 1e-9));
        mean = mean == 0 ? sum : mean;
        // Both parts are scaled by the mean of training.
        const double scale =
            all.inputs[0] / ((all.numbers[0] - 0.5) * (all.numbers[0] - 0.5) - mean);
        QVERIFY(near(scale, 1 / outcome.data.training->info().deviation[0], 1e-9));
    }
    QCOMPARE(seen.size(), std::size_t{100});
    const auto other = gatherRows<double>(*openData(data, 6, 0).data.validation, firstRows(30));
    const auto same = gatherRows<double>(*openData(data, 5, 0).data.validation, firstRows(30));
    const auto first = gatherRows<double>(*outcome.data.validation, firstRows(30));
    QVERIFY(first.numbers == same.numbers && first.numbers != other.numbers);
}

void TestCsv::targets() {
    spec::DataSpec data = table("y,a,b,c\n10,1.5,x,0\n-1,2.5,y,1\n3,3.5,x,2.0\n10,4.5,y,2\n");
    DataOutcome outcome = openData(data, 1, 0);
    VERIFY_OPENED(outcome);
    QVERIFY(outcome.data.training->info().classNames == (std::vector<std::string>{"0", "1", "2"}));
    QVERIFY(outcome.data.training->info().classCounts == (std::vector<std::int64_t>{1, 1, 2}));
    data.values["target"] = std::string("y");
    outcome = openData(data, 1, 0);
    QVERIFY(outcome.data.training->info().classNames ==
            (std::vector<std::string>{"-1", "3", "10"}));
    QVERIFY(gatherRows<float>(*outcome.data.training, firstRows(4)).labels ==
            (std::vector<std::int32_t>{2, 0, 1, 2}));
    data.values["task"] = std::string("regression");
    outcome = openData(data, 1, 0);
    QVERIFY(outcome.data.training->info().target == TargetKind::Numbers);
    QVERIFY(outcome.data.training->info().targetShape == Shape{1});
    QVERIFY(gatherRows<float>(*outcome.data.training, firstRows(4)).numbers ==
            (std::vector<double>{10, -1, 3, 10}));
    data.values["ignore"] = std::string("b, 4");
    QVERIFY(openData(data, 1, 0).data.training->info().sampleShape == Shape{1});
    data.values["target"] = std::string("2");
    data.values["task"] = std::string("auto");
    outcome = openData(data, 1, 0);
    QVERIFY(outcome.data.training->info().target == TargetKind::Numbers);
    data.values["target"] = std::string("b");
    VERIFY_OPENED(openData(data, 1, 0));
    data.values["task"] = std::string("regression");
    VERIFY_REFUSED(openData(data, 1, 0), "holds texts, the first is \"x\" in line 2;");
    data.values["target"] = std::string("cc");
    VERIFY_REFUSED(openData(data, 1, 0), "data.target: ");
    VERIFY_REFUSED(openData(data, 1, 0), "has no column \"cc\". Did you mean \"c\"?");
}

void TestCsv::classesOfTheModel() {
    const spec::DataSpec data = table("x,y\n1,0\n2,1\n3,-1\n4,2\n5,1\n");
    VERIFY_OPENED(openData(data, 1, 4));
    VERIFY_REFUSED(openData(data, 1, 3),
                   "The target \"y\" has 4 classes, but the model has 3; \"-1\" is first seen in "
                   "line 4 (1 rows).");
}

void TestCsv::ownValidationFile() {
    spec::DataSpec data = csv(write("train.csv", "a,b,y\n1,x,no\n3,z,yes\n"));
    data.validation = {{"table", write("valid.csv", "y,extra,b,a\nyes,9,x,5\nno,9,new,1\n")}};
    const DataOutcome outcome = openData(data, 1, 2);
    VERIFY_OPENED(outcome);
    // Columns go by their names; training has mean 2 and deviation 1.
    const auto rows = gatherRows<double>(*outcome.data.validation, {0, 1});
    QVERIFY(rows.inputs == (std::vector<double>{3, 1, 0, -1, 0, 0}));
    QVERIFY(rows.labels == (std::vector<std::int32_t>{1, 0}));
    QVERIFY(allNotes(outcome.data.training->info())
                .contains(QLatin1StringView("1 texts of the validation file do not occur")));
    data.validation = {{"table", write("valid.csv", "a,b,y\n1,x,perhaps\n1,x,no\n")}};
    VERIFY_REFUSED(openData(data, 1, 2), "the first is \"perhaps\" in line 2.");
    data.validation = {{"table", write("valid.csv", "a,y\n1,no\n")}};
    VERIFY_REFUSED(openData(data, 1, 2), "has no column \"b\"");
    data.validation = {{"table", write("valid.csv", "a,b,y\nq,x,no\n")}};
    VERIFY_REFUSED(openData(data, 1, 2), "holds numbers and 1 texts, the first is \"q\" in line 2");
}

void TestCsv::formats_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("note");
    QTest::addColumn<qint64>("rows");
    QTest::addColumn<double>("first");
    const auto row = [](const char* name, const QByteArray& content, const char* note, qint64 rows,
                        double first) {
        QTest::newRow(name) << content << QByteArray(note) << rows << first;
    };
    row("tab", "a\tb\n1.5\t2\n3\t4\n", "the tab, the decimal mark is the point, the first row is a",
        2, 1.5);
    row("pipe", "1.5|2\n3|4\n", "the pipe, the decimal mark is the point, there is no header.", 2,
        1.5);
    row("space", " 1.5   2 x\n 3 4 y\n", "the space, the decimal mark is the point, there is no", 2,
        1.5);
    row("decimal comma", "1,5;2\n3,25;4\n", "the semicolon, the decimal mark is the comma, there",
        2, 1.5);
    row("semicolon with points", "a;b\n1.5;x, y\n3;z\n", "the semicolon, the decimal mark is the p",
        2, 1.5);
    QByteArray late = "a;b\n";
    for (int i = 0; i < 1000; ++i)
        late += "7;1\n";
    row("comma comes late", late + "1,5;0\n",
        "the semicolon, the decimal mark is the comma, the first row is a header.", 1001, 7);
    row("names only", "name,kind\nbob,cat\nann,dog\n", "the first row is a header.", 2, 0);
    row("texts without header", "red,cat\nblue,dog\nred,cat\n", "there is no header.", 3, 0);
    row("quoted header with commas", "\"a, b\",y\n1.5,2\n", "the comma", 1, 1.5);
    row("CRLF", "a,y\r\n1.5,u\r\n2,v\r\n", "the comma", 2, 1.5);
    row("signs and exponents", "a,y\n+1.5,1\n-2e3,0\n.5,1\n", "the comma", 3, 1.5);
}

void TestCsv::formats() {
    QFETCH(QByteArray, content);
    QFETCH(QByteArray, note);
    QFETCH(qint64, rows);
    QFETCH(double, first);
    spec::DataSpec data = table(content);
    data.normalize = "none";
    const DataOutcome outcome = openData(data, 1, 0);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QVERIFY2(allNotes(info).contains(QString::fromUtf8(note)), qPrintable(allNotes(info)));
    QCOMPARE(info.samples, rows);
    if (first != 0)
        QCOMPARE(gatherRows<double>(*outcome.data.training, {0}).inputs[0], first);
}

void TestCsv::refused_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("saying");
    const auto row = [](const char* name, const char* content, const char* saying) {
        QTest::newRow(name) << QByteArray(content) << QByteArray(saying);
    };
    row("texts among numbers", "a,y\n1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n7,0\n8,1\n9,0\nten,1\n",
        "Column \"a\" of ");
    row("texts among numbers, place", "a,y\n1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n7,0\n8,1\n9,0\nten,1\n",
        "holds numbers and 1 texts, the first is \"ten\" in line 11.");
    row("first line is a count", "3,2,x,y\n1,2,3,0\n2,3,4,1\n",
        "Set data.skip_lines to 1 to leave it out");
    row("header too short", "a,b\n1,2,3\n4,5,6\n", "(line 1) has 2 fields, all others have 3.");
    row("uneven", "a,b\n1,2\n1,2,3\n1,2\n1\n", "2 rows of ");
    row("uneven, lines", "a,b\n1,2\n1,2,3\n1,2\n1\n",
        "do not have 2 fields: line (fields) 3 (3), 5 (1)");
    row("one column", "a\n1\n2\n", "No column of ");
    row("not UTF-8", "a,y\n1,\xEA\xEE\xF2\n2,\xEF\xB8\n", "data.encoding=WINDOWS-1251");
    row("empty", "", "is empty");
    row("blank", "\n\n\n", "has no rows");
    row(
        "too many classes",
        [] {
            static QByteArray text = "a,y\n";
            for (int i = 0; i < 1200; ++i)
                text += "1,n" + QByteArray::number(i) + '\n';
            return text.constData();
        }(),
        "more than 1,000 different values");
}

void TestCsv::refused() {
    QFETCH(QByteArray, content);
    QFETCH(QByteArray, saying);
    VERIFY_REFUSED(openData(table(content), 1, 0), saying.constData());
}

void TestCsv::sizeDoesNotMatter() {
    // Large enough that its cells are not kept in memory.
    constexpr int kColumns = 20;
    constexpr int kRows = 450'000;
    const QString path = m_folder.filePath(QStringLiteral("large.csv"));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    QByteArray content = "y";
    for (int column = 1; column < kColumns; ++column)
        content += ",c" + QByteArray::number(column);
    for (int row = 0; row < kRows; ++row) {
        content += row % 3 == 0 ? "\n\"a\"" : row % 3 == 1 ? "\nb" : "\nc";
        for (int column = 1; column < kColumns; ++column)
            (content += ',') += QByteArray::number((row * 31 + column * 7) % 1000);
        if (content.size() > 1 << 20) {
            file.write(content);
            content.clear();
        }
    }
    file.write(content);
    file.close();
    if (!resetMostMemoryHeld())
        QSKIP("the most memory held cannot be measured here");
    const qint64 before = memoryFigure("VmHWM");
    spec::DataSpec data = csv(path.toStdString());
    data.values["target"] = std::string("y");
    data.normalize = "none";
    data.validationFraction = 0.1;
    const DataOutcome outcome = openData(data, 1, 3);
    VERIFY_OPENED(outcome);
    const Dataset& training = *outcome.data.training;
    QCOMPARE(training.info().samples, kRows * 9 / 10);
    const auto rows = gatherRows<float>(training, {0, 200'000, kRows * 9 / 10 - 1});
    for (std::size_t i = 0; i < 3; ++i) {
        const float* inputs = rows.inputs.data() + i * (kColumns - 1);
        for (int column = 1; column < kColumns - 1; ++column) {
            const float step = inputs[column] - inputs[column - 1];
            QVERIFY(step == 7 || step == 7 - 1000);
        }
    }
    QVERIFY(measureGather("a table that stays on the disk", training) > 0);
    const qint64 taken = memoryFigure("VmHWM") - before;
    qInfo("%lld MiB file, %lld KiB of memory", static_cast<long long>(file.size() >> 20),
          static_cast<long long>(taken));
    QVERIFY2(taken < 16 * 1024, qPrintable(QString::number(taken)));
    // The rest is gone while it is being trained on.
    QVERIFY(file.resize(1000));
    QVERIFY_THROWS_EXCEPTION(std::runtime_error, gatherRows<float>(training, {250'000}));
}

void TestCsv::changedWhileTraining() {
    // A small table is in memory: what happens to the file does not matter.
    const std::string path = write("table.csv", "a,y\n1,0\n2,1\n3,1\n");
    const DataOutcome outcome = openData(csv(path), 1, 2);
    VERIFY_OPENED(outcome);
    QVERIFY(QFile::remove(QString::fromStdString(path)));
    QVERIFY(gatherRows<float>(*outcome.data.training, firstRows(3)).labels ==
            (std::vector<std::int32_t>{0, 1, 1}));
}

void TestCsv::quirks_data() {
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<qint64>("rows");
    QTest::addColumn<qint64>("features");
    QTest::addColumn<qint64>("classes");
    QTest::addColumn<QByteArray>(
        "saying"); // of the notes, or of the problems where there are 0 rows
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const auto row = [](const char* file, qint64 rows, qint64 features, qint64 classes,
                        const char* saying) {
        QTest::newRow(file) << QByteArray(file) << rows << features << classes
                            << QByteArray(saying);
    };
    row("ok", 150, 4, 3, "The target is the last column, \"species\".");
    row("no-final-newline", 150, 4, 3, "is a header");
    row("trailing-comma-all", 150, 4, 3, "the empty column behind it is left out.");
    row("trailing-comma-all", 150, 4, 3, "The target is the last column, \"species\".");
    row("ragged", 0, 0, 0, "line (fields) 12 (2), 23 (6)");
    row("bom", 150, 4, 3, "byte order mark");
    row("crlf", 150, 4, 3, "\"species\" has 3 classes.");
    row("semicolon-decimalcomma", 150, 4, 3, "the semicolon, the decimal mark is the comma");
    row("missing-marks", 5, 3, 2, "a 3, b 3, c 3");
    row("inf-nan", 0, 0, 0, "4 rows of ");
    row("quoted-newline", 2, 3, 2, "is a header");
    row("blank-lines", 30, 4, 1, "is a header");
    row("no-header", 150, 4, 3, "there is no header");
    row("header-only", 0, 0, 0, "has a header but no rows");
    row("empty", 0, 0, 0, "is empty");
    row("constant-column", 40, 2, 2, "Column \"k\" is 7 in all training rows");
    row("unclosed-quote", 0, 0, 0, "line 2 of");
}

void TestCsv::quirks() {
    QFETCH(QByteArray, file);
    QFETCH(qint64, rows);
    QFETCH(qint64, features);
    QFETCH(qint64, classes);
    QFETCH(QByteArray, saying);
    spec::DataSpec data =
        csv((sharedData() + QStringLiteral("/quirks-A/csv/") + QString::fromUtf8(file) + ".csv")
                .toStdString());
    DataOutcome outcome = openData(data, 1, 0);
    if (rows == 0) {
        VERIFY_REFUSED(outcome, saying.constData());
        return;
    }
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QCOMPARE(info.samples, rows);
    QCOMPARE(info.sampleShape[0], features);
    QCOMPARE(info.classes, classes);
    QVERIFY2(allNotes(info).contains(QString::fromUtf8(saying)), qPrintable(allNotes(info)));
    for (const float input : gatherRows<float>(*outcome.data.training, firstRows(rows)).inputs)
        QVERIFY(std::isfinite(input));
    if (rows == 150) {
        QVERIFY(info.classCounts == (std::vector<std::int64_t>{50, 50, 50}));
        QCOMPARE(info.columns[0].name, std::string(file == "no-header" ? "column 1" : "sepal_len"));
        data.normalize = "none";
        outcome = openData(data, 1, 0);
        QCOMPARE(gatherRows<double>(*outcome.data.training, {0}).inputs[0], 5.1);
    }
}

void TestCsv::realTables_data() {
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<qint64>("skip");
    QTest::addColumn<qint64>("rows");
    QTest::addColumn<qint64>("features");
    QTest::addColumn<QList<qint64>>("counts");
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    using Counts = QList<qint64>;
    QTest::newRow("iris") << QByteArray("sklearn-iris.csv") << qint64{1} << qint64{150} << qint64{4}
                          << Counts{50, 50, 50};
    QTest::newRow("wine") << QByteArray("sklearn-wine_data.csv") << qint64{1} << qint64{178}
                          << qint64{13} << Counts{59, 71, 48};
    QTest::newRow("breast cancer") << QByteArray("sklearn-breast_cancer.csv") << qint64{1}
                                   << qint64{569} << qint64{30} << Counts{212, 357};
    QTest::newRow("digits") << QByteArray("sklearn-digits.csv.gz") << qint64{0} << qint64{1797}
                            << qint64{64} << Counts{};
}

void TestCsv::realTables() {
    QFETCH(QByteArray, file);
    QFETCH(qint64, skip);
    QFETCH(qint64, rows);
    QFETCH(qint64, features);
    QFETCH(QList<qint64>, counts);
    spec::DataSpec data =
        csv((sharedData() + QStringLiteral("/tabular/") + QString::fromUtf8(file)).toStdString());
    if (skip > 0) // its first line holds counts and names of classes
        VERIFY_REFUSED(openData(data, 1, 0), "Set data.skip_lines to 1");
    data.values["skip_lines"] = std::int64_t{skip};
    const DataOutcome outcome = openData(data, 1, 0);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QCOMPARE(info.samples, rows);
    QVERIFY(info.sampleShape == Shape{features});
    QVERIFY(counts.isEmpty() || std::equal(counts.begin(), counts.end(), info.classCounts.begin(),
                                           info.classCounts.end()));
    QVERIFY(measureGather(file.constData(), *outcome.data.training) > 0);
}

void TestCsv::penguins() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const std::string folder = (sharedData() + QStringLiteral("/tabular/")).toStdString();
    spec::DataSpec data = csv(folder + "penguins.csv");
    data.values["target"] = std::string("species");
    DataOutcome outcome = openData(data, 1, 3);
    VERIFY_OPENED(outcome);
    QCOMPARE(outcome.data.training->info().samples, 344);
    // Island 3, four measures, sex 2 and missing, year.
    QVERIFY(outcome.data.training->info().sampleShape == Shape{11});
    data.values["missing"] = std::string("drop");
    data.values["ignore"] = std::string("sex");
    outcome = openData(data, 1, 3);
    QCOMPARE(outcome.data.training->info().samples, 342);
    QVERIFY(outcome.data.training->info().classCounts == (std::vector<std::int64_t>{151, 68, 123}));

    data = csv(folder + "penguins_raw.csv");
    data.values["target"] = std::string("Body Mass (g)");
    outcome = openData(data, 1, 0);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QCOMPARE(info.samples, 342);
    QCOMPARE(info.columns.size(), std::size_t{17});
    QVERIFY(info.target == TargetKind::Numbers);
    QVERIFY2(allNotes(info).contains(QLatin1StringView("Column \"Individual ID\" is left out")),
             qPrintable(allNotes(info)));
}

void TestCsv::otherTables_data() {
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<QByteArray>("target");
    QTest::addColumn<qint64>("rows");
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const QDir folder(sharedData() + QStringLiteral("/unclear-licence/tabular"));
    if (!folder.exists())
        QSKIP("the tables of unclear licence are not there");
    const auto find = [&](const char* pattern, const char* target, qint64 rows) {
        for (const QString& file : folder.entryList({QString::fromUtf8(pattern)}, QDir::Files))
            QTest::newRow(qPrintable(file))
                << folder.filePath(file).toUtf8() << QByteArray(target) << rows;
    };
    find("*abalone*", "", 4177);
    find("*titanic*", "survived", 891);
    find("*winequality-red*", "quality", 1599);
    find("*gapminder*", "lifeExp", 1704);
}

void TestCsv::otherTables() {
    QFETCH(QByteArray, file);
    QFETCH(QByteArray, target);
    QFETCH(qint64, rows);
    spec::DataSpec data = csv(file.toStdString());
    data.values["target"] = target.toStdString();
    data.values["task"] = std::string(target == "survived" ? "classification" : "regression");
    const DataOutcome outcome = openData(data, 1, 0);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    qInfo("%s", qPrintable(allNotes(info)));
    QCOMPARE(info.samples, rows);
}

QTEST_APPLESS_MAIN(TestCsv)
#include "tst_csv.moc"
