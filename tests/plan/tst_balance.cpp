// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// From measured speeds to shares of the batch and cuts of the pipeline, and the plans that follow.
#include "engine/plan/balance.h"

#include "engine/plan/balance_sentence.h"
#include "engine/plan/plan.h"
#include "tests/support/experiments.h"

#include <QtTest>

#include <limits>
#include <random>

using namespace trainyard;
using namespace trainyard::plan;
using test::layer;
using test::sentences;
using test::whole;
using Numbers = std::vector<double>;

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Eight layers that cost the same.
spec::Experiment chain(const test::Settings& settings) {
    test::Settings all = {{"training.batch", "64"}, {"parallel.balance", "measured"}};
    all.insert(all.end(), settings.begin(), settings.end());
    spec::Experiment experiment = test::smallExperiment(all);
    experiment.model.inputShape = {32};
    experiment.model.layers.clear();
    for (int i = 1; i <= 8; ++i)
        experiment.model.layers.push_back(
            layer("dense" + std::to_string(i), "linear", {{"out_features", whole(32)}}));
    return experiment;
}

Plan planOf(const spec::Experiment& experiment, const Numbers& speeds) {
    const PlanOutcome outcome = makePlan(experiment, {1'000, 0, {32}, 32}, {.speeds = speeds});
    if (!outcome.problems.empty())
        qFatal("%s", sentences(outcome.problems).join('\n').constData());
    return outcome.plan;
}

} // namespace

class BalanceTest : public QObject {
    Q_OBJECT

private slots:
    void speedsBecomeShares_data();
    void speedsBecomeShares();
    void speedsBecomeStages_data();
    void speedsBecomeStages();
    void everyRankHasARow();
    void noUnitIsBetterElsewhere();
    void plansShareRowsBySpeed();
    void plansCutStagesBySpeed_data();
    void plansCutStagesBySpeed();
    void plansWaitForSpeeds();
    void balanceIsTold();
};

void BalanceTest::speedsBecomeShares_data() {
    QTest::addColumn<Numbers>("speeds");
    QTest::addColumn<int>("batch");
    QTest::addColumn<Numbers>("shares");
    const auto row = [](const char* name, const Numbers& speeds, int batch, const Numbers& shares) {
        QTest::newRow(name) << speeds << batch << shares;
    };
    row("alike", {7, 7}, 128, {});
    row("within the noise", {1, 1.04}, 128, {});
    row("twice as fast", {2, 1}, 128, {43, 21});
    row("in any unit", {2e9, 1e9}, 128, {43, 21});
    row("three", {1, 2, 1}, 128, {16, 32, 16});
    row("very unlike", {1, 1e6}, 128, {1, 63});
    row("a small batch", {3, 1}, 8, {6, 2});
    row("a row each", {4, 1, 1}, 3, {1, 1, 1});
    row("more ranks than rows", {4, 1, 1}, 2, {});
    row("one rank", {4}, 128, {});
    row("one stands still", {4, 0}, 128, {});
    row("negative", {4, -1}, 128, {});
    row("not a number", {kNothing, 1}, 128, {});
    row("not finite", {1, kInfinity}, 128, {});
    row("none", {}, 128, {});
}

void BalanceTest::speedsBecomeShares() {
    QFETCH(Numbers, speeds);
    QFETCH(int, batch);
    const int ranks = speeds.empty() ? 2 : static_cast<int>(speeds.size());
    const Balance balance = balanceOf({ranks, 1, 1}, batch, speeds);
    QTEST(balance.shares, "shares");
    QVERIFY(balance.stageSpeeds.empty());
}

void BalanceTest::speedsBecomeStages_data() {
    QTest::addColumn<Numbers>("speeds"); // rank = (pipeline * data + data) * tensor + tensor
    QTest::addColumn<int>("data");
    QTest::addColumn<int>("tensor");
    QTest::addColumn<Numbers>("stages");
    QTest::addColumn<Numbers>("shares");
    const auto row = [](const char* name, const Numbers& speeds, int data, int tensor,
                        const Numbers& stages, const Numbers& shares) {
        QTest::newRow(name) << speeds << data << tensor << stages << shares;
    };
    row("two stages", {3, 1}, 1, 1, {1.5, 0.5}, {});
    row("within the noise", {1, 1.04}, 1, 1, {}, {});
    row("stages of two copies", {3, 3, 1, 1}, 2, 1, {1.5, 0.5}, {});
    row("copies of two stages", {3, 1, 3, 1}, 2, 1, {}, {48, 16});
    row("one is fast: its stage has more, and its copy", {3, 1, 1, 1}, 2, 1, {4.0 / 3, 2.0 / 3},
        {43, 21});
    row("the slowest of tensor ranks", {3, 9, 1, 2}, 1, 2, {1.5, 0.5}, {});
    row("not a number", {3, kNothing}, 1, 1, {}, {});
}

void BalanceTest::speedsBecomeStages() {
    QFETCH(Numbers, speeds);
    QFETCH(int, data);
    QFETCH(int, tensor);
    QFETCH(Numbers, stages);
    const Balance balance = balanceOf({data, tensor, 2}, 128, speeds);
    QCOMPARE(balance.stageSpeeds.size(), stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i)
        QVERIFY(std::abs(balance.stageSpeeds[i] - stages[i]) < 1e-12);
    QTEST(balance.shares, "shares");
}

void BalanceTest::everyRankHasARow() {
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        const int ranks = 2 + static_cast<int>(random() % 40);
        const auto batch = ranks + static_cast<std::int64_t>(random() % 300);
        Numbers speeds;
        for (int rank = 0; rank < ranks; ++rank)
            speeds.push_back(std::pow(10.0, random() % 5));
        const Balance balance = balanceOf({ranks, 1, 1}, batch, speeds);
        const Numbers ends = shareEndsOf(balance.shares);
        std::int64_t next = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            const RowRange rows = rowsOfShare(batch, rank, ranks, ends);
            QVERIFY(rows.first == next && rows.count >= 1);
            next += rows.count;
        }
        QCOMPARE(next, batch);
    }
}

