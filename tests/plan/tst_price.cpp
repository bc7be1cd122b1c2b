// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Prices of plans from calibrations that are made up, so that the times are known: what each rank
// computes, sends and waits follows from the plan alone. And calibrations as text.
#include "engine/program/price.h"

#include "engine/plan/kernel_task.h"
#include "tests/support/experiments.h"

#include <QtTest>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <cmath>

using namespace trainyard;
using namespace trainyard::plan;
using test::layer;
using test::whole;

namespace {

constexpr double kFlopsPerSecond = 1e9;
constexpr double kBytesPerSecond = 1e8;

/// So small that no work is below it.
CalibrationTable atRate(double perSecond, std::size_t axes) {
    return {{std::vector<double>(axes, 10.0), 1e-3, 1e-3 / perSecond}};
}

/// Products compute at a rate, gradients travel at a rate, nothing else takes time.
Calibration madeUp(int cores = 2) {
    Calibration calibration;
    calibration.key = {"1", "made up", cores};
    calibration.measuredAt = "2026-01-31T12:00:00Z";
    CalibrationSetting alone{1, 1, {}};
    alone.tables["linear/forward/fp32"] = atRate(kFlopsPerSecond, 3);
    alone.tables["linear/backward/fp32"] = atRate(kFlopsPerSecond, 3);
    calibration.settings = {alone};
    if (cores > 1) {
        calibration.settings.push_back({1, cores, alone.tables});
        calibration.settings.push_back({cores, 1, alone.tables});
    }
    calibration.exchanges["shared_memory/all_reduce"] = atRate(kBytesPerSecond, 1);
    calibration.exchanges["gloo/all_reduce"] = atRate(kBytesPerSecond, 1);
    return calibration;
}

/// Stages that take equally long but for the first layer, which is nothing.
spec::Experiment chain(const test::Settings& settings) {
    test::Settings all = {{"training.batch", "64"}, {"parallel.data", "1"}};
    all.insert(all.end(), settings.begin(), settings.end());
    spec::Experiment experiment = test::smallExperiment(all);
    experiment.model.inputShape = {1};
    experiment.model.layers = {layer("widen", "linear", {{"out_features", whole(256)}})};
    for (const char* id : {"a", "b", "c", "d"})
        experiment.model.layers.push_back(layer(id, "linear", {{"out_features", whole(256)}}));
    return experiment;
}

DataCounts counts() {
    return {.trainSamples = 6400, .sampleShape = {1}, .classes = 256};
}

Plan planOf(const spec::Experiment& experiment) {
    PlanOutcome outcome = makePlan(experiment, counts(), {});
    for (const Error& problem : outcome.problems)
        qWarning("%s", problem.sentence().c_str());
    return std::move(outcome.plan);
}

Price priced(const spec::Experiment& experiment, const Calibration& calibration = madeUp()) {
    const Result<Price> price = priceOf(experiment, planOf(experiment), {}, calibration, 1);
    return price.ok() ? *price : Price();
}

bool near(double a, double b, double share) {
    return std::abs(a - b) <= share * std::abs(b);
}

#define NEAR(a, b, share)                                                                          \
    QVERIFY2(near(a, b, share), qPrintable(QStringLiteral("%1, not %2").arg(a).arg(b)))

} // namespace

class PriceTest : public QObject {
    Q_OBJECT
private slots:
    void computeFollowsTheWork();
    void tensorRanksHalveIt();
    void sharedClassesHalveTheHead();
    void communicationFollowsTheBytes();
    void compressionHasItsPrice();
    void equalStagesWaitAsTheFormulaSays();
    void theSlowestCounts();
    void aNetworkHidesWhatItCan();
    void moreRanksThanCoresTakeTurns();
    void settingsMeetInBetween();
    void speedIsThatOfTheNearest();
    void whatWasNotMeasuredIsSaid();
    void asText();
    void damagedText_data();
    void damagedText();
    void planAsJson();
};

