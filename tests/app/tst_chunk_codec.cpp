// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Every bit of every point comes back, the compact forms are taken where they fit, and damaged
// bytes are refused without reading past them.
#include "app/store/chunk_codec.h"

#include <QTest>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace trainyard::app;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

Points make(std::vector<std::int64_t> steps, std::vector<double> values) {
    return {0, std::move(steps), std::move(values)};
}

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
    std::vector<std::uint64_t> result;
    for (double value : values)
        result.push_back(std::bit_cast<std::uint64_t>(value));
    return result;
}

void roundTrip(const Points& points) {
    const std::string chunk = encodeChunk(points.steps, points.values);
    Points back;
    QVERIFY(decodeChunk(chunk, back));
    QCOMPARE(back.steps, points.steps);
    QCOMPARE(bits(back.values), bits(points.values));
}

std::vector<std::int64_t> stride(std::size_t n, std::int64_t first = 1, std::int64_t by = 1) {
    std::vector<std::int64_t> steps;
    for (std::size_t i = 0; i < n; ++i)
        steps.push_back(first + static_cast<std::int64_t>(i) * by);
    return steps;
}

} // namespace

class ChunkCodecTest : public QObject {
    Q_OBJECT
private slots:
    void specialValues();
    void extremeSteps();
    void randomData();
    void sizes();
    void heads();
    void damageIsRefused();
};

void ChunkCodecTest::specialValues() {
    const double payloadNaN = std::bit_cast<double>(0x7ff8dead0000beefull);
    const double signalling = std::bit_cast<double>(0x7ff0000000000001ull);
    const std::vector<double> all = {1,
                                     kNaN,
                                     kInf,
                                     -kInf,
                                     0,
                                     1e-320,
                                     -0.0,
                                     payloadNaN,
                                     signalling,
                                     5e-324,
                                     1.7976931348623157e308,
                                     0.1};
    roundTrip(make(stride(all.size()), all));
    for (double value : all) {
        roundTrip(make({7}, {value}));
        roundTrip(make({1, 2}, {value, value}));
        roundTrip(make({1, 2, 4}, {1, value, 2}));
        roundTrip(make({1, 2, 4}, {0.1, value, 2}));
    }
    roundTrip(make({1, 2}, {0.0, -0.0})); // equal as numbers, not the same
}

void ChunkCodecTest::extremeSteps() {
    roundTrip(make({kLowest, kHighest}, {1, 2}));
    roundTrip(make({kHighest, kLowest, 0}, {1, 2, 3}));
    roundTrip(make({5, 4, 3, 2}, {1, 2, 3, 4}));
    roundTrip(make({3, 3, 3}, {1, 2, 3}));
    roundTrip(make({100, 101, 50, 51}, {1, 2, 3, 4}));
    roundTrip(make({0, 1, (std::int64_t{1} << 32) - 1}, {1, 2, 3}));
    roundTrip(make({0, 1, std::int64_t{1} << 32}, {1, 2, 3}));
    roundTrip(make({1, 2}, {9007199254740992.0, -9007199254740992.0}));
    roundTrip(make({1, 2}, {1.79e15, 1.79e15 + 4294967295.0}));
    roundTrip(make({1, 2}, {1.79e15, 1.79e15 + 4294967296.0}));
}

void ChunkCodecTest::randomData() {
    std::mt19937_64 random(20260729);
    for (int round = 0; round < 3000; ++round) {
        Points points;
        const std::size_t n = 1 + random() % (round % 10 == 0 ? 1024 : 40);
        const auto stepKind = random() % 4;
        const auto valueKind = random() % 5;
        std::int64_t step = static_cast<std::int64_t>(random() % 1000);
        for (std::size_t i = 0; i < n; ++i) {
            step += stepKind == 0 ? 3 : static_cast<std::int64_t>(random() % 9);
            points.steps.push_back(stepKind == 3   ? static_cast<std::int64_t>(random())
                                   : stepKind == 2 ? static_cast<std::int64_t>(random() % 500)
                                                   : step);
            const double real = std::bit_cast<double>(random());
            points.values.push_back(valueKind == 0 ? real // any bits at all
                                    : valueKind == 1
                                        ? static_cast<double>(static_cast<float>(random() % 97) / 7)
                                    : valueKind == 2 ? static_cast<double>(random() % 100000)
                                    : valueKind == 3 ? 0.25
                                                     : static_cast<double>(random() % 1000) / 10);
        }
        roundTrip(points);
    }
}

