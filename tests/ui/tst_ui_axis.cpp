// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The shared time axis and the places of grid lines.
#include "ui/plots/ticks.h"
#include "ui/plots/time_axis.h"
#include "ui/plots/time_marks.h"

#include <QSignalSpy>
#include <QTest>

using namespace trainyard::ui;

class TestAxis : public QObject {
    Q_OBJECT
private slots:
    void linear();
    void logarithmic();
    void logarithmicSpreadsSmallValues();
    void durations();
    void labels();
    void showsAllUntilZoomed();
    void zoomKeepsTheAnchor();
    void panStopsAtTheData();
    void followsTheNewestPoint();
    void cursorTellsOnce();
    void wholeStepsOnly();
    void marksStaySorted();
};

void TestAxis::linear() {
    for (const auto& [low, high] : std::vector<std::pair<double, double>>{
             {0, 1}, {0.1, 0.37}, {-3, 12}, {1e6, 1.0001e6}, {-1e-9, 3e-9}, {0, 4e12}}) {
        for (int count : {2, 5, 9}) {
            const Ticks ticks = linearTicks(low, high, count);
            QVERIFY(!ticks.values.empty());
            QVERIFY(static_cast<int>(ticks.values.size()) <= count + 1);
            for (const double value : ticks.values)
                QVERIFY(value >= low - 1e-6 * (high - low) && value <= high + 1e-6 * (high - low));
        }
    }
    QVERIFY(linearTicks(1, 1, 5).values.empty());
    QVERIFY(linearTicks(0, std::numeric_limits<double>::infinity(), 5).values.empty());
}

void TestAxis::logarithmic() {
    const Ticks loss = logTicks(2.7, 11, 10);
    QCOMPARE(loss.values, (std::vector<double>{3, 4, 5, 6, 8, 10}));
    const Ticks wide = logTicks(1e-12, 1, 6);
    QVERIFY(wide.values.size() >= 4 && wide.values.size() <= 7);
    QCOMPARE(wide.values.back(), 1.0);
    QVERIFY(logTicks(0, 1, 5).values.empty());
    QVERIFY(logTicks(-1, 1, 5).values.empty());
    QVERIFY(!logTicks(2.8, 2.9, 5).values.empty());
}

void TestAxis::logarithmicSpreadsSmallValues() {
    const Ticks ticks = logTicks(1e-12, 0.1, 12);
    QVERIFY(ticks.values.size() >= 10);
    for (std::size_t i = 1; i < ticks.values.size(); ++i)
        QVERIFY(std::abs(ticks.values[i] / ticks.values[i - 1] - 10) < 1e-6);
}

void TestAxis::durations() {
    const Ticks hours = durationTicks(0, 57600, 18);
    QCOMPARE(hours.step, 3600.0);
    QCOMPARE(durationLabel(hours.values[5], hours.step), QStringLiteral("05:00"));
    const Ticks seconds = durationTicks(0, 100, 8);
    QCOMPARE(seconds.step, 15.0);
    QCOMPARE(durationLabel(90, seconds.step), QStringLiteral("01:30"));
    QCOMPARE(durationTicks(0, 0.9, 5).step, 0.2);
    QVERIFY(durationTicks(0, 9e7, 10).values.size() <= 11);
}

void TestAxis::labels() {
    const QLocale english(QLocale::English);
    const Ticks small = linearTicks(0, 0.8, 8);
    QCOMPARE(tickLabel(0.1, small, english), QStringLiteral("0.1"));
    QCOMPARE(tickLabel(-0.2, small, english), QStringLiteral("−0.2"));
    QCOMPARE(tickLabel(0.1, small, QLocale(QLocale::German)), QStringLiteral("0,1"));
    const Ticks large = linearTicks(0, 11e6, 11);
    QCOMPARE(tickLabel(2e6, large, english), QStringLiteral("2\u202FM"));
    QCOMPARE(tickLabel(0, large, english), QStringLiteral("0"));
    const Ticks logarithmic = logTicks(1e-7, 10, 20);
    QCOMPARE(tickLabel(0.01, logarithmic, english), QStringLiteral("0.01"));
    QCOMPARE(tickLabel(1e-7, logarithmic, english), QStringLiteral("1e−7"));
}