void PriceTest::computeFollowsTheWork() {
    const Price price = priced(chain({}));
    const double layers = 4 * 2.0 * 64 * 256 * 256;
    const double widen = 2.0 * 64 * 256;
    // Three times forward, but for the gradient of the model's input.
    NEAR(price.ranks[0].compute, (3 * layers + 2 * widen) / kFlopsPerSecond, 1e-9);
    QCOMPARE(price.ranks[0].communication, 0.0);
    QCOMPARE(price.stepSeconds, price.ranks[0].compute);
    NEAR(price.samplesPerSecond, 64 / price.stepSeconds, 1e-9);
    QCOMPARE(price.efficiency, std::optional<double>(1.0));
    // The blocks' forward once more: here there are none.
    QCOMPARE(priced(chain({{"parallel.recompute", "blocks"}})).stepSeconds, price.stepSeconds);
}

void PriceTest::tensorRanksHalveIt() {
    spec::Experiment experiment =
        test::smallExperiment({{"training.batch", "64"}, {"parallel.data", "1"}});
    experiment.model.inputShape = {1};
    experiment.model.layers = {layer("a", "linear", {{"out_features", whole(512)}}),
                               layer("relu", "relu"),
                               layer("b", "linear", {{"out_features", whole(256)}})};
    const Price alone = priced(experiment);
    experiment.parallel.tensor = 2;
    const Price shared = priced(experiment);
    QCOMPARE(shared.ranks.size(), std::size_t{2});
    NEAR(shared.ranks[0].compute, alone.ranks[0].compute / 2, 0.01);
    // Sums of values are not in the made-up times: nothing else is left.
    NEAR(*shared.efficiency, 1.0, 0.02);
}

/// Two pairs and a head, of which each rank scores half the classes: 14 numbers of 8 bytes a row
/// and rank are gathered, everything is computed once.
void PriceTest::sharedClassesHalveTheHead() {
    Calibration calibration = madeUp();
    calibration.exchanges["shared_memory/all_gather"] = atRate(kBytesPerSecond, 1);
    const Price alone = priced(chain({}), calibration);
    const Price shared = priced(chain({{"parallel.tensor", "2"}}), calibration);
    NEAR(shared.ranks[0].compute, alone.ranks[0].compute / 2, 0.01);
    NEAR(shared.ranks[0].communication, 2 * 64 * 14 * 8 / kBytesPerSecond, 1e-9);
}

void PriceTest::communicationFollowsTheBytes() {
    const spec::Experiment experiment = chain({{"parallel.data", "2"}});
    const Plan plan = planOf(experiment);
    double bytes = 0;
    for (const Bucket& bucket : plan.sections[0].buckets)
        bytes += static_cast<double>(bucket.elements * bytesOf(DType::Fp32));
    const Price price = priced(experiment);
    NEAR(price.ranks[1].communication, bytes / kBytesPerSecond, 1e-9);
    NEAR(price.stepSeconds, price.ranks[0].compute + price.ranks[0].communication, 1e-9);
    NEAR(price.ranks[0].bubble + 1, 1.0, 1e-9);
    const Price alone = priced(chain({}));
    NEAR(*price.efficiency, alone.stepSeconds / (2 * price.stepSeconds), 1e-9);
    QVERIFY(*price.efficiency < 0.9);
}

/// Fewer bytes, and the work of making them fewer.
void PriceTest::compressionHasItsPrice() {
    const auto communication = [](const char* form, const Calibration& calibration) {
        return priced(chain({{"parallel.data", "2"},
                             {"parallel.compression", form},
                             {"parallel.compression_rank", "8"}}),
                      calibration)
            .ranks[0]
            .communication;
    };
    Calibration calibration = madeUp();
    const double whole = communication("none", calibration);
    NEAR(communication("fp16", calibration), whole / 2, 0.01); // copies take no time here
    for (CalibrationSetting& setting : calibration.settings)
        setting.tables["copy"] = atRate(kBytesPerSecond, 1);
    NEAR(communication("fp16", calibration), 2.5 * whole, 0.01);
    const Plan plan = planOf(chain({{"parallel.data", "2"},
                                    {"parallel.compression", "powersgd"},
                                    {"parallel.compression_rank", "8"}}));
    const double sent = static_cast<double>(plan.ranks[0].sentPerStep.gradients);
    const double elements = 4 * 256 * 256; // of four matrices
    NEAR(communication("powersgd", calibration),
         sent / kBytesPerSecond +
             4 * (elements * 2 * 8 / kFlopsPerSecond + elements * 4 / kBytesPerSecond),
         0.01);
}