void ChunkCodecTest::sizes() {
    std::vector<double> singles;
    std::vector<double> doubles;
    std::vector<double> counts;
    for (int i = 0; i < 1024; ++i) {
        singles.push_back(static_cast<double>(1.0f / static_cast<float>(i + 1)));
        doubles.push_back(1.0 / (i + 3));
        counts.push_back(1.79e15 + i * 1000.0);
    }
    const std::vector<double> constant(1024, 0.001);
    const auto even = stride(1024, 1, 10);
    auto uneven = even;
    uneven[5] += 1;
    QCOMPARE(encodeChunk(even, constant).size(), std::size_t{8 + 16 + 8});
    QCOMPARE(encodeChunk(even, singles).size(), std::size_t{8 + 16 + 4096});
    QCOMPARE(encodeChunk(even, counts).size(), std::size_t{8 + 16 + 8 + 4096});
    QCOMPARE(encodeChunk(even, doubles).size(), std::size_t{8 + 16 + 8192});
    QCOMPARE(encodeChunk(uneven, singles).size(), std::size_t{8 + 8 + 4096 + 4096});
}

void ChunkCodecTest::heads() {
    const std::vector<std::int64_t> steps = {9, 3, 4, 5};
    const std::vector<double> values = {kNaN, -2, kInf, 7};
    const ChunkHead head = headOf(steps, values);
    QCOMPARE(head.lowestStep, 3);
    QCOMPARE(head.highestStep, 9);
    QCOMPARE(head.lo, -2.0);
    QCOMPARE(head.hi, 7.0);
    QCOMPARE(head.notFinite, 2);
    const std::vector<double> none = {kNaN, kInf, -kInf, kNaN};
    QVERIFY(std::isnan(headOf(steps, none).lo));
    QVERIFY(std::isnan(headOf(steps, none).hi));
}

void ChunkCodecTest::damageIsRefused() {
    std::vector<std::string> chunks;
    chunks.push_back(encodeChunk(stride(20), std::vector<double>(20, 0.5)));
    chunks.push_back(
        encodeChunk(std::vector<std::int64_t>{1, 2, 4}, std::vector<double>{0.1, 2, 3}));
    chunks.push_back(encodeChunk(std::vector<std::int64_t>{kLowest, 0, kHighest},
                                 std::vector<double>{1, 2, 300}));
    for (const std::string& chunk : chunks) {
        Points points = make({42}, {4.2});
        for (std::size_t size = 0; size < chunk.size(); ++size) // cut anywhere
            QVERIFY(!decodeChunk(std::string_view(chunk).substr(0, size), points));
        QVERIFY(!decodeChunk(chunk + '\0', points)); // too long
        std::string other = chunk;
        other[0] = 2; // a version to come
        QVERIFY(!decodeChunk(other, points));
        other = chunk;
        other[1] = 9; // no such form
        QVERIFY(!decodeChunk(other, points));
        other = chunk;
        other[7] = '\x7f'; // two billion points
        QVERIFY(!decodeChunk(other, points));
        QCOMPARE(points, make({42}, {4.2}));
    }
    std::mt19937 random(5);
    for (int round = 0; round < 20000; ++round) { // must not crash; the address sanitizer looks on
        std::string noise = chunks[static_cast<std::size_t>(round) % chunks.size()];
        noise[random() % noise.size()] = static_cast<char>(random());
        Points points;
        if (decodeChunk(noise, points))
            QCOMPARE(points.steps.size(), points.values.size());
        else
            QVERIFY(points.empty());
    }
}

QTEST_GUILESS_MAIN(ChunkCodecTest)
#include "tst_chunk_codec.moc"
