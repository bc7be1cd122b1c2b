// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Arena: whatever the lifetimes, buffers that live at the same time never share a byte, and little
// is wasted.
#include "engine/program/arena_planner.h"

#include <QtTest>

#include <algorithm>
#include <random>

using namespace trainyard::plan;

namespace {

std::size_t aligned(std::size_t bytes) {
    return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// The most bytes alive at any one instruction: no arena can be smaller.
std::size_t mostAlive(const std::vector<Lifetime>& lives) {
    std::size_t most = 0;
    for (const Lifetime& at : lives) {
        std::size_t alive = 0;
        for (const Lifetime& life : lives)
            if (life.first <= at.first && at.first <= life.last)
                alive += aligned(life.bytes);
        most = std::max(most, alive);
    }
    return most;
}

std::size_t sum(const std::vector<Lifetime>& lives) {
    std::size_t all = 0;
    for (const Lifetime& life : lives)
        all += aligned(life.bytes);
    return all;
}

} // namespace

class ArenaPlannerTest : public QObject {
    Q_OBJECT

private slots:
    void nothing();
    void buffersTakeTurns();
    void gapsAreFilled();
    void emptyBuffersTakeNoRoom();
    void randomLifetimesNeverCollide();
};

void ArenaPlannerTest::nothing() {
    const ArenaLayout layout = layOut({});
    QCOMPARE(layout.bytes, std::size_t{0});
    QVERIFY(layout.offsets.empty());
}

void ArenaPlannerTest::buffersTakeTurns() {
    // A chain: each is read while the next is written.
    std::vector<Lifetime> chain;
    for (int i = 0; i < 20; ++i)
        chain.push_back({1000, i, i + 1});
    const ArenaLayout layout = layOut(chain);
    QCOMPARE(layout.bytes, 2 * aligned(1000));
}

void ArenaPlannerTest::gapsAreFilled() {
    // Two large ones at different times leave room beside the smaller one for a third.
    const ArenaLayout layout = layOut({{640, 0, 1}, {320, 2, 3}, {320, 2, 3}});
    QCOMPARE(layout.bytes, std::size_t{640});
}

void ArenaPlannerTest::emptyBuffersTakeNoRoom() {
    const ArenaLayout layout = layOut({{0, 0, 9}, {64, 0, 9}, {0, 3, 3}});
    QCOMPARE(layout.bytes, std::size_t{64});
    QCOMPARE(layout.offsets[1], std::size_t{0});
}

void ArenaPlannerTest::randomLifetimesNeverCollide() {
    std::mt19937 random(1);
    double worst = 0;
    for (int round = 0; round < 3'000; ++round) {
        std::vector<Lifetime> lives;
        const std::size_t count = 1 + random() % 40;
        for (std::size_t i = 0; i < count; ++i) {
            const int first = static_cast<int>(random() % 30);
            const std::size_t bytes = random() % 4 == 0 ? 64 : random() % 10'000;
            lives.push_back({bytes, first, first + static_cast<int>(random() % 8)});
        }
        const ArenaLayout layout = layOut(lives);
        QCOMPARE(layout.offsets.size(), lives.size());
        for (std::size_t a = 0; a < count; ++a) {
            QCOMPARE(layout.offsets[a] % kArenaAlignment, std::size_t{0});
            QVERIFY(layout.offsets[a] + lives[a].bytes <= layout.bytes);
            for (std::size_t b = 0; b < a; ++b) {
                const bool meet =
                    lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
                const bool apart = layout.offsets[a] + lives[a].bytes <= layout.offsets[b] ||
                                   layout.offsets[b] + lives[b].bytes <= layout.offsets[a];
                QVERIFY(!meet || apart || lives[a].bytes == 0 || lives[b].bytes == 0);
            }
        }
        QVERIFY(layout.bytes <= sum(lives));
        QVERIFY(layout.bytes >= mostAlive(lives));
        worst =
            std::max(worst, static_cast<double>(layout.bytes) /
                                static_cast<double>(std::max<std::size_t>(64, mostAlive(lives))));
    }
    QVERIFY2(worst < 1.6, qPrintable(QString::number(worst)));
}

QTEST_GUILESS_MAIN(ArenaPlannerTest)
#include "tst_arena_planner.moc"
