// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Superseded points, x axes, summaries, the state of a run from its nodes, and times of odd clocks.
#include "app/store/points.h"
#include "app/store/run_record.h"
#include "app/store/series_summary.h"
#include "app/store/store_columns.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace trainyard;
using namespace trainyard::app;

namespace {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
} // namespace

class PointsTest : public QObject {
    Q_OBJECT
private slots:
    void risingPointsAreTheLine();
    void anEarlierStepSupersedesWhatFollowed();
    void stepReportedTwiceKeepsTheLater();
    void axesGiveTheirColumns();
    void summaryOfSpecialValues();
    void sparklineKeepsItsSizeAndMean();
    void sparklineDoesNotDependOnPauses();
    void bestFollowsTheMetric();
    void statusOfSeveralNodes();
    void durationsAreNeverNegative();
};

void PointsTest::risingPointsAreTheLine() {
    const Points points{5, {1, 2, 7}, {3, 2, 1}};
    const LiveLine live = liveLine(points);
    QCOMPARE(live.line, points);
    QVERIFY(live.superseded.empty());
    QVERIFY(liveLine({}).line.empty());
}

void PointsTest::anEarlierStepSupersedesWhatFollowed() {
    Points points;
    for (int step = 1; step <= 150; ++step) {
        points.steps.push_back(step);
        points.values.push_back(step);
    }
    for (int step = 101; step <= 200; ++step) {
        points.steps.push_back(step);
        points.values.push_back(1000 + step);
    }
    const LiveLine live = liveLine(points);
    QCOMPARE(live.line.size(), std::size_t{200});
    QCOMPARE(live.line.values[99], 100.0);
    QCOMPARE(live.line.values[100], 1101.0);
    QCOMPARE(live.superseded.size(), std::size_t{1});
    QCOMPARE(live.superseded[0].steps.front(), 101);
    QCOMPARE(live.superseded[0].steps.back(), 150);
    QVERIFY(std::is_sorted(live.line.steps.begin(), live.line.steps.end()));
}

void PointsTest::stepReportedTwiceKeepsTheLater() {
    const LiveLine live = liveLine({0, {1, 2, 2, 3}, {1, 2, 22, 3}});
    QCOMPARE(live.line, (Points{0, {1, 2, 3}, {1, 22, 3}}));
    QCOMPARE(live.superseded.size(), std::size_t{1});
}

void PointsTest::axesGiveTheirColumns() {
    const Axes axes{{10, 20, 30}, {1, 2, 3}, {640, 1280, 1920}, {5e6, 7e6, 8.5e6}};
    const std::vector<std::int64_t> steps = {5, 10, 25, 30, 99};
    QCOMPARE(along(XAxis::Step, steps, axes), (std::vector<double>{5, 10, 25, 30, 99}));
    const auto epochs = along(XAxis::Epoch, steps, axes);
    QVERIFY(std::isnan(epochs[0]));
    QCOMPARE(std::vector<double>(epochs.begin() + 1, epochs.end()),
             (std::vector<double>{1, 2, 3, 3}));
    const auto seconds = along(XAxis::Seconds, {10, 20, 30}, axes);
    QCOMPARE(seconds, (std::vector<double>{0, 2, 3.5}));
    QCOMPARE(along(XAxis::Samples, {30, 10}, axes), (std::vector<double>{1920, 640}));
}

void PointsTest::summaryOfSpecialValues() {
    SeriesSummary summary;
    QVERIFY(!bestOf(u"val_loss"_qs, summary));
    const std::vector<double> values = {1, kNaN, kInf, -kInf, 0, 1e-320};
    for (std::size_t i = 0; i < values.size(); ++i)
        summary.add(static_cast<std::int64_t>(i) + 1, values[i]);
    QCOMPARE(summary.count, 6);
    QCOMPARE(summary.notFinite, 3);
    QCOMPARE(summary.lo, 0.0);
    QCOMPARE(summary.loStep, 5);
    QCOMPARE(summary.hi, 1.0);
    QCOMPARE(summary.hiStep, 1);
    QVERIFY(summary.last == 1e-320);
}

