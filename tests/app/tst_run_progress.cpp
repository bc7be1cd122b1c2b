// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Progress and the time that is left, from events with made-up clocks.
#include "app/run/run_progress.h"

#include <QTest>

using namespace trainyard;
using namespace trainyard::app;

namespace {

constexpr std::int64_t kMs = 1'000'000;

spec::Metrics training(std::int64_t step, double loss = 1) {
    return {step, static_cast<double>(step) / 100, step * 10, {{spec::metric::kTrainLoss, loss}}};
}

spec::Metrics validation(std::int64_t step) {
    return {step, static_cast<double>(step) / 100, step * 10, {{spec::metric::kValidationLoss, 2}}};
}

/// 100 steps an epoch, 4 epochs; 1,000 training and 100 validation samples.
ProgressMeter scheduled() {
    ProgressMeter meter;
    meter.take(spec::Schedule{1, 400, 100, 4, 1000, 100}, 0);
    return meter;
}

} // namespace

class TestRunProgress : public QObject {
    Q_OBJECT

private slots:
    void unknownAtFirst() {
        ProgressMeter meter = scheduled();
        QVERIFY(!meter.progress().secondsLeft);
        meter.take(training(1), 10 * kMs);
        QVERIFY(!meter.progress().secondsLeft); // one step tells no pace
        QCOMPARE(meter.progress().currentEpoch(), 1);
    }

    void evenPace() {
        ProgressMeter meter = scheduled();
        for (std::int64_t step = 1; step <= 50; ++step)
            meter.take(training(step), step * 10 * kMs);
        // 350 steps of 10 ms; four validations guessed as a third of 100 * 100 / 1000 steps each.
        QVERIFY(qAbs(*meter.progress().secondsLeft - (3.5 + 4 * 0.1 / 3)) < 1e-6);
    }

    void measuredValidationsCount() {
        ProgressMeter meter = scheduled();
        std::int64_t now = 0;
        for (std::int64_t step = 1; step <= 100; ++step)
            meter.take(training(step), now += 10 * kMs);
        // The first validation is still to come.
        QVERIFY(qAbs(*meter.progress().secondsLeft - (3.0 + 4 * 0.1 / 3)) < 1e-6);
        meter.take(validation(100), now += 2000 * kMs);
        QVERIFY(qAbs(*meter.progress().secondsLeft - (3.0 + 3 * 2.0)) < 1e-6);
        // The pause does not slow down the pace of the steps.
        meter.take(training(101), now += 10 * kMs);
        QVERIFY(qAbs(*meter.progress().secondsLeft - (2.99 + 3 * 2.0)) < 1e-6);
        QCOMPARE(meter.progress().currentEpoch(), 2);
    }

    void theLastValidationOfACutEpoch() {
        ProgressMeter meter;
        meter.take(spec::Schedule{1, 150, 100, 4, 1000, 100}, 0); // stopped by max_steps
        std::int64_t now = 0;
        for (std::int64_t step = 1; step <= 100; ++step)
            meter.take(training(step), now += 10 * kMs);
        meter.take(validation(100), now += 1000 * kMs);
        QVERIFY(qAbs(*meter.progress().secondsLeft - (0.5 + 1.0)) < 1e-6);
    }

    void oldStepsAreForgotten() {
        ProgressMeter meter;
        meter.take(spec::Schedule{1, 100'000, 100'000, 1, 1000, 0}, 0);
        std::int64_t now = 0;
        std::int64_t step = 0;
        for (; step < 100; ++step)
            meter.take(training(step + 1), now += 1000 * kMs); // slow at first
        for (; step < 3100; ++step)
            meter.take(training(step + 1), now += 10 * kMs);
        QVERIFY(qAbs(*meter.progress().secondsLeft - 969.0) < 1.0);
    }

    void sparseReports() {
        ProgressMeter meter;
        meter.take(spec::Schedule{1, 1000, 1000, 1, 1000, 0}, 0);
        for (std::int64_t step = 100; step <= 500; step += 100)
            meter.take(training(step), step * 10 * kMs);
        QVERIFY(qAbs(*meter.progress().secondsLeft - 5.0) < 1e-6);
    }

    void goesOnFromTheStore() {
        RunRecord record;
        record.lastStep = 150;
        record.stepsTotal = 400;
        record.stepsPerEpoch = 100;
        record.epochsTotal = 4;
        record.seconds = 7;
        record.startedUtcUs = 1'000'000;
        ProgressMeter meter(record);
        QCOMPARE(meter.progress().step, 150);
        QCOMPARE(meter.progress().currentEpoch(), 2);
        QCOMPARE(meter.progress().seconds, 7.0);
        meter.take(training(151), 10'000 * kMs);
        QCOMPARE(meter.progress().seconds, 9.0);
    }

    void lossesComeAsTheyAre() {
        ProgressMeter meter = scheduled();
        meter.take(training(1, std::numeric_limits<double>::quiet_NaN()), kMs);
        QVERIFY(std::isnan(*meter.progress().trainLoss));
    }
};

QTEST_GUILESS_MAIN(TestRunProgress)
#include "tst_run_progress.moc"
