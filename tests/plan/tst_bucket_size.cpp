// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Sizes of buckets: from made-up latencies and bandwidths, and what they change in a plan.
#include "engine/plan/bucket_size.h"
#include "engine/plan/plan.h"
#include "tests/support/experiments.h"

#include <QtTest>

#include <cmath>

using namespace trainyard;
using namespace trainyard::plan;

namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = kKiB * 1024;

/// Exchanges that take `latency` seconds and the time of their bytes.
Calibration calibrated(const char* transport, double latency, double bytesPerSecond) {
    Calibration calibration;
    CalibrationTable& table = calibration.exchanges[std::string(transport) + "/all_reduce"];
    for (const std::size_t size : {8 * kMiB, 2 * kMiB, 512 * kKiB, 64 * kKiB, 4 * kKiB}) {
        const auto bytes = static_cast<double>(size);
        table.push_back({{std::log2(bytes)}, bytes, latency + bytes / bytesPerSecond});
    }
    table.push_back({{0}, 1, latency});
    return calibration;
}

/// Parameters of 1.2 MB.
spec::Experiment dense(const test::Settings& settings) {
    spec::Experiment experiment = test::smallExperiment(settings);
    experiment.model.inputShape = {128};
    experiment.model.layers.clear();
    for (int i = 0; i < 18; ++i)
        experiment.model.layers.push_back(test::layer("dense" + std::to_string(i), "linear",
                                                      {{"out_features", test::whole(128)}}));
    return experiment;
}

Plan planOf(const test::Settings& settings, const MachineFacts& machine = {}) {
    return makePlan(dense(settings), {1'000, 0, {128}, 128}, machine).plan;
}

} // namespace

class BucketSizeTest : public QObject {
    Q_OBJECT

private slots:
    void latencyIsASmallShare_data();
    void latencyIsASmallShare();
    void whatWasNotMeasured();
    void disturbedMeasurement();
    void planTakesTheOneOfItsTransport();
    void smallerBucketsAreMore();
};

void BucketSizeTest::latencyIsASmallShare_data() {
    QTest::addColumn<double>("latency");
    QTest::addColumn<double>("bytesPerSecond");
    QTest::addColumn<std::size_t>("bytes");
    QTest::newRow("TCP on one host") << 50e-6 << 1e9 << kMiB;           // 20 a b = 1.0e6
    QTest::newRow("TCP, slower to begin") << 120e-6 << 1e9 << 4 * kMiB; // 2.4e6
    QTest::newRow("shared memory") << 3e-6 << 5e9 << 512 * kKiB;        // 3.0e5
    QTest::newRow("no latency") << 1e-9 << 1e9 << 64 * kKiB;
    QTest::newRow("far away") << 0.05 << 1e10 << 25 * kMiB;
}

void BucketSizeTest::latencyIsASmallShare() {
    QFETCH(double, latency);
    QFETCH(double, bytesPerSecond);
    QTEST(automaticBucketBytes(calibrated("gloo", latency, bytesPerSecond), "gloo"), "bytes");
}

void BucketSizeTest::whatWasNotMeasured() {
    QCOMPARE(automaticBucketBytes({}, "gloo"), std::size_t{0});
    QCOMPARE(automaticBucketBytes(calibrated("gloo", 50e-6, 1e9), "shared_memory"), std::size_t{0});
    Calibration odd = calibrated("gloo", 0, 1e9); // no latency at all is no measurement
    QCOMPARE(automaticBucketBytes(odd, "gloo"), std::size_t{0});
    odd.exchanges["gloo/all_reduce"] = {{{10}, 1024, 1e-3}, {{20}, 1 << 20, 1e-4}};
    QCOMPARE(automaticBucketBytes(odd, "gloo"), std::size_t{0}); // more bytes in less time
    MachineFacts machine{.bucketBytes = 7};
    setBucketBytes(machine, calibrated("gloo", 50e-6, 1e9));
    QCOMPARE(machine.bucketBytes, std::size_t{7});
    QCOMPARE(machine.networkBucketBytes, kMiB);
}

/// As it was measured beside other programs: the smallest exchange took longer than larger ones.
void BucketSizeTest::disturbedMeasurement() {
    Calibration calibration;
    calibration.exchanges["shared_memory/all_reduce"] = {
        {{6}, 64, 42e-6},        {{12}, 4'096, 1.46e-6},    {{16}, 65'536, 1.55e-6},
        {{19}, 524'288, 101e-6}, {{21}, 2'097'152, 218e-6}, {{23}, 8'388'608, 680e-6}};
    QCOMPARE(automaticBucketBytes(calibration, "shared_memory"), 512 * kKiB);
}

void BucketSizeTest::planTakesTheOneOfItsTransport() {
    const MachineFacts machine{.bucketBytes = 128 * kKiB, .networkBucketBytes = 4 * kMiB};
    QCOMPARE(planOf({}).bucketBytes, kMiB);
    QCOMPARE(planOf({}, machine).bucketBytes, 128 * kKiB);
    QCOMPARE(planOf({{"parallel.transport", "gloo"}}, machine).bucketBytes, 4 * kMiB);
    QCOMPARE(planOf({{"parallel.bucket_bytes", "65536"}}, machine).bucketBytes, 64 * kKiB);
    QVERIFY(planOf({}, machine).hash != planOf({}).hash); // ranks that disagree notice it
}

void BucketSizeTest::smallerBucketsAreMore() {
    const auto buckets = [](const char* bytes) {
        return planOf({{"parallel.bucket_bytes", bytes}}).sectionOf(0).buckets.size();
    };
    QCOMPARE(buckets("26214400"), std::size_t{1});
    QCOMPARE(buckets("0"), std::size_t{2});
    QCOMPARE(buckets("262144"), std::size_t{5}); // four layers of 66,048 bytes each
    QCOMPARE(buckets("4096"), std::size_t{18});
}

QTEST_GUILESS_MAIN(BucketSizeTest)
#include "tst_bucket_size.moc"