void PriceTest::equalStagesWaitAsTheFormulaSays() {
    for (const char* schedule : {"gpipe", "1f1b"}) {
        spec::Experiment experiment = chain({{"parallel.pipeline", "2"},
                                             {"parallel.schedule", schedule},
                                             {"parallel.micro_batches", "4"}});
        experiment.parallel.cuts = {"c"};
        const Price price = priced(experiment);
        for (const RankSeconds& rank : price.ranks) {
            NEAR(rank.bubble / price.stepSeconds, 1.0 / 5, 0.05); // (p - 1) / (m + p - 1)
            NEAR(rank.compute + rank.communication + rank.bubble, price.stepSeconds, 1e-9);
        }
        NEAR(*price.efficiency, 0.8, 0.05);
    }
}

void PriceTest::theSlowestCounts() {
    spec::Experiment experiment = chain({{"parallel.data", "2"}});
    experiment.parallel.shares = {1, 3};
    const Price price = priced(experiment);
    NEAR(price.ranks[1].compute, 3 * price.ranks[0].compute, 0.01);
    NEAR(price.stepSeconds, price.ranks[1].compute + price.ranks[1].communication, 1e-9);
    NEAR(price.ranks[0].bubble, price.ranks[1].compute - price.ranks[0].compute, 1e-6);
}

void PriceTest::aNetworkHidesWhatItCan() {
    const Price between = priced(chain({{"parallel.data", "2"}}));
    const Price beside = priced(chain({{"parallel.data", "2"}, {"parallel.transport", "gloo"}}));
    QCOMPARE(beside.ranks[0].compute, between.ranks[0].compute);
    QVERIFY(beside.stepSeconds <= between.stepSeconds);
    QVERIFY(beside.stepSeconds >=
            std::max(between.ranks[0].compute, between.ranks[0].communication));
}

void PriceTest::moreRanksThanCoresTakeTurns() {
    const Price two = priced(chain({{"parallel.data", "2"}}));
    const Price four = priced(chain({{"parallel.data", "4"}}));
    // Half the rows each, half a core each.
    NEAR(four.ranks[0].compute, two.ranks[0].compute, 0.01);
    QVERIFY(*four.efficiency < *two.efficiency);
}

void PriceTest::settingsMeetInBetween() {
    Calibration calibration = madeUp(16);
    const std::string table = "linear/forward/fp32";
    const CalibrationTask task{table, {10, 10, 10}, 1e9};
    calibration.settings[1].tables[table] = atRate(kFlopsPerSecond / 4, 3); // crowded
    calibration.settings[2].tables[table] = atRate(kFlopsPerSecond * 8, 3); // all cores for one
    NEAR(calibration.seconds(task, 1, 1), 1.0, 1e-9);
    NEAR(calibration.seconds(task, 1, 16), 4.0, 1e-9);
    NEAR(calibration.seconds(task, 16, 1), 1.0 / 8, 1e-9);
    NEAR(calibration.seconds(task, 1, 4), 2.0, 1e-9); // half of the way, in doublings
    NEAR(calibration.seconds(task, 4, 4), std::sqrt(4.0 / 8), 1e-9);
    NEAR(calibration.seconds(task, 1, 32), 8.0, 1e-9);
    QVERIFY(calibration.seconds(task, 2, 1) < 1.0);
}

