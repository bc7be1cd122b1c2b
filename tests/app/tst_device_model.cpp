// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// This machine in the list of devices, and data that a worker is asked about. The worker is a
// script, so its answers are known.
#include "app/models/data_inspector.h"
#include "app/models/device_model.h"
#include "engine/spec/experiment_json.h"

#include <QAbstractItemModelTester>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace trainyard;
using namespace trainyard::app;
using State = DeviceModel::State;

namespace {

// clang-format off
const QByteArray kProbe = R"json({"format": "trainyard.probe/1", "engine_version": "0.1.0",
 "host": "desk", "os": "Debian GNU/Linux 12 (bookworm)", "kernel": "6.1.0", "arch": "x86_64",
 "glibc": "2.36", "cores": 12,
 "cpu": {"model": "Example 9000", "online_cores": 16, "allowed_cores": 16, "quota_cores": 12.5,
         "simd": "avx512", "avx512_bf16": true, "amx_bf16": false},
 "memory": {"total": 68719476736, "available": 34359738368},
 "root": {"path": "/data/node", "writable": true, "free": 1000000000000},
 "devices": [{"id": "cpu:0", "kind": "cpu", "name": "Example 9000", "cores": 12}],
 "runs": [{"run": "r7", "pid": 4711}]})json";

const QByteArray kInspection = R"json({"format": "trainyard.inspect/1", "problems": [],
 "data": {"train": {"samples": 60000, "shape": [1, 28, 28], "classes": 3,
                    "class_counts": [10, 20, 30], "mean": [0.286], "deviation": [0.353]},
          "validation": null},
 "machine": {"cores": 4, "blocked_pictures": true}})json";

const QByteArray kBadLabel = R"json({"problems": [{"where": "data.train.labels",
  "what": {"format": "Label %1 in row %2.", "arguments": ["255", "7"]},
  "cure": {"format": "", "arguments": []}}], "data": null, "machine": {"cores": 4}})json";
// clang-format on

} // namespace

class DeviceModelTest : public QObject {
    Q_OBJECT
private slots:
    void init();
    void readsTheProbe();
    void oldFactsStayAfterAFailure();
    void asksOnlyOnceAtATime();
    void missingFactsAreUnknown();
    void instructionSets();
    void inspectorAnswersTheDocument();
    void inspectorPassesProblemsOn();
    void inspectorTellsThatTheWorkerFails();
    void questionIsAnExperimentOfItsOwn();

private:
    /// The worker prints `answer` whatever it is asked, and keeps what it was given.
    void script(const QByteArray& answer, int exitCode = 0);
    QString path(const char* name) const { return m_folder->filePath(QLatin1StringView(name)); }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<LocalLauncher> m_launcher;
};

void DeviceModelTest::init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_launcher = std::make_unique<LocalLauncher>(path("worker"), m_folder->path());
}

void DeviceModelTest::script(const QByteArray& answer, int exitCode) {
    QFile data(path("answer"));
    QVERIFY(data.open(QIODevice::WriteOnly));
    data.write(answer);
    QFile worker(path("worker"));
    QVERIFY(worker.open(QIODevice::WriteOnly));
    worker.write("#!/bin/sh\ncat > '" + path("input").toUtf8() + "'\necho \"$@\" >> '" +
                 path("calls").toUtf8() + "'\ncat '" + path("answer").toUtf8() + "'\nexit " +
                 QByteArray::number(exitCode) + "\n");
    worker.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner | QFileDevice::ExeOwner);
}

