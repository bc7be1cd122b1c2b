// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Order and shares: each sample once an epoch, at any number of ranks, the same for the same seed.
#include "engine/data/sampler.h"
#include "engine/plan/plan.h"

#include <QtTest>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

using Rows = std::vector<std::int64_t>;

/// What rank `rank` sees in one epoch, batch after batch; the last one is short.
std::vector<Rows> batchesOfRank(std::uint64_t seed, std::int64_t epoch, std::int64_t count,
                                std::int64_t batch, int rank, int worldSize) {
    std::vector<Rows> batches;
    for (std::int64_t begin = 0; begin < count; begin += batch) {
        const plan::RowRange mine = plan::evenRows(std::min(batch, count - begin), rank, worldSize);
        Rows& rows = batches.emplace_back();
        for (std::int64_t row = mine.first; row < mine.first + mine.count; ++row)
            rows.push_back(sampleAt(seed, epoch, begin + row, count));
    }
    return batches;
}

Rows everySample(std::int64_t count) {
    Rows rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

} // namespace

class TestSampler : public QObject {
    Q_OBJECT

private slots:
    void eachSampleOnce_data();
    void eachSampleOnce();
    void seedsAndEpochsDiffer();
    void looksRandom();
    void disjointAtAnyWorldSize_data();
    void disjointAtAnyWorldSize();
    void shortTailLeavesARankEmpty();
    void validationCountsEachRowOnce();
};

void TestSampler::eachSampleOnce_data() {
    QTest::addColumn<qint64>("count");
    for (const qint64 count : {1, 2, 3, 4, 5, 16, 17, 22, 63, 64, 65, 1000, 10001, 60000})
        QTest::addRow("%lld", static_cast<long long>(count)) << count;
}

void TestSampler::eachSampleOnce() {
    QFETCH(qint64, count);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        Rows rows;
        for (std::int64_t position = 0; position < count; ++position)
            rows.push_back(sampleAt(42, epoch, position, count));
        std::ranges::sort(rows);
        QVERIFY(rows == everySample(count));
    }
}

void TestSampler::seedsAndEpochsDiffer() {
    std::set<Rows> orders;
    for (const std::uint64_t seed : {0ull, 1ull, 2ull, ~0ull, 1ull << 32})
        for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
            const Rows order = batchesOfRank(seed, epoch, 22, 22, 0, 1).front();
            QVERIFY(order == batchesOfRank(seed, epoch, 22, 22, 0, 1).front());
            orders.insert(order);
        }
    QCOMPARE(orders.size(), std::size_t{50});
}

void TestSampler::looksRandom() {
    // Over many epochs each sample must come to each eighth of the epoch about equally often. With
    // 4,000 epochs a count has deviation 21; 120 is more than five of them.
    constexpr std::int64_t kCount = 40;
    constexpr std::int64_t kEpochs = 4000;
    std::vector<std::vector<int>> seen(kCount, std::vector<int>(8));
    for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch)
        for (std::int64_t position = 0; position < kCount; ++position)
            ++seen[static_cast<std::size_t>(sampleAt(7, epoch, position, kCount))]
                  [static_cast<std::size_t>(position / 5)];
    for (const std::vector<int>& eighths : seen)
        for (const int times : eighths)
            QVERIFY2(std::abs(times - static_cast<int>(kEpochs / 8)) < 120,
                     qPrintable(QString::number(times)));
}

void TestSampler::disjointAtAnyWorldSize_data() {
    QTest::addColumn<int>("worldSize");
    for (int worldSize = 1; worldSize <= 4; ++worldSize)
        QTest::addRow("%d ranks", worldSize) << worldSize;
}

void TestSampler::disjointAtAnyWorldSize() {
    QFETCH(int, worldSize);
    std::set<Rows> orders;
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        const std::vector<Rows> whole = batchesOfRank(1, epoch, 22, 5, 0, 1);
        std::vector<Rows> together(whole.size());
        for (int rank = 0; rank < worldSize; ++rank) {
            const std::vector<Rows> mine = batchesOfRank(1, epoch, 22, 5, rank, worldSize);
            QCOMPARE(mine.size(), whole.size());
            for (std::size_t batch = 0; batch < mine.size(); ++batch)
                together[batch].insert(together[batch].end(), mine[batch].begin(),
                                       mine[batch].end());
        }
        // The same batches as on one rank, cut among the ranks: disjoint and complete.
        QVERIFY(together == whole);
        Rows rows;
        for (const Rows& batch : together)
            rows.insert(rows.end(), batch.begin(), batch.end());
        orders.insert(rows);
        std::ranges::sort(rows);
        QVERIFY(rows == everySample(22));
    }
    QCOMPARE(orders.size(), std::size_t{3});
}

void TestSampler::shortTailLeavesARankEmpty() {
    // 5 rows, 2 per rank, 2 ranks: the last batch has one row, which the first rank takes.
    const std::vector<Rows> first = batchesOfRank(3, 0, 5, 4, 0, 2);
    const std::vector<Rows> second = batchesOfRank(3, 0, 5, 4, 1, 2);
    QCOMPARE(first.size(), second.size());
    QCOMPARE(first[1].size(), std::size_t{1});
    QVERIFY(second[1].empty());
    // Fewer rows than ranks.
    for (int rank = 0; rank < 4; ++rank)
        QCOMPARE(batchesOfRank(3, 0, 2, 8, rank, 4).front().size(), std::size_t(rank < 2 ? 1 : 0));
}

void TestSampler::validationCountsEachRowOnce() {
    for (const std::int64_t count : {21, 10001})
        for (int worldSize = 1; worldSize <= 4; ++worldSize) {
            std::vector<int> seen(static_cast<std::size_t>(count));
            for (std::int64_t begin = 0; begin < count; begin += 128)
                for (int rank = 0; rank < worldSize; ++rank) {
                    const plan::RowRange mine =
                        plan::evenRows(std::min<std::int64_t>(128, count - begin), rank, worldSize);
                    for (std::int64_t row = mine.first; row < mine.first + mine.count; ++row)
                        ++seen[static_cast<std::size_t>(begin + row)];
                }
            QVERIFY(std::ranges::all_of(seen, [](int times) { return times == 1; }));
        }
}

QTEST_APPLESS_MAIN(TestSampler)
#include "tst_sampler.moc"
