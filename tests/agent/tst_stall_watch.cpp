// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// When ranks stand still and who holds the others up: the rules of stall_watch.h on made-up ranks.
#include "engine/agent/stall_watch.h"

#include "engine/program/program.h"

#include <QtTest>

using namespace trainyard;
using namespace trainyard::engine;
using plan::Opcode;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLimit = 9 * kSecond;

StandingRank standing(int rank, std::int64_t step, std::int64_t instruction, Opcode opcode,
                      std::int64_t seconds) {
    return {rank,
            100 + rank,
            {step, instruction, seconds * kSecond, RankPhase::Training, "fc1",
             static_cast<int>(opcode)}};
}

bool nobody(const StandingRank&) {
    return false;
}

QString textOf(const std::optional<spec::Log>& line) {
    return line ? QString::fromStdString(line->text.text()) : QString();
}

} // namespace

class StallWatchTest : public QObject {
    Q_OBJECT

private slots:
    void theOneThatComputesIsTheSuspect() {
        // Programs of pipeline ranks differ, so their numbers alone do not say who is late.
        QCOMPARE(suspectOf({standing(0, 5, 3, Opcode::ReceiveGradient, 7),
                            standing(1, 5, 8, Opcode::Backward, 5)},
                           nobody)
                     .rank,
                 1);
        QCOMPARE(suspectOf({standing(0, 5, 9, Opcode::ReduceGradients, 5),
                            standing(1, 5, 4, Opcode::ReduceGradients, 7)},
                           nobody)
                     .rank,
                 1);
        QCOMPARE(suspectOf({standing(0, 6, 0, Opcode::LoadBatch, 5),
                            standing(1, 5, 4, Opcode::Backward, 7)},
                           nobody)
                     .rank,
                 1);
    }

    void aHaltedProcessIsTheSuspect() {
        const auto isHalted = [](const StandingRank& rank) {
            return rank.rank == 0;
        };
        QCOMPARE(suspectOf({standing(0, 5, 3, Opcode::ReceiveGradient, 7),
                            standing(1, 5, 8, Opcode::Backward, 5)},
                           isHalted)
                     .rank,
                 0);
    }

    void saysItOnceAndWhenItIsOver() {
        StallWatch watch;
        const auto look = [&](std::vector<StandingRank> ranks, std::int64_t now) {
            return watch.look(std::move(ranks), "h1", now * kSecond, kLimit,
                              [](const StandingRank& rank) { return rank.rank == 1; });
        };
        const std::vector<StandingRank> still{standing(0, 5, 9, Opcode::ReduceGradients, 12),
                                              standing(1, 5, 4, Opcode::Backward, 11)};
        QVERIFY(!look(still, 13));
        QVERIFY(!look(still, 20));
        const auto warning = look(still, 21);
        QCOMPARE(textOf(warning),
                 QStringLiteral("No rank has moved for 9 s. Rank 1 (process 101 on h1) holds the "
                                "others up, at step 5, instruction 4 (backward), in layer fc1. Its "
                                "process is halted (SIGSTOP); kill -CONT 101 lets it go on."));
        QVERIFY(warning->level == spec::LogLevel::Warning);
        QCOMPARE(warning->rank, 1);
        QVERIFY(!look(still, 40));
        const auto over = look({still[0], standing(1, 5, 5, Opcode::Backward, 47)}, 48);
        QCOMPARE(textOf(over), QStringLiteral("The run goes on; it had stood for 35 s."));
        QVERIFY(over->level == spec::LogLevel::Info);
        QVERIFY(!look({still[0], standing(1, 5, 5, Opcode::Backward, 47)}, 55));
    }

    void nothingIsSaidBeforeAllHaveBegun() {
        StallWatch watch;
        StandingRank late = standing(1, -1, -1, Opcode::LoadBatch, 0);
        late.point.phase = RankPhase::Starting;
        const StandingRank early = standing(0, 0, 2, Opcode::ReduceGradients, 1);
        for (const int now : {1, 15, 60})
            QVERIFY(!watch.look({early, late}, "h1", now * kSecond, kLimit, nobody));
        late.point.phase = RankPhase::Training;
        QVERIFY(!watch.look({early, late}, "h1", 61 * kSecond, kLimit, nobody));
        QVERIFY(watch.look({early, late}, "h1", 70 * kSecond, kLimit, nobody));
    }

    void aHaltedRankIsNamedBeforeAllHaveBegun() {
        StallWatch watch;
        StandingRank late = standing(1, -1, -1, Opcode::LoadBatch, 0);
        late.point.phase = RankPhase::Starting;
        late.point.layer.clear();
        const StandingRank early = standing(0, 0, 2, Opcode::ReduceGradients, 1);
        const auto halted = [](const StandingRank& rank) {
            return rank.rank == 1;
        };
        QVERIFY(!watch.look({early, late}, "h1", 1 * kSecond, kLimit, halted));
        QVERIFY(!watch.look({early, late}, "h1", 9 * kSecond, kLimit, halted));
        QCOMPARE(textOf(watch.look({early, late}, "h1", 10 * kSecond, kLimit, halted)),
                 QStringLiteral("Rank 1 (process 101 on h1) has stood for 9 s and holds the others "
                                "up, before its first step. Its process is halted (SIGSTOP); kill "
                                "-CONT 101 lets it go on."));
        QVERIFY(!watch.look({early, late}, "h1", 30 * kSecond, kLimit, halted));
        QCOMPARE(textOf(watch.look({early, late}, "h1", 31 * kSecond, kLimit, nobody)),
                 QStringLiteral("The run goes on; it had stood for 30 s."));
        QVERIFY(!watch.look({early, late}, "h1", 50 * kSecond, kLimit, nobody));
    }

    void whoHasEndedIsNotWaitedFor() {
        StallWatch watch;
        StandingRank done = standing(0, 9, 9, Opcode::Update, 1);
        done.point.phase = RankPhase::Done;
        for (const int now : {1, 15, 60})
            QVERIFY(!watch.look({done}, "h1", now * kSecond, kLimit, nobody));
    }

    void numbersThatMeanNothingDoNoHarm() {
        StandingRank odd = standing(0, 5, -7, Opcode::LoadBatch, 1);
        odd.point.opcode = 200;
        odd.point.timeNs = std::numeric_limits<std::int64_t>::max();
        StallWatch watch;
        QVERIFY(!watch.look({odd}, "h1", 20 * kSecond, kLimit, nobody));
        odd.point.timeNs = std::numeric_limits<std::int64_t>::min();
        QVERIFY(textOf(watch.look({odd}, "h1", 40 * kSecond, kLimit, nobody))
                    .contains(QStringLiteral("instruction -7, after layer fc1.")));
    }
};

QTEST_APPLESS_MAIN(StallWatchTest)
#include "tst_stall_watch.moc"
