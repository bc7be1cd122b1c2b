// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The pyramid must say of any range what looking at every point would say, and smoothing must be
// the debiased mean of the raw points.
#include "ui/plots/curve_data.h"
#include "ui/plots/smoothing.h"

#include <QTest>

#include <cmath>
#include <random>

using namespace trainyard::ui;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

CurveExtent bruteForce(const std::vector<float>& ys, std::size_t begin, std::size_t end) {
    CurveExtent extent;
    for (std::size_t i = begin; i < end; ++i) {
        const float y = ys[i];
        if (std::isfinite(y)) {
            extent.low = std::min(extent.low, y);
            extent.high = std::max(extent.high, y);
        }
        if (std::isfinite(y) && y > 0)
            extent.lowPositive = std::min(extent.lowPositive, y);
        else
            ++extent.hidden;
    }
    return extent;
}

float randomValue(std::mt19937& random) {
    switch (random() % 40) {
    case 0:
        return kNaN;
    case 1:
        return kInf;
    case 2:
        return -kInf;
    case 3:
        return 0;
    default:
        return std::normal_distribution<float>(0.5f, 1)(random);
    }
}

} // namespace

class TestCurveData : public QObject {
    Q_OBJECT
private slots:
    void extentEqualsBruteForce();
    void extentAfterTruncate();
    void positionsRegularAndNot();
    void seekEqualsLowerBound();
    void refusesToRunBack();
    void nonFiniteRuns();
    void spikeSurvivesAnyRange();
    void regularCurveIsSmall();
    void debiasedMean();
    void smoothedFollowsAppendsAndTruncation();
};

void TestCurveData::extentEqualsBruteForce() {
    std::mt19937 random(1);
    std::vector<float> ys;
    CurveData data;
    for (int round = 0; round < 60; ++round) {
        // Odd amounts, so that every level ends in a partly filled entry.
        const int amount = static_cast<int>(random() % (round < 20 ? 20 : 900));
        for (int i = 0; i < amount; ++i) {
            ys.push_back(randomValue(random));
            QVERIFY(data.append(static_cast<double>(ys.size()), ys.back()));
        }
        for (int query = 0; query < 40; ++query) {
            std::size_t a = random() % (ys.size() + 1), b = random() % (ys.size() + 1);
            if (a > b)
                std::swap(a, b);
            QCOMPARE(data.extent(a, b), bruteForce(ys, a, b));
        }
        QCOMPARE(data.extent(0, ys.size() + 5), bruteForce(ys, 0, ys.size()));
    }
    QVERIFY(ys.size() > 16 * 16 * 16);
}

void TestCurveData::extentAfterTruncate() {
    std::mt19937 random(2);
    std::vector<float> ys;
    CurveData data;
    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 700; ++i) {
            ys.push_back(randomValue(random));
            data.append(static_cast<double>(ys.size()), ys.back());
        }
        const std::size_t keep = random() % ys.size();
        const std::uint64_t generation = data.generation();
        ys.resize(keep);
        data.truncate(keep);
        QVERIFY(data.generation() != generation);
        QCOMPARE(data.size(), keep);
        QCOMPARE(data.extent(0, keep), bruteForce(ys, 0, keep));
        QCOMPARE(data.extent(keep / 3, keep), bruteForce(ys, keep / 3, keep));
        std::size_t counted = 0;
        for (const NonFiniteRun& run : data.nonFiniteRuns())
            counted += run.end - run.begin;
        QCOMPARE(counted, static_cast<std::size_t>(std::count_if(
                              ys.begin(), ys.end(), [](float y) { return !std::isfinite(y); })));
    }
}

void TestCurveData::positionsRegularAndNot() {
    CurveData data;
    for (int i = 0; i < 100; ++i)
        QVERIFY(data.append(10 + 5 * i, 1));
    QCOMPARE(data.x(7), 45.0);
    QCOMPARE(data.lowerBound(9), std::size_t(0));
    QCOMPARE(data.lowerBound(45), std::size_t(7));
    QCOMPARE(data.lowerBound(45.1), std::size_t(8));
    QCOMPARE(data.lowerBound(1e9), std::size_t(100));
    // One odd step, and every x is still what was given.
    QVERIFY(data.append(507, 1));
    QVERIFY(data.append(507, 2));
    QCOMPARE(data.x(7), 45.0);
    QCOMPARE(data.x(100), 507.0);
    QCOMPARE(data.lowerBound(507), std::size_t(100));
    QCOMPARE(*data.nearest(46), std::size_t(7));
    QCOMPARE(*data.nearest(-5), std::size_t(0));
    QCOMPARE(*data.nearest(1e9), std::size_t(101));
    QVERIFY(!CurveData().nearest(1));
}

void TestCurveData::seekEqualsLowerBound() {
    std::mt19937 random(3);
    CurveData data;
    double x = 0;
    for (int i = 0; i < 5000; ++i) {
        x += random() % 50 == 0 ? 400.0 : static_cast<double>(random() % 3);
        data.append(x, 0);
    }
    for (int query = 0; query < 4000; ++query) {
        const std::size_t from = random() % data.size();
        const std::size_t guess = random() % (data.size() + 10);
        const double value = data.x(from) + static_cast<double>(random() % 3000) / 2;
        QCOMPARE(data.seek(from, guess, value), std::max(from, data.lowerBound(value)));
    }
}