void BalanceTest::noUnitIsBetterElsewhere() {
    const Numbers speeds = {1, 2.7, 0.4, 9, 3.3};
    const Numbers shares = balanceOf({5, 1, 1}, 1'000, speeds).shares;
    QCOMPARE(std::accumulate(shares.begin(), shares.end(), 0.0), 64.0);
    const auto slowest = [&](const Numbers& dealt) {
        double seconds = 0;
        for (std::size_t i = 0; i < dealt.size(); ++i)
            seconds = std::max(seconds, dealt[i] / speeds[i]);
        return seconds;
    };
    for (std::size_t from = 0; from < 5; ++from)
        for (std::size_t to = 0; to < 5; ++to) {
            Numbers moved = shares;
            --moved[from];
            ++moved[to];
            QVERIFY(from == to || slowest(moved) >= slowest(shares));
        }
}

/// The memory of who has more rows is planned for them.
void BalanceTest::plansShareRowsBySpeed() {
    const spec::Experiment experiment = chain({{"parallel.data", "2"}});
    const Plan equal = planOf(experiment, {});
    const Plan plan = planOf(experiment, {3, 1});
    QCOMPARE(plan.ranks[0].rows.count, 48);
    QCOMPARE(plan.ranks[1].rows.count, 16);
    QVERIFY(plan.ranks[0].memory.activations > equal.ranks[0].memory.activations);
    QVERIFY(plan.ranks[1].memory.activations < equal.ranks[1].memory.activations);
    QVERIFY(plan.hash != equal.hash);
    QCOMPARE(planOf(experiment, {3, 1}).hash, plan.hash);
    QCOMPARE(planOf(experiment, {1, 1.01}).ranks[0].rows.count, 32);
    spec::Experiment given = experiment;
    given.parallel.balance = "equal";
    QCOMPARE(planOf(given, {3, 1}).ranks[0].rows.count, 32); // nobody asked for it
}

void BalanceTest::plansCutStagesBySpeed_data() {
    QTest::addColumn<QByteArray>("schedule");
    QTest::addColumn<Numbers>("speeds");
    QTest::addColumn<QByteArrayList>("stages");
    const auto row = [](const char* name, const char* schedule, const Numbers& speeds,
                        const QByteArrayList& stages) {
        QTest::newRow(name) << QByteArray(schedule) << speeds << stages;
    };
    row("not measured", "1f1b", {}, {"dense1", "dense5"});
    row("alike", "1f1b", {1, 1}, {"dense1", "dense5"});
    row("three to one", "1f1b", {3, 1}, {"dense1", "dense7"});
    row("one to three", "1f1b", {1, 3}, {"dense1", "dense3"});
    row("very unlike", "1f1b", {1e6, 1}, {"dense1", "dense8"});
    row("interleaved", "interleaved", {3, 1}, {"dense1", "dense4", "dense5", "dense8"});
}

void BalanceTest::plansCutStagesBySpeed() {
    QFETCH(QByteArray, schedule);
    QFETCH(Numbers, speeds);
    const Plan plan = planOf(chain({{"parallel.data", "1"},
                                    {"parallel.pipeline", "2"},
                                    {"parallel.micro_batches", "4"},
                                    {"parallel.schedule", schedule.toStdString()}}),
                             speeds);
    QByteArrayList stages;
    for (const std::string& stage : plan.stages)
        stages << QByteArray::fromStdString(stage);
    QTEST(stages, "stages");
}

void BalanceTest::plansWaitForSpeeds() {
    QVERIFY(planOf(chain({{"parallel.data", "2"}}), {}).awaitsSpeeds);
    QVERIFY(!planOf(chain({{"parallel.data", "2"}}), {1, 2}).awaitsSpeeds);
    QVERIFY(!planOf(chain({{"parallel.data", "1"}}), {}).awaitsSpeeds);
    QVERIFY(!planOf(chain({{"parallel.data", "1"}, {"parallel.tensor", "2"}}), {}).awaitsSpeeds);
    QVERIFY(!planOf(chain({{"parallel.balance", "equal"}}), {}).awaitsSpeeds);
}

void BalanceTest::balanceIsTold() {
    Plan equal, balanced;
    equal.stages = balanced.stages = {"a", "c"};
    const auto said = [&] {
        if (!isBalanceSentence(balanceSentence(equal, balanced)))
            return QByteArray();
        return QByteArray::fromStdString(balanceSentence(equal, balanced).text());
    };
    QCOMPARE(said(), QByteArray("The ranks are about equally fast as measured: they have equal "
                                "shares."));
    balanced.shareEnds = {0.65625, 1};
    QCOMPARE(said(), QByteArray("Shares of the batch by measured speed, in the order of the data "
                                "parallel ranks: 65.6 %, 34.4 %."));
    balanced.stages = {"a", "b"};
    QCOMPARE(said(), QByteArray("Shares of the batch by measured speed, in the order of the data "
                                "parallel ranks: 65.6 %, 34.4 %. Stages of the pipeline, likewise, "
                                "begin at: a, b."));
    balanced.shareEnds.clear();
    QCOMPARE(said(), QByteArray("Stages of the pipeline by measured speed begin at: a, b."));
    QVERIFY(!isBalanceSentence({"Something else."}));
}

QTEST_GUILESS_MAIN(BalanceTest)
#include "tst_balance.moc"
