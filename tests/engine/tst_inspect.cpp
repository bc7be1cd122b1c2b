// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The look into data before a run: samples to be shown, whatever normalisation has made of them.
#include "engine/runtime/inspect.h"

#include "tests/data/idx_writer.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;

class TestInspect : public QObject {
    Q_OBJECT

private slots:
    void pictures_data();
    void pictures();
    void tables();
    void texts();

private:
    QJsonObject dataOf(const QByteArray& dataJson) {
        const QByteArray experiment =
            R"({"format": "trainyard.experiment/1", "data": )" + dataJson +
            R"(, "model": {"input": {"shape": [4]}, "layers": [{"id": "a", "type": "linear",
                "out_features": 300}]}})";
        const std::string answer = inspectExperiment(experiment.toStdString());
        return QJsonDocument::fromJson(QByteArray::fromStdString(answer))
            .object()[QLatin1StringView("data")]
            .toObject();
    }
    QByteArray write(const char* name, const QByteArray& content) {
        const QString path = m_folder.filePath(QString::fromUtf8(name));
        if (!writeFile(path, content))
            qFatal("cannot write a test file");
        return path.toUtf8();
    }

    QTemporaryDir m_folder;
};

void TestInspect::pictures_data() {
    QTest::addColumn<QByteArray>("normalize");
    for (const char* normalize : {"standard", "unit", "none"})
        QTest::newRow(normalize) << QByteArray(normalize);
}

void TestInspect::pictures() {
    QFETCH(QByteArray, normalize);
    const QByteArray pixels = patternBytes(20 * 2 * 3);
    QByteArray labels;
    for (int i = 0; i < 20; ++i)
        labels += static_cast<char>(i % 3);
    const QByteArray data =
        R"({"format": "idx", "normalize": ")" + normalize + R"(", "train": {"images": ")" +
        write("images", idxHeader(8, {20, 2, 3}) + pixels) + R"(", "labels": ")" +
        write("labels", idxHeader(8, {20}) + labels) + R"("}})";
    const QJsonArray shown =
        dataOf(data)[QLatin1StringView("preview")][QLatin1StringView("pictures")].toArray();
    QCOMPARE(shown.size(), 16);
    for (int i = 0; i < 16; ++i) {
        const int sample = i * 20 / 16;
        const QByteArray bytes =
            QByteArray::fromBase64(shown[i][QLatin1StringView("bytes")].toString().toLatin1());
        QCOMPARE(bytes, pixels.mid(sample * 6, 6));
        QCOMPARE(shown[i][QLatin1StringView("label")].toInt(-1), sample % 3);
    }
}

void TestInspect::tables() {
    const QByteArray data = R"({"format": "csv", "train": {"table": ")" +
                            write("table.csv", "size,note,kind\n1.5,,a\n2.5,,b\nNA,,a\n") +
                            R"("}})";
    const QJsonArray columns =
        dataOf(data)[QLatin1StringView("preview")][QLatin1StringView("columns")].toArray();
    QCOMPARE(QJsonDocument(columns).toJson(QJsonDocument::Compact),
             QByteArray(R"([{"categories":[],"deviation":0.5,"examples":["1.5","2.5","NA"],)"
                        R"("mean":2,"missing":1,"name":"size","use":"number"},)"
                        R"({"categories":[],"examples":["","",""],"missing":3,)"
                        R"("name":"note","use":"left_out"},)"
                        R"({"categories":["a","b"],"examples":["a","b","a"],"missing":0,)"
                        R"("name":"kind","use":"class"}])"));
}

void TestInspect::texts() {
    const QByteArray data = R"({"format": "text", "context": 5, "train": {"text": ")" +
                            write("text", "Мой дядя самых честных правил") + R"("}})";
    QCOMPARE(dataOf(data)[QLatin1StringView("preview")][QLatin1StringView("text")].toString(),
             QStringLiteral("Мой дядя самых честных пр"));
}

QTEST_APPLESS_MAIN(TestInspect)
#include "tst_inspect.moc"