void DeviceModelTest::readsTheProbe() {
    script(kProbe);
    const QDateTime now(QDate(2026, 3, 1), QTime(12, 0), Qt::UTC);
    DeviceModel model(*m_launcher, nullptr, [now] { return now; });
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    QCOMPARE(model.state(), State::Unknown);
    QCOMPARE(model.rowCount(), 0);
    QVERIFY(!model.facts());
    model.probe();
    QCOMPARE(model.state(), State::Probing);
    QTRY_COMPARE(model.state(), State::Ready);
    QCOMPARE(model.factsTime(), now);
    const MachineProbe& facts = *model.facts();
    QCOMPARE(facts.host, QStringLiteral("desk"));
    QCOMPARE(facts.cores, 12);
    QCOMPARE(model.cores(), 12);
    QCOMPARE(*facts.onlineCores, 16);
    QCOMPARE(*facts.quotaCores, 12.5);
    QCOMPARE(*facts.memoryAvailable, std::int64_t{34359738368});
    QCOMPARE(facts.runs, (std::vector<ProbedRun>{{QStringLiteral("r7"), 4711}}));
    QCOMPARE(model.rowCount(), 1);
    const auto cell = [&](int column) {
        return model.index(0, column).data().toString();
    };
    QCOMPARE(cell(DeviceModel::DeviceColumn), QStringLiteral("CPU 0"));
    QCOMPARE(cell(DeviceModel::NameColumn), QStringLiteral("Example 9000"));
    QCOMPARE(cell(DeviceModel::CoresColumn), QStringLiteral("12"));
    QVERIFY(cell(DeviceModel::MemoryColumn).startsWith(QStringLiteral("64")));
    QCOMPARE(model.index(0, 0).data(DeviceModel::IdRole).toString(), QStringLiteral("local/cpu:0"));
}

void DeviceModelTest::oldFactsStayAfterAFailure() {
    script(kProbe);
    QDateTime now(QDate(2026, 3, 1), QTime(12, 0), Qt::UTC);
    DeviceModel model(*m_launcher, nullptr, [&now] { return now; });
    model.probe();
    QTRY_COMPARE(model.state(), State::Ready);
    script("this is no JSON", 1);
    now = now.addSecs(60);
    model.probe();
    QTRY_COMPARE(model.state(), State::Failed);
    QVERIFY(model.error().has_value() && !model.error()->sentence().empty());
    QCOMPARE(model.errorTime(), now);
    QCOMPARE(model.factsTime(), now.addSecs(-60));
    QCOMPARE(model.facts()->host, QStringLiteral("desk"));
    QCOMPARE(model.rowCount(), 1);
    script(kProbe);
    model.probe();
    QTRY_COMPARE(model.state(), State::Ready);
    QVERIFY(!model.error());
    QCOMPARE(model.factsTime(), now);
}

void DeviceModelTest::asksOnlyOnceAtATime() {
    script(kProbe);
    DeviceModel model(*m_launcher);
    QSignalSpy changed(&model, &DeviceModel::stateChanged);
    model.probe();
    model.probe();
    QTRY_COMPARE(model.state(), State::Ready);
    QCOMPARE(changed.count(), 2);
    QFile calls(path("calls"));
    QVERIFY(calls.open(QIODevice::ReadOnly));
    const QByteArrayList lines = calls.readAll().trimmed().split('\n');
    QCOMPARE(lines.size(), 1);
    QVERIFY(lines.front().startsWith("probe"));
}

void DeviceModelTest::missingFactsAreUnknown() {
    const MachineProbe probe = probeFromJson({});
    QVERIFY(!probe.memoryTotal && !probe.quotaCores && !probe.folderFree && !probe.onlineCores);
    QCOMPARE(probe.cores, 1);
    script(R"({"devices": [{"id": "cpu:0", "kind": "cpu", "name": ""}]})");
    DeviceModel model(*m_launcher);
    model.probe();
    QTRY_COMPARE(model.state(), State::Ready);
    QCOMPARE(model.index(0, DeviceModel::CoresColumn).data().toString(), QStringLiteral("—"));
    QCOMPARE(model.index(0, DeviceModel::MemoryColumn).data().toString(), QStringLiteral("—"));
    QVERIFY(!model.index(0, DeviceModel::MemoryColumn).data(DeviceModel::NumberRole).isValid());
}