void PriceTest::speedIsThatOfTheNearest() {
    const CalibrationTable table = {{{4.0}, 16, 16e-6}, {{20.0}, 1 << 20, (1 << 20) * 1e-9}};
    NEAR(estimate(table, {4.0}, 16), 16e-6, 0.01);
    NEAR(estimate(table, {20.0}, 1 << 20), (1 << 20) * 1e-9, 0.01);
    const double between = estimate(table, {12.0}, 1 << 12) / (1 << 12);
    QVERIFY(between < 1e-6 && between > 1e-9);
    QVERIFY(estimate(table, {0.0}, 1) >= 8e-6); // a call has its cost
    QCOMPARE(estimate(table, {0.0}, 0), 0.0);
    QCOMPARE(estimate({}, {0.0}, 5), 0.0);
}

void PriceTest::whatWasNotMeasuredIsSaid() {
    spec::Experiment experiment = chain({{"precision", "fp64"}});
    const Result<Price> price = priceOf(planOf(experiment), madeUp(), {});
    QVERIFY(!price.ok());
    QVERIFY(price.error().sentence().find("fp64") != std::string::npos);
    Calibration mute = madeUp();
    mute.exchanges.clear();
    QVERIFY(priceOf(planOf(chain({})), mute, {}).ok());
    const Result<Price> two = priceOf(planOf(chain({{"parallel.data", "2"}})), mute, {});
    QVERIFY(!two.ok());
    QVERIFY(two.error().sentence().find("shared_memory") != std::string::npos);
}

void PriceTest::asText() {
    Calibration calibration = madeUp();
    calibration.settings[0].tables["instruction"] = {{{}, 1, 1.5e-7}};
    const Result<Calibration> read = calibrationFromJson(toJson(calibration));
    QVERIFY(read.ok());
    QVERIFY(*read == calibration);
}

void PriceTest::damagedText_data() {
    QTest::addColumn<QByteArray>("text");
    const QByteArray whole = QByteArray::fromStdString(toJson(madeUp()));
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("torn") << whole.left(whole.size() / 2);
    QTest::newRow("another format") << QByteArray(whole).replace("calibration/1", "calibration/9");
    QTest::newRow("a list") << QByteArray("[1, 2]");
    QTest::newRow("no settings") << QByteArray(whole).replace("\"settings\"", "\"sittings\"");
    QTest::newRow("negative time") << QByteArray(whole).replace("[0.001,", "[-0.001,");
    QTest::newRow("text for a time") << QByteArray(whole).replace("[0.001,", "[\"x\",");
    QTest::newRow("no cores") << QByteArray(whole).replace("\"cores\":2", "\"cores\":0");
}

void PriceTest::damagedText() {
    QFETCH(QByteArray, text);
    QVERIFY(!calibrationFromJson(text.toStdString()).ok());
}

void PriceTest::planAsJson() {
    const spec::Experiment experiment = chain({{"parallel.data", "2"}});
    const Plan plan = planOf(experiment);
    const Price price = priced(experiment);
    const QJsonObject json =
        QJsonDocument::fromJson(QByteArray::fromStdString(toJson(plan, &price))).object();
    const QJsonObject seconds = json["ranks"].toArray()[1].toObject()["seconds"].toObject();
    QCOMPARE(seconds["compute"].toDouble(), price.ranks[1].compute);
    QCOMPARE(seconds["communication"].toDouble(), price.ranks[1].communication);
    QCOMPARE(seconds["bubble"].toDouble(), price.ranks[1].bubble);
    QCOMPARE(json["step_seconds"].toDouble(), price.stepSeconds);
    QCOMPARE(json["samples_per_second"].toDouble(), price.samplesPerSecond);
    QCOMPARE(json["efficiency"].toDouble(), *price.efficiency);
    QVERIFY(!QByteArray::fromStdString(toJson(plan)).contains("seconds"));
}

QTEST_GUILESS_MAIN(PriceTest)
#include "tst_price.moc"