void TestCurveData::refusesToRunBack() {
    CurveData data;
    QVERIFY(data.append(5, 1));
    QVERIFY(!data.append(4, 1));
    QVERIFY(!data.append(std::nan(""), 1));
    QVERIFY(data.append(5, 2));
    QCOMPARE(data.size(), std::size_t(2));
}

void TestCurveData::nonFiniteRuns() {
    CurveData data;
    const std::vector<float> ys{1, kNaN, kNaN, kInf, -kInf, 2, kNaN};
    for (std::size_t i = 0; i < ys.size(); ++i)
        data.append(static_cast<double>(i), ys[i]);
    const auto runs = data.nonFiniteRuns();
    QCOMPARE(runs.size(), std::size_t(4));
    QCOMPARE(runs[0].begin, std::size_t(1));
    QCOMPARE(runs[0].end, std::size_t(3));
    QVERIFY(runs[1].kind == NonFinite::PlusInfinity);
    QVERIFY(runs[2].kind == NonFinite::MinusInfinity);
    QCOMPARE(*data.lastFinite(), std::size_t(5));
    QVERIFY(std::isnan(data.y(6)));
    QCOMPARE(data.y(3), kInf);
    CurveData none;
    none.append(0, kNaN);
    QVERIFY(!none.lastFinite());
}

void TestCurveData::spikeSurvivesAnyRange() {
    CurveData data;
    const std::size_t count = 100000, spike = 77777;
    for (std::size_t i = 0; i < count; ++i)
        data.append(static_cast<double>(i), i == spike ? 1000.f : 1.f);
    for (std::size_t width = 1; width < count; width = width * 3 + 1) {
        const std::size_t begin = spike - std::min(spike, width / 2);
        QCOMPARE(data.extent(begin, spike + width).high, 1000.f);
        QCOMPARE(data.extent(0, spike).high, 1.f);
        QCOMPARE(data.extent(spike + 1, count).high, 1.f);
    }
}

void TestCurveData::regularCurveIsSmall() {
    CurveData data;
    const std::size_t count = 1 << 20;
    for (std::size_t i = 0; i < count; ++i)
        data.append(static_cast<double>(i + 1), static_cast<float>(i));
    // 4 bytes a value and about 1.1 for the pyramid; vectors may hold twice what they need.
    QVERIFY2(data.bytes() < count * 11, qPrintable(QString::number(data.bytes())));
}

void TestCurveData::debiasedMean() {
    DebiasedMean mean(0.9);
    QCOMPARE(mean.add(10), 10.0);
    QVERIFY(std::abs(mean.add(1) - 5.263) < 5e-4);
    QVERIFY(std::abs(mean.add(1) - 3.690) < 5e-4);
    DebiasedMean raw(0);
    QCOMPARE(raw.add(3), 3.0);
    QCOMPARE(raw.add(5), 5.0);
    for (const double weight : {0.0, 0.5, 0.9, 1.0, 7.0}) {
        DebiasedMean constant(weight);
        for (int i = 0; i < 5000; ++i)
            QCOMPARE(constant.add(0.3), 0.3);
    }
    // At the end of the slider it still moves, and stays finite.
    DebiasedMean strongest(1.0);
    strongest.add(0);
    for (int i = 0; i < 20000; ++i)
        strongest.add(1);
    const double settled = strongest.add(1);
    QVERIFY(settled > 0.99 && settled <= 1);
}

void TestCurveData::smoothedFollowsAppendsAndTruncation() {
    CurveData data;
    SmoothedCurve smoothed;
    smoothed.setWeight(0.9);
    std::vector<float> ys{10, 1, kNaN, 1, kInf, 4};
    DebiasedMean mean(0.9);
    std::vector<double> expected;
    for (std::size_t i = 0; i < ys.size(); ++i) {
        data.append(static_cast<double>(i), ys[i]);
        smoothed.update(data);
        expected.push_back(std::isfinite(ys[i]) ? mean.add(ys[i]) : std::nan(""));
    }
    QCOMPARE(smoothed.size(), ys.size());
    QCOMPARE(smoothed.value(0), 10.f);
    QVERIFY(std::isnan(smoothed.value(2)) && std::isnan(smoothed.value(4)));
    QCOMPARE(smoothed.value(5), static_cast<float>(expected[5]));
    data.truncate(2);
    for (int i = 2; i < 8; ++i)
        data.append(i, 1);
    smoothed.update(data);
    QCOMPARE(smoothed.size(), std::size_t(8));
    QVERIFY(std::abs(smoothed.value(2) - 3.690f) < 5e-4f);
    smoothed.setWeight(std::nan(""));
    QVERIFY(!smoothed.isOn());

    // The ends of the blocks are the same values, also after taking points away.
    data.clear();
    smoothed.setWeight(0.5);
    for (const int count : {1000, 300}) {
        data.truncate(static_cast<std::size_t>(count) / 2);
        for (int i = static_cast<int>(data.size()); i < count; ++i)
            data.append(i, static_cast<float>(i % 17));
        smoothed.update(data);
        for (std::size_t i = SmoothedCurve::kBlock - 1; i < smoothed.size();
             i += SmoothedCurve::kBlock)
            QCOMPARE(smoothed.blockEnd(i / SmoothedCurve::kBlock), smoothed.value(i));
    }
}

QTEST_GUILESS_MAIN(TestCurveData)
#include "tst_ui_curve_data.moc"