void DeviceModelTest::instructionSets() {
    MachineProbe probe;
    probe.simd = QStringLiteral("avx2");
    QCOMPARE(instructionSetsText(probe), QStringLiteral("AVX2"));
    probe.simd = QStringLiteral("avx512");
    probe.avx512Bf16 = probe.amxBf16 = true;
    QCOMPARE(instructionSetsText(probe), QStringLiteral("AVX-512 with bf16, AMX bf16"));
    probe = {};
    probe.simd = QStringLiteral("none");
    QCOMPARE(instructionSetsText(probe), QStringLiteral("none"));
}

namespace {

spec::Experiment withData() {
    spec::Experiment e;
    e.data.train = {{"images", "/data/i"}, {"labels", "/data/l"}};
    e.model.inputShape = {1, 28, 28};
    e.model.layers = {{.id = "flatten", .type = "flatten", .from = {}, .values = {}},
                      {.id = "classes",
                       .type = "linear",
                       .from = {},
                       .values = {{"out_features", std::int64_t{10}}}}};
    return e;
}

} // namespace

void DeviceModelTest::inspectorAnswersTheDocument() {
    script(kInspection);
    ExperimentDocument document;
    document.openExperiment(withData()); // asks before anybody listens
    DataInspector inspector(document, *m_launcher);
    QTRY_COMPARE(document.dataState(), ExperimentDocument::DataState::Known);
    const DataFacts& facts = *document.dataFacts();
    QCOMPARE(facts.training.samples, 60000);
    QCOMPARE(facts.training.classCounts, (std::vector<std::int64_t>{10, 20, 30}));
    QCOMPARE(facts.training.mean, std::vector<double>{0.286});
    QVERIFY(!facts.validation);
    QVERIFY(document.problems().empty());
    QCOMPARE(document.prices().prices.plan.stepsPerEpoch, 469);
    QFile input(path("input"));
    QVERIFY(input.open(QIODevice::ReadOnly));
    const auto asked = spec::parseExperiment(input.readAll().toStdString());
    QVERIFY(asked.problems.empty());
    QVERIFY(asked.experiment.data == document.experiment().data);
    QCOMPARE(std::get<std::int64_t>(asked.experiment.model.layers.back().values.at("out_features")),
             10);
}

void DeviceModelTest::inspectorPassesProblemsOn() {
    script(kBadLabel);
    ExperimentDocument document;
    DataInspector inspector(document, *m_launcher);
    document.openExperiment(withData());
    QTRY_COMPARE(document.problems().size(), std::size_t{1});
    QCOMPARE(document.problems().front().what.text(), std::string("Label 255 in row 7."));
    // Another number of classes may make the labels right.
    QSignalSpy wanted(&document, &ExperimentDocument::inspectionWanted);
    script(kInspection);
    document.setValue("training.batch", std::int64_t{64});
    QCOMPARE(wanted.count(), 0);
    document.setValue("model.layers[1].out_features", std::int64_t{256});
    QCOMPARE(wanted.count(), 1);
    QTRY_VERIFY(document.problems().empty());
}

void DeviceModelTest::inspectorTellsThatTheWorkerFails() {
    ExperimentDocument document; // there is no worker
    DataInspector inspector(document, *m_launcher);
    document.openExperiment(withData());
    QTRY_COMPARE(document.dataState(), ExperimentDocument::DataState::Failed);
    QVERIFY(!document.dataError()->sentence().empty());
    QVERIFY(document.problems().empty());
}

void DeviceModelTest::questionIsAnExperimentOfItsOwn() {
    const DataQuestion question{withData().data, 5, 0};
    const auto parsed = spec::parseExperiment(questionText(question).toStdString());
    QVERIFY(parsed.problems.empty());
    QCOMPARE(parsed.experiment.training.seed, std::uint64_t{5});
    // With nothing known of the model's classes it must not name a number of them.
    QVERIFY(!graph::buildGraph(parsed.experiment.model, {}).problems.empty());
}

QTEST_GUILESS_MAIN(DeviceModelTest)
#include "tst_device_model.moc"
