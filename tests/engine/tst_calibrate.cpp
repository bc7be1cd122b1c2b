// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A machine that is measured, in a moment: every kind of time is there. And the file that keeps it.
#include "engine/program/price.h"
#include "engine/runtime/calibrate.h"
#include "engine/runtime/calibration_file.h"
#include "engine/runtime/calibration_models.h"
#include "engine/runtime/machine.h"

#include <QtTest>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace trainyard;
using namespace trainyard::engine;
namespace fs = std::filesystem;

namespace {

const plan::CalibrationKey kKey{"1.0", "some processor", 2};

plan::Calibration some() {
    plan::Calibration calibration;
    calibration.key = kKey;
    calibration.measuredAt = "2026-01-31T12:00:00Z";
    calibration.settings = {{1, 1, {{"copy", {{{4.0}, 16, 1e-8}}}}}};
    return calibration;
}

} // namespace

class CalibrateTest : public QObject {
    Q_OBJECT
private slots:
    void everyKindIsMeasured();
    void keptAndRead();
    void damagedOrOfAnotherMachineIsNotThere();
    void aFolderThatCannotBeWritten();

private:
    fs::path file() const { return fs::path(m_folder.path().toStdString()) / "a" / "c.json"; }
    QTemporaryDir m_folder;
};

void CalibrateTest::everyKindIsMeasured() {
    const CalibrateOptions options{.key = {"1.0", "here", 1},
                                   .perModel = std::chrono::milliseconds(1),
                                   .perExchange = std::chrono::milliseconds(1)};
    const Result<plan::Calibration> measured = calibrate(options);
    QVERIFY2(measured.ok(), measured.ok() ? "" : measured.error().sentence().c_str());
    QCOMPARE(measured->settings.size(), std::size_t{1}); // of one core
    const auto& tables = measured->settings.front().tables;
    for (const char* table :
         {"linear/forward/fp32", "linear/backward/fp32", "conv2d/forward/fp32",
          "conv2d/backward/fp32", "attention/forward/fp32", "attention/backward/fp32",
          "relu/forward/fp32", "update", "squares", "copy", "instruction"})
        QVERIFY2(tables.contains(table), table);
    for (const char* transport : {"shared_memory/", "gloo/"})
        for (const char* what :
             {"all_reduce", "all_reduce_elsewhere", "reduce_scatter", "all_gather", "message"})
            QVERIFY2(measured->exchanges.contains(std::string(transport) + what), what);
    QCOMPARE(measured->knows("bf16"), cpuBackendSupports(DType::Bf16));
    QVERIFY(*plan::calibrationFromJson(plan::toJson(*measured)) == *measured);
    // A plan can be priced with it.
    const CalibrationModel model = calibrationModels().front();
    const plan::PlanOutcome outcome =
        plan::makePlan(model.experiment, model.counts, machineFacts(spec::Precision::Fp32));
    const Result<plan::Price> price = plan::priceOf(outcome.plan, *measured, {});
    QVERIFY(price.ok());
    QVERIFY(price->stepSeconds > 0 && price->stepSeconds < 1);
}

void CalibrateTest::keptAndRead() {
    QVERIFY(!readCalibration(file(), kKey));
    QVERIFY(writeCalibration(file(), some()).ok()); // makes the folder
    QVERIFY(*readCalibration(file(), kKey) == some());
}

void CalibrateTest::damagedOrOfAnotherMachineIsNotThere() {
    QVERIFY(writeCalibration(file(), some()).ok());
    for (const plan::CalibrationKey& other :
         {plan::CalibrationKey{"1.1", kKey.machine, 2}, plan::CalibrationKey{"1.0", "newer", 2},
          plan::CalibrationKey{"1.0", kKey.machine, 4}})
        QVERIFY(!readCalibration(file(), other));
    fs::resize_file(file(), fs::file_size(file()) / 2);
    QVERIFY(!readCalibration(file(), kKey));
    QVERIFY(!readCalibration({}, kKey));
    QVERIFY(!readCalibration(file().parent_path(), kKey)); // a folder
    QVERIFY(writeCalibration(file(), some()).ok());
    QVERIFY(readCalibration(file(), kKey));
}

void CalibrateTest::aFolderThatCannotBeWritten() {
    QVERIFY(!writeCalibration({}, some()).ok());
    const fs::path blocked = fs::path(m_folder.path().toStdString()) / "file";
    std::ofstream(blocked) << "x"; // where a folder should be; also the superuser cannot
    const Result<void> written = writeCalibration(blocked / "c.json", some());
    QVERIFY(!written.ok());
    QVERIFY(!written.error().sentence().empty());
    QVERIFY(fs::is_regular_file(blocked));
}

QTEST_GUILESS_MAIN(CalibrateTest)
#include "tst_calibrate.moc"