void PointsTest::sparklineKeepsItsSizeAndMean() {
    Sparkline spark;
    for (int i = 0; i < 48 * 1024; ++i)
        spark.add(i % 2 == 0 ? 1 : 3);
    const std::vector<float> values = spark.values();
    QVERIFY(values.size() >= 24 && values.size() <= 48);
    for (float value : values)
        QCOMPARE(value, 2.0f);
    Sparkline none;
    for (int i = 0; i < 100; ++i)
        none.add(kNaN);
    QVERIFY(std::isnan(none.values().front()));
    Sparkline huge;
    for (int i = 0; i < 100; ++i)
        huge.add(1e300);
    for (float value : huge.values())
        QVERIFY(std::isfinite(value));
}

void PointsTest::sparklineDoesNotDependOnPauses() {
    Sparkline whole;
    Sparkline pieces;
    for (int i = 0; i < 1000; ++i) {
        const double value = i % 7 == 0 ? kNaN : std::sin(i);
        whole.add(value);
        pieces = Sparkline::unpack(pieces.pack());
        pieces.add(value);
    }
    QCOMPARE(pieces.pack(), whole.pack());
    QCOMPARE(Sparkline::unpack("short").values().size(), std::size_t{0});
}

void PointsTest::bestFollowsTheMetric() {
    QCOMPARE(directionOf(u"val_loss"_qs), Direction::Lower);
    QCOMPARE(directionOf(u"val_accuracy"_qs), Direction::Higher);
    QCOMPARE(directionOf(u"Top5/acc"_qs), Direction::Higher);
    QCOMPARE(directionOf(u"learning_rate"_qs), Direction::None);
    QCOMPARE(directionOf(u"accumulated_norm"_qs), Direction::None); // "acc" only as a word
    SeriesSummary summary;
    summary.add(1, 0.5);
    summary.add(2, 0.9);
    summary.add(3, 0.9);
    QCOMPARE(bestOf(u"val_accuracy"_qs, summary)->value, 0.9);
    QCOMPARE(bestOf(u"val_accuracy"_qs, summary)->step, 2);
    QCOMPARE(bestOf(u"val_loss"_qs, summary)->value, 0.5);
    QVERIFY(!bestOf(u"learning_rate"_qs, summary));
}

void PointsTest::statusOfSeveralNodes() {
    using spec::RunState;
    QCOMPARE(combinedStatus({}, false), RunStatus::Created);
    QCOMPARE(combinedStatus({std::nullopt}, false), RunStatus::Created);
    QCOMPARE(combinedStatus({RunState::Running, RunState::Starting}, false), RunStatus::Running);
    QCOMPARE(combinedStatus({RunState::Running, RunState::Failed}, false), RunStatus::Failed);
    QCOMPARE(combinedStatus({RunState::Stopped, RunState::Failed}, false), RunStatus::Failed);
    QCOMPARE(combinedStatus({RunState::Finished, RunState::Running}, false), RunStatus::Running);
    QCOMPARE(combinedStatus({RunState::Finished, RunState::Finished}, false), RunStatus::Finished);
    QCOMPARE(combinedStatus({RunState::Running}, true), RunStatus::Crashed);
    // What the run said itself has precedence over what somebody concluded.
    QCOMPARE(combinedStatus({RunState::Finished}, true), RunStatus::Finished);
    for (RunStatus status : {RunStatus::Created, RunStatus::Starting, RunStatus::Running,
                             RunStatus::Stopping, RunStatus::Finished, RunStatus::Failed,
                             RunStatus::Stopped, RunStatus::Diverged, RunStatus::Crashed})
        QCOMPARE(runStatusFromName(nameOf(status)), status);
}

void PointsTest::durationsAreNeverNegative() {
    const std::int64_t created = 1'000'000'000;
    RunTimes behind(created, std::nullopt); // the node's clock is five minutes behind
    behind.addNode(created - 300'000'000, created - 290'000'000);
    QCOMPARE(*behind.startedUs(), created);
    QCOMPARE(behind.seconds(), 10.0);
    QCOMPARE(*behind.endedUs(RunStatus::Finished), created + 10'000'000);
    QVERIFY(!behind.endedUs(RunStatus::Running));

    RunTimes ahead(created, 4.0); // the run has measured its time itself
    ahead.addNode(created + 300'000'000, created + 310'000'000);
    QCOMPARE(ahead.seconds(), 4.0);
    QVERIFY(*ahead.endedUs(RunStatus::Failed) >= *ahead.startedUs());
    QVERIFY(!RunTimes(created, std::nullopt).startedUs());
}

QTEST_GUILESS_MAIN(PointsTest)
#include "tst_points.moc"