void TestAxis::showsAllUntilZoomed() {
    TimeAxis axis;
    QVERIFY(!axis.hasData());
    QSignalSpy extended(&axis, &TimeAxis::extended);
    axis.include(5);
    QVERIFY(axis.visible().width() > 0);
    axis.include(105);
    axis.include(50);
    QCOMPARE(extended.count(), 2);
    QCOMPARE(axis.visible(), (AxisRange{5, 105}));
    axis.zoom(0.5, 55);
    axis.include(205);
    QVERIFY(axis.isZoomed());
    axis.showAll();
    QCOMPARE(axis.visible(), (AxisRange{5, 205}));
    axis.include(std::nan(""));
    QCOMPARE(axis.extent(), (AxisRange{5, 205}));
}

void TestAxis::zoomKeepsTheAnchor() {
    TimeAxis axis;
    axis.include(0);
    axis.include(1000);
    axis.zoom(0.25, 400);
    QCOMPARE(axis.visible().width(), 250.0);
    QCOMPARE((400 - axis.visible().low) / axis.visible().width(), 0.4);
    axis.zoom(100, 400);
    QCOMPARE(axis.visible(), (AxisRange{0, 1000}));
    QVERIFY(!axis.isZoomed());
    for (int i = 0; i < 200; ++i)
        axis.zoom(0.5, 400);
    QVERIFY(axis.visible().width() > 0);
}

void TestAxis::panStopsAtTheData() {
    TimeAxis axis;
    axis.include(0);
    axis.include(100);
    axis.show({20, 40});
    axis.pan(1000);
    QCOMPARE(axis.visible(), (AxisRange{80, 100}));
    axis.pan(-1000);
    QCOMPARE(axis.visible(), (AxisRange{0, 20}));
}

void TestAxis::followsTheNewestPoint() {
    TimeAxis axis;
    axis.include(0);
    axis.include(100);
    axis.show({80, 100});
    QVERIFY(axis.follows());
    axis.include(110);
    QCOMPARE(axis.visible(), (AxisRange{90, 110}));
    QSignalSpy follow(&axis, &TimeAxis::followChanged);
    axis.pan(-30);
    QCOMPARE(follow.count(), 1);
    QVERIFY(!axis.follows());
    axis.include(120);
    QCOMPARE(axis.visible(), (AxisRange{60, 80}));
    axis.setFollow(true);
    QCOMPARE(axis.visible(), (AxisRange{100, 120}));
}

void TestAxis::cursorTellsOnce() {
    TimeAxis axis;
    QSignalSpy moved(&axis, &TimeAxis::cursorChanged);
    axis.setCursor(3.0);
    axis.setCursor(3.0);
    QCOMPARE(moved.count(), 1);
    axis.setCursor(std::nullopt);
    QCOMPARE(moved.count(), 2);
}

void TestAxis::wholeStepsOnly() {
    TimeAxis axis;
    axis.include(1);
    axis.include(3);
    for (const double value : axis.ticks(20).values)
        QCOMPARE(value, std::round(value));
    QCOMPARE(axis.positionText(8755), QStringLiteral("step ") + QLocale().toString(8755));
    axis.setUnit(TimeAxis::Unit::Duration);
    QVERIFY(!axis.hasData());
    QCOMPARE(axis.positionText(27072), QStringLiteral("07:31:12"));
}

void TestAxis::marksStaySorted() {
    TimeMarks marks;
    QSignalSpy changed(&marks, &TimeMarks::changed);
    for (const double x : {5.0, 1.0, 3.0})
        marks.addMark({x, MarkKind::Checkpoint, {}});
    QCOMPARE(changed.count(), 3);
    QVERIFY(marks.marks()[0].x == 1 && marks.marks()[1].x == 3 && marks.marks()[2].x == 5);
    marks.addSpan({2, std::nullopt, State::Paused});
    marks.closeSpan(4);
    QCOMPARE(*marks.spans().front().high, 4.0);
}

QTEST_GUILESS_MAIN(TestAxis)
#include "tst_ui_axis.moc"
