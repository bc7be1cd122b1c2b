// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Random numbers: the generator is the published one; shuffling is a permutation for every count
// and another one for every seed, stream and epoch.
#include "engine/base/random.h"

#include "engine/base/check.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

using namespace trainyard;

namespace {

std::vector<std::int64_t> order(std::uint64_t seed, RandomStream stream, std::uint64_t epoch,
                                std::int64_t count) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < count; ++i)
        out.push_back(permuted(seed, stream, epoch, i, count));
    return out;
}

bool isPermutation(std::vector<std::int64_t> values) {
    std::sort(values.begin(), values.end());
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] != static_cast<std::int64_t>(i))
            return false;
    return true;
}

} // namespace

class RandomTest : public QObject {
    Q_OBJECT

private slots:
    void philoxGivesThePublishedVectors();
    void streamsSubstreamsStepsAndSeedsDiffer();
    void unitNumbersCoverTheRange();
    void permutedIsABijection_data();
    void permutedIsABijection();
    void permutedStaysInHugeRanges();
    void permutationsDiffer();
    void permutationMixes();
    void permutedRefusesOtherIndices();
};

void RandomTest::philoxGivesThePublishedVectors() {
    // Known answers of Random123 (kat_vectors), the authors' implementation.
    QCOMPARE(philox4x32({0, 0}, {0, 0, 0, 0}),
             (Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    QCOMPARE(philox4x32({~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}),
             (Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    QCOMPARE(philox4x32({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
             (Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

void RandomTest::streamsSubstreamsStepsAndSeedsDiffer() {
    std::set<Philox4> seen;
    int made = 0;
    for (const std::uint64_t seed : {0ull, 1ull, 2ull, 1ull << 32, ~0ull})
        for (const auto stream : {RandomStream::Weights, RandomStream::Shuffle,
                                  RandomStream::Dropout, RandomStream::Split})
            for (const std::uint32_t substream : {0u, 1u, 2u, 1000u})
                for (const std::uint64_t step : {0ull, 1ull, 1ull << 33})
                    for (const std::uint64_t index : {0ull, 1ull, 1ull << 40}) {
                        seen.insert(randomWords(seed, stream, substream, step, index));
                        ++made;
                    }
    QCOMPARE(seen.size(), static_cast<std::size_t>(made));
}

void RandomTest::unitNumbersCoverTheRange() {
    QCOMPARE(unitFloat(0), 0.0f);
    QVERIFY(unitFloat(~0u) < 1.0f);
    QCOMPARE(unitFloat(0x80000000u), 0.5f);
    QCOMPARE(unitDouble(0, 0), 0.0);
    QVERIFY(unitDouble(~0u, ~0u) < 1.0);
    QCOMPARE(unitDouble(0x80000000u, 0), 0.5);

    // The mean of n uniform numbers lies within five standard errors.
    constexpr int kCount = 100'000;
    double sum = 0;
    for (std::uint64_t i = 0; i < kCount; ++i)
        sum += static_cast<double>(unitFloat(randomWords(3, RandomStream::Dropout, 1, 2, i)[0]));
    QVERIFY(std::abs(sum / kCount - 0.5) < 5 * std::sqrt(1.0 / 12 / kCount));
}

void RandomTest::permutedIsABijection_data() {
    QTest::addColumn<int>("from");
    QTest::addColumn<int>("to");
    QTest::newRow("all small counts") << 1 << 300;
    QTest::newRow("around a power of four") << 1020 << 1030;
    QTest::newRow("another") << 4090 << 4100;
    QTest::newRow("Fashion-MNIST") << 60000 << 60001;
}

void RandomTest::permutedIsABijection() {
    QFETCH(int, from);
    QFETCH(int, to);
    for (int count = from; count < to; ++count)
        for (const std::uint64_t epoch : {0ull, 1ull})
            QVERIFY2(isPermutation(order(1, RandomStream::Shuffle, epoch, count)),
                     qPrintable(QString::number(count)));
}

void RandomTest::permutedStaysInHugeRanges() {
    for (const std::int64_t count :
         {std::int64_t{1} << 31, (std::int64_t{1} << 40) + 1, std::int64_t{1} << 61}) {
        std::set<std::int64_t> seen;
        for (std::int64_t i = 0; i < 1000; ++i) {
            const std::int64_t value = permuted(1, RandomStream::Shuffle, 0, count - 1 - i, count);
            QVERIFY(value >= 0 && value < count);
            seen.insert(value);
        }
        QCOMPARE(seen.size(), std::size_t{1000});
    }
}

void RandomTest::permutationsDiffer() {
    const auto first = order(1, RandomStream::Shuffle, 0, 1000);
    QCOMPARE(order(1, RandomStream::Shuffle, 0, 1000), first); // and repeat
    QVERIFY(order(1, RandomStream::Shuffle, 1, 1000) != first);
    QVERIFY(order(2, RandomStream::Shuffle, 0, 1000) != first);
    QVERIFY(order(1, RandomStream::Split, 0, 1000) != first);
}

void RandomTest::permutationMixes() {
    // Neighbours are torn apart: of 10,000 about 2 in 10,000 stay neighbours by chance.
    const auto mixed = order(1, RandomStream::Shuffle, 0, 10'000);
    int neighbours = 0;
    for (std::size_t i = 1; i < mixed.size(); ++i)
        neighbours += std::abs(mixed[i] - mixed[i - 1]) == 1;
    QVERIFY2(neighbours < 20, qPrintable(QString::number(neighbours)));
    // Each tenth of the positions holds its share of the first half of the samples: 500 +- 16.
    for (std::size_t part = 0; part < 10; ++part) {
        const auto begin = mixed.begin() + static_cast<std::ptrdiff_t>(part * 1000);
        const auto low =
            std::count_if(begin, begin + 1000, [](std::int64_t v) { return v < 5000; });
        QVERIFY2(std::abs(low - 500) < 80, qPrintable(QString::number(low)));
    }
}

void RandomTest::permutedRefusesOtherIndices() {
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, permuted(1, RandomStream::Shuffle, 0, 10, 10));
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, permuted(1, RandomStream::Shuffle, 0, -1, 10));
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, permuted(1, RandomStream::Shuffle, 0, 0, 0));
}

QTEST_GUILESS_MAIN(RandomTest)
#include "tst_random.moc"
