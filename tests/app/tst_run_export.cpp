// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Exports: every row, every value as itself, the same bytes in every locale.
#include "app/store/run_export.h"
#include "app/store/step_splits.h"
#include "tests/app/store_support.h"

#include <QBuffer>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include <clocale>
#include <limits>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// Takes so many bytes and then is full.
class FullDevice : public QIODevice {
public:
    explicit FullDevice(qint64 room) : m_room(room) { open(QIODevice::WriteOnly); }

protected:
    qint64 readData(char*, qint64) override { return -1; }
    qint64 writeData(const char*, qint64 size) override {
        if (size > m_room) {
            setErrorString(u"No space left on device"_qs);
            return -1;
        }
        m_room -= size;
        return size;
    }

private:
    qint64 m_room;
};
} // namespace

class RunExportTest : public QObject {
    Q_OBJECT
private slots:
    void init();
    void csvHasEveryRow();
    void jsonIsValidAndComplete();
    void stepSplitIsAMeanForEachRank();
    void confusionIsATableAndPartOfTheJson();
    void sameBytesInEveryLocale();
    void supersededPointsAreApart();
    void failuresAreSaid();
    void fileNamesDoNotCollide();

private:
    QByteArray csv() {
        QBuffer buffer;
        buffer.open(QIODevice::WriteOnly);
        const Result<void> done = exportCsv(m_store->reader(), m_run, buffer);
        return done ? buffer.data() : QByteArray::fromStdString(done.error().sentence());
    }
    QByteArray json() {
        QBuffer buffer;
        buffer.open(QIODevice::WriteOnly);
        const Result<void> done = exportJson(m_store->reader(), m_run, buffer);
        return done ? buffer.data() : QByteArray::fromStdString(done.error().sentence());
    }
    void store(const JournalBuilder& journal) {
        m_store->ingest({m_run, u"node-a"_qs}, journal.frames());
        QVERIFY(m_store->flush().get().ok());
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<RunStore> m_store;
    RunId m_run{};
};

void RunExportTest::init() {
    m_store.reset();
    m_folder = std::make_unique<QTemporaryDir>();
    m_store = std::move(RunStore::open(m_folder->path())).value();
    m_run = m_store->createRun(newRun(u"base \"line\""_qs, u"uid-1"_qs)).value().id;
}

void RunExportTest::csvHasEveryRow() {
    JournalBuilder journal;
    const std::vector<double> values = {1, kNaN, kInf, -kInf, 0, 1e-320};
    for (std::size_t i = 0; i < values.size(); ++i)
        journal.metrics(static_cast<std::int64_t>(i) + 1, {{"loss", values[i]}});
    journal.metrics(6, {{"val,\"x\"", 0.1}});
    store(journal);
    QCOMPARE(csv(), QByteArray("step,epoch,samples,time_utc,loss,\"val,\"\"x\"\"\"\n"
                               "1,0.01,64,2026-09-21T14:13:20.001000Z,1,\n"
                               "2,0.02,128,2026-09-21T14:13:20.002000Z,NaN,\n"
                               "3,0.03,192,2026-09-21T14:13:20.003000Z,Infinity,\n"
                               "4,0.04,256,2026-09-21T14:13:20.004000Z,-Infinity,\n"
                               "5,0.05,320,2026-09-21T14:13:20.005000Z,0,\n"
                               "6,0.06,384,2026-09-21T14:13:20.006000Z,1e-320,0.1\n"));
}

void RunExportTest::jsonIsValidAndComplete() {
    store(syntheticJournal(1, 3000));
    QJsonParseError error;
    const QJsonObject root = QJsonDocument::fromJson(json(), &error).object();
    QCOMPARE(error.error, QJsonParseError::NoError);
    QCOMPARE(root[u"format"].toString(), u"trainyard.run/1"_qs);
    QCOMPARE(root[u"run"][u"name"].toString(), u"base \"line\""_qs);
    QCOMPARE(root[u"run"][u"state"].toString(), u"finished"_qs);
    QCOMPARE(root[u"experiment"][u"name"].toString(), u"x"_qs);
    QCOMPARE(root[u"final"][u"val_loss"].toString(), u"NaN"_qs);
    const Points points = m_store->reader().points(m_run, u"train_loss"_qs).value();
    const QJsonArray values = root[u"metrics"][u"train_loss"][u"values"].toArray();
    QCOMPARE(static_cast<std::size_t>(values.size()), points.size());
    for (qsizetype i = 0; i < values.size(); ++i) {
        const double expected = points.values[static_cast<std::size_t>(i)];
        if (std::isnan(expected))
            QCOMPARE(values[i].toString(), u"NaN"_qs);
        else if (std::isinf(expected))
            QCOMPARE(values[i].toString(), u"Infinity"_qs);
        else
            QVERIFY(values[i].isDouble() && values[i].toDouble() == expected);
    }
}

void RunExportTest::stepSplitIsAMeanForEachRank() {
    JournalBuilder journal;
    journal.add(spec::Hello{spec::kProtocolVersion, "0.1.0", "uid", "node-a", 2});
    const auto sample = [&](std::int32_t rank, double step, double forward) {
        journal.add(spec::DeviceSample{rank,
                                       "cpu:" + std::to_string(rank),
                                       {{"utilization", 90},
                                        {spec::metric::kStepTime, step},
                                        {spec::metric::kStepForward, forward},
                                        {spec::metric::kStepCommunication, 0.25}}});
    };
    sample(1, 2.0, 0.5);
    sample(0, 1.0, 0.25);
    sample(0, 3.0, 0.75);
    store(journal);
    const std::vector<StepSplit> splits = stepSplits(m_store->reader(), m_run).value();
    QCOMPARE(splits.size(), 2U);
    QCOMPARE(splits[0].rank, 0);
    QCOMPARE(splits[0].step, 2.0);
    QCOMPARE(splits[0].parts[1], 0.5);
    QCOMPARE(splits[0].communication, 0.25);
    QCOMPARE(splits[1].device, u"cpu:1"_qs);

    QJsonParseError error;
    const QJsonObject root = QJsonDocument::fromJson(json(), &error).object();
    QCOMPARE(error.error, QJsonParseError::NoError);
    QCOMPARE(root[u"step_split"][0][u"step_time"].toDouble(), 2.0);
    QCOMPARE(root[u"step_split"][1][u"step_forward"].toDouble(), 0.5);
    const QJsonArray devices = root[u"devices"].toArray();
    bool found = false;
    for (const QJsonValue& device : devices)
        if (device[u"rank"].toInt() == 0 && device[u"metric"].toString() == u"step_time") {
            found = true;
            QCOMPARE(device[u"samples"][u"values"].toArray(), (QJsonArray{1.0, 3.0}));
            QCOMPARE(device[u"samples"][u"time_us"].toArray().size(), 2);
        }
    QVERIFY(found);
}

void RunExportTest::confusionIsATableAndPartOfTheJson() {
    JournalBuilder journal;
    journal.add(spec::Confusion{10, 1, true, {"a,b", "c"}, {9, 1, 0, 10}});
    journal.add(spec::Confusion{20, 2, false, {"a,b", "c"}, {8, 2, 0, 10}});
    QVERIFY(!QJsonDocument::fromJson(json()).object().contains(u"confusion"));
    store(journal);
    const QJsonObject tables = QJsonDocument::fromJson(json())[u"confusion"].toObject();
    QCOMPARE(tables[u"newest"][u"step"].toInt(), 20);
    QCOMPARE(tables[u"newest"][u"counts"].toArray(),
             (QJsonArray{QJsonArray{8, 2}, QJsonArray{0, 10}}));
    QCOMPARE(tables[u"best"][u"step"].toInt(), 10);
    QCOMPARE(tables[u"best"][u"epoch"].toDouble(), 1.0);
    QCOMPARE(tables[u"best"][u"classes"].toArray(), (QJsonArray{u"a,b"_qs, u"c"_qs}));
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    const auto newest = m_store->reader().confusion(m_run, Validation::Newest).value();
    QVERIFY(exportConfusionCsv(*newest, buffer).ok());
    QCOMPARE(buffer.data(), QByteArray("label,\"a,b\",c\n\"a,b\",8,2\nc,0,10\n"));
}

void RunExportTest::sameBytesInEveryLocale() {
    store(syntheticJournal(2, 500));
    const QByteArray plainCsv = csv();
    const QByteArray plainJson = json();
    QLocale::setDefault(QLocale(QLocale::German));
    const QByteArray before = std::setlocale(LC_ALL, nullptr);
    const bool changed = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
    QCOMPARE(csv(), plainCsv);
    QCOMPARE(json(), plainJson);
    std::setlocale(LC_ALL, before.constData());
    QLocale::setDefault(QLocale::c());
    if (!changed)
        qInfo("de_DE.UTF-8 is not installed: only QLocale was changed");
}

void RunExportTest::supersededPointsAreApart() {
    JournalBuilder journal;
    for (int step : {1, 2, 3, 4, 3, 4, 5})
        journal.metrics(step, {{"loss", 10.0 * step}});
    store(journal);
    QCOMPARE(csv().count('\n'), 6);
    const QJsonObject loss = QJsonDocument::fromJson(json())[u"metrics"][u"loss"].toObject();
    QCOMPARE(loss[u"steps"].toArray().size(), 5);
    QCOMPARE(loss[u"superseded"].toArray().size(), 1);
    QCOMPARE(loss[u"superseded"][0][u"steps"].toArray(), (QJsonArray{3, 4}));
}

void RunExportTest::failuresAreSaid() {
    store(syntheticJournal(1, 100));
    FullDevice full(100);
    const Result<void> done = exportCsv(m_store->reader(), m_run, full);
    QVERIFY(!done);
    QVERIFY(done.error().sentence().find("No space left on device") != std::string::npos);
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    QVERIFY(!exportCsv(m_store->reader(), RunId{99}, buffer));
    QVERIFY(!exportJson(m_store->reader(), RunId{99}, buffer));
    QVERIFY(buffer.data().isEmpty());
}

void RunExportTest::fileNamesDoNotCollide() {
    RunRecord run;
    run.uid = u"20260729-105607-3f9a1c7e"_qs;
    run.name = u"../a b/ü"_qs;
    QCOMPARE(exportBaseName(run), u"-a-b-ü-20260729-105607-3f9a1c7e"_qs);
    run.name.clear();
    QCOMPARE(exportBaseName(run), run.uid);
}

QTEST_GUILESS_MAIN(RunExportTest)
#include "tst_run_export.moc"
