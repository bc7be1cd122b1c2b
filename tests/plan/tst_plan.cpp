// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Plans: every row belongs to one rank, every parameter to one bucket, every rank makes the same
// plan, and the numbers shown are the ones worked out by hand.
#include "engine/plan/layouts.h"
#include "engine/plan/plan.h"
#include "tests/support/experiments.h"
#include "tests/support/foreign_locale.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <functional>
#include <map>
#include <random>
#include <set>

using namespace trainyard;
using namespace trainyard::plan;
using test::layer;
using test::sentences;
using test::whole;

namespace {

const DataCounts kFashion = {60'000, 10'000, {1, 28, 28}, 10};

Plan planOf(const spec::Experiment& experiment, const DataCounts& data = kFashion,
            const MachineFacts& machine = {}) {
    return makePlan(experiment, data, machine).plan;
}

/// A chain of dense layers of these widths.
spec::Experiment dense(const std::vector<std::int64_t>& widths,
                       const test::Settings& settings = {}) {
    spec::Experiment experiment = test::smallExperiment(settings);
    experiment.model.inputShape = {widths.front()};
    experiment.model.layers.clear();
    for (std::size_t i = 1; i < widths.size(); ++i)
        experiment.model.layers.push_back(
            layer("dense" + std::to_string(i), "linear", {{"out_features", whole(widths[i])}}));
    return experiment;
}

DataCounts rows(std::int64_t features, std::int64_t samples = 60'000) {
    return {samples, 10'000, {features}, 10};
}

} // namespace

class PlanTest : public QObject {
    Q_OBJECT

private slots:
    void eachRowBelongsToOneRank();
    void stepsOfAnEpoch_data();
    void stepsOfAnEpoch();
    void parametersLieInTheOrderTheirGradientsAreFinished();
    void bucketsCoverTheArena_data();
    void bucketsCoverTheArena();
    void numbersByHand();
    void optimizersNeedState_data();
    void optimizersNeedState();
    void copiesOfTheWeightsAreCounted();
    void memoryIsTheLargestOfAllBatches();
    void layoutsFollowTheConvolutions();
    void bf16IsForMachinesThatHaveIt();
    void bf16CountsMastersAndCopies();
    void hashIsTheSameEverywhere();
    void hashChangesWithEverything_data();
    void hashChangesWithEverything();
    void problems_data();
    void problems();
    void theFactorOfTheRateIsShown();
    void json();
};

void PlanTest::eachRowBelongsToOneRank() {
    for (std::int64_t world = 1; world <= 17; ++world)
        for (std::int64_t batch = 0; batch <= 70; ++batch) {
            std::int64_t next = 0;
            for (std::int64_t rank = 0; rank < world; ++rank) {
                const RowRange range = evenRows(batch, rank, world);
                QCOMPARE(range.first, next);
                QVERIFY(range.count >= batch / world && range.count <= batch / world + 1);
                next += range.count;
            }
            QCOMPARE(next, batch);
        }
    const RowRange last = evenRows((std::int64_t{1} << 24) + 1, 1023, 1024);
    QCOMPARE(last.first + last.count, (std::int64_t{1} << 24) + 1);
}

void PlanTest::stepsOfAnEpoch_data() {
    QTest::addColumn<int>("samples");
    QTest::addColumn<int>("batch");
    QTest::addColumn<QByteArray>("maxSteps");
    QTest::addColumn<int>("stepsPerEpoch");
    QTest::addColumn<int>("lastRows");
    QTest::addColumn<int>("steps");
    QTest::newRow("divides") << 60'000 << 100 << QByteArray("null") << 600 << 100 << 3'000;
    QTest::newRow("short last batch") << 60'000 << 128 << QByteArray("null") << 469 << 96 << 2'345;
    QTest::newRow("fewer samples than the batch") << 5 << 128 << QByteArray("null") << 1 << 5 << 5;
    QTest::newRow("cut") << 60'000 << 128 << QByteArray("700") << 469 << 96 << 700;
    QTest::newRow("more than there are")
        << 60'000 << 128 << QByteArray("9999") << 469 << 96 << 2'345;
}

void PlanTest::stepsOfAnEpoch() {
    QFETCH(int, samples);
    QFETCH(int, batch);
    QFETCH(QByteArray, maxSteps);
    const Plan plan =
        planOf(test::smallExperiment({{"training.batch", std::to_string(batch)},
                                      {"training.max_steps", maxSteps.toStdString()}}),
               {samples, 0, {1, 28, 28}, 10});
    QTEST(static_cast<int>(plan.stepsPerEpoch), "stepsPerEpoch");
    QTEST(static_cast<int>(plan.rowsOfStep(plan.stepsPerEpoch - 1)), "lastRows");
    QTEST(static_cast<int>(plan.steps), "steps");
    std::int64_t seen = 0;
    for (std::int64_t i = 0; i < plan.stepsPerEpoch; ++i)
        seen += plan.rowsOfStep(i);
    QCOMPARE(seen, std::int64_t{samples});
}

void PlanTest::parametersLieInTheOrderTheirGradientsAreFinished() {
    const Plan plan = planOf(test::smallExperiment());
    const Section& section = plan.sectionOf(0);
    std::size_t next = 0;
    for (auto operation = plan.graph.operations.rbegin(); operation != plan.graph.operations.rend();
         ++operation)
        for (const graph::ParameterId id : operation->parameters) {
            const auto index = static_cast<std::size_t>(id);
            QVERIFY(section.parameterOffset[index] >= next);
            QVERIFY(section.parameterOffset[index] - next < 16 * 2); // only padding lies between
            QCOMPARE(section.parameterOffset[index] * bytesOf(plan.type) % 64, std::size_t{0});
            next = section.parameterOffset[index] +
                   static_cast<std::size_t>(elementCount(plan.graph.parameters[index].shape));
        }
    QVERIFY(section.arenaElements >= next);
}

void PlanTest::bucketsCoverTheArena_data() {
    QTest::addColumn<int>("world");
    QTest::addColumn<QByteArray>("precision");
    for (const int world : {1, 2, 3, 7, 8, 64})
        for (const char* precision : {"fp32", "fp64", "bf16"})
            QTest::addRow("%d ranks in %s", world, precision) << world << QByteArray(precision);
}

void PlanTest::bucketsCoverTheArena() {
    QFETCH(int, world);
    QFETCH(QByteArray, precision);
    const test::Settings settings = {{"parallel.data", std::to_string(world)},
                                     {"precision", precision.toStdString()}};
    std::mt19937 random(9);
    for (int round = 0; round < 30; ++round) {
        std::vector<std::int64_t> widths;
        for (std::size_t i = 0; i < 8; ++i)
            widths.push_back(1 + random() % (round % 3 ? 700 : 20));
        widths.back() = 10;
        const Plan plan = planOf(dense(widths, settings), rows(widths.front()));
        const Section& section = plan.sectionOf(0);
        const std::size_t bytes = bytesOf(exactType(plan.type));
        std::size_t next = 0;
        std::set<graph::ParameterId> seen;
        for (std::size_t i = 0; i < section.buckets.size(); ++i) {
            const Bucket& bucket = section.buckets[i];
            QCOMPARE(bucket.firstElement, next); // disjoint and without gaps
            next += bucket.elements;
            QCOMPARE(bucket.elements * bytes % (static_cast<std::size_t>(world) * 64),
                     std::size_t{0});
            QVERIFY(!bucket.parameters.empty());
            if (i + 1 < section.buckets.size())
                QVERIFY(bucket.elements * bytes >= std::size_t{1} << 20);
            for (const graph::ParameterId id : bucket.parameters) {
                QVERIFY(seen.insert(id).second);
                const auto index = static_cast<std::size_t>(id);
                const std::size_t first = section.parameterOffset[index];
                const auto count =
                    static_cast<std::size_t>(elementCount(plan.graph.parameters[index].shape));
                QVERIFY(first >= bucket.firstElement);
                QVERIFY(first + count <= bucket.firstElement + bucket.elements);
            }
        }
        QCOMPARE(next, section.arenaElements);
        QCOMPARE(seen.size(), plan.graph.parameters.size());
    }
}

void PlanTest::numbersByHand() {
    // 784 -> 128 -> 10. Elements with each parameter rounded up to 16: the second layer's weight
    // 1280 and bias 16, the first one's 100352 and 128: 101776, already a multiple of 2 ranks x 16.
    const Plan plan = planOf(dense({784, 128, 10}), rows(784));
    QCOMPARE(plan.graph.parameterElements(), std::int64_t{101'770});
    QCOMPARE(plan.sectionOf(0).arenaElements, std::size_t{101'792});
    QCOMPARE(plan.sectionOf(0).buckets.size(), std::size_t{1});
    QCOMPARE(plan.ranks.size(), std::size_t{2});
    for (const RankPlan& rank : plan.ranks) {
        QCOMPARE(rank.rows.count, std::int64_t{64});
        QCOMPARE(rank.device, "local/cpu:" + std::to_string(rank.rank));
        QCOMPARE(rank.memory.parameters, std::size_t{407'168});
        QCOMPARE(rank.memory.gradients, std::size_t{407'168});
        QCOMPARE(rank.memory.optimizer, std::size_t{814'336}); // two moments
        // 64 rows. Most is alive when the second layer goes backward: the input, the first output
        // and the gradients of both outputs. The input has no gradient.
        QCOMPARE(rank.memory.activations, std::size_t{64 * 4 * (784 + 128 + 10 + 128)});
        // 2 (n - 1) / n of the gradients.
        QCOMPARE(rank.sentPerStep.total(), std::size_t{407'168});
        QCOMPARE(rank.flopsPerStep, 3.0 * 64 * plan.graph.forwardFlops());
    }
    QCOMPARE(planOf(dense({784, 128, 10}, {{"parallel.data", "1"}}), rows(784))
                 .ranks[0]
                 .sentPerStep.total(),
             std::size_t{0});
}

void PlanTest::optimizersNeedState_data() {
    QTest::addColumn<QByteArray>("optimizer");
    QTest::addColumn<int>("buffers");
    QTest::newRow("sgd") << QByteArray("{\"type\": \"sgd\"}") << 0;
    QTest::newRow("momentum") << QByteArray("{\"type\": \"sgd\", \"momentum\": 0.9}") << 1;
    QTest::newRow("adam") << QByteArray("{\"type\": \"adam\"}") << 2;
    QTest::newRow("adamw") << QByteArray("{\"type\": \"adamw\"}") << 2;
    QTest::newRow("lion") << QByteArray("{\"type\": \"lion\"}") << 1;
    QTest::newRow("lars") << QByteArray("{\"type\": \"lars\"}") << 1;
    QTest::newRow("lars without momentum")
        << QByteArray("{\"type\": \"lars\", \"momentum\": 0}") << 0;
    QTest::newRow("lamb") << QByteArray("{\"type\": \"lamb\"}") << 2;
}

void PlanTest::optimizersNeedState() {
    QFETCH(QByteArray, optimizer);
    QFETCH(int, buffers);
    const Plan plan =
        planOf(test::smallExperiment({{"training.optimizer", optimizer.toStdString()}}));
    QCOMPARE(plan.optimizerSlots, buffers);
    QCOMPARE(plan.ranks[0].memory.optimizer,
             static_cast<std::size_t>(buffers) * plan.ranks[0].memory.parameters);
}

void PlanTest::copiesOfTheWeightsAreCounted() {
    const auto buffers = [](const test::Settings& settings) {
        const plan::MemoryByClass memory = planOf(test::smallExperiment(settings)).ranks[0].memory;
        return memory.optimizer / memory.parameters;
    };
    QCOMPARE(buffers({}), std::size_t{2}); // AdamW
    QCOMPARE(buffers({{"training.ema_decay", "0.99"}}), std::size_t{3});
    QCOMPARE(buffers({{"training.early_stopping.patience", "3"}}), std::size_t{3});
    QCOMPARE(buffers({{"training.ema_decay", "0"}, {"training.early_stopping", "{}"}}),
             std::size_t{4});
}

void PlanTest::memoryIsTheLargestOfAllBatches() {
    // Where a step is smaller than the validation batch, evaluation decides.
    const spec::Experiment experiment = dense({784, 128, 10}, {{"parallel.data", "1"}});
    const Plan tiny = planOf(experiment, {4, 10'000, {784}, 10});
    const Plan usual = planOf(experiment, {60'000, 10'000, {784}, 10});
    const Plan none = planOf(experiment, {4, 0, {784}, 10});
    QVERIFY(tiny.ranks[0].memory.activations > none.ranks[0].memory.activations);
    QVERIFY(tiny.ranks[0].memory.activations < usual.ranks[0].memory.activations);
    // 128 rows of evaluation: input and first output, then first and second.
    QCOMPARE(tiny.ranks[0].memory.activations, std::size_t{128 * 4 * (784 + 128)});
}

void PlanTest::layoutsFollowTheConvolutions() {
    spec::Experiment experiment = test::smallExperiment();
    experiment.model.layers = {
        layer("narrow", "conv2d", {{"out_channels", whole(15)}}),
        layer("relu1", "relu"),
        layer("wide", "conv2d", {{"out_channels", whole(16)}}),
        layer("relu2", "relu"),
        layer("pool", "max_pool"),
        layer("dropout", "dropout"),
        layer("flatten", "flatten"),
        layer("classes", "linear", {{"out_features", whole(10)}}),
    };
    const Plan blocked = planOf(experiment, kFashion, {true});
    std::vector<bool> isBlocked;
    for (const graph::ValueInfo& value : blocked.graph.values)
        isBlocked.push_back(value.layout == Layout::Blocked16);
    QCOMPARE(isBlocked,
             (std::vector<bool>{false, false, false, true, true, true, true, false, false}));
    const Plan plain = planOf(experiment, kFashion, {false});
    for (const graph::ValueInfo& value : plain.graph.values)
        QVERIFY(value.layout == Layout::Plain);
    QVERIFY(blocked.hash != plain.hash);

    // In bf16 pictures have their channels last, whatever their number.
    experiment.precision = spec::Precision::Bf16;
    const Plan half = planOf(experiment, kFashion, {.blockedPictures = true, .bf16 = true});
    std::vector<bool> isLast;
    for (const graph::ValueInfo& value : half.graph.values)
        isLast.push_back(value.layout == Layout::ChannelsLast);
    QCOMPARE(isLast, (std::vector<bool>{false, true, true, true, true, true, true, false, false}));
    experiment.precision = spec::Precision::Fp32;

    // 17 channels take the room of 32, and the plan counts it.
    for (spec::LayerSpec& each : experiment.model.layers)
        if (each.id == "wide")
            each.values["out_channels"] = whole(17);
    const std::size_t padded = planOf(experiment, kFashion, {true}).ranks[0].memory.activations;
    QVERIFY(padded > planOf(experiment, kFashion, {false}).ranks[0].memory.activations * 3 / 2);
}

void PlanTest::bf16IsForMachinesThatHaveIt() {
    spec::Experiment experiment = test::smallExperiment();
    experiment.precision = spec::Precision::Bf16;
    const PlanOutcome refused = makePlan(experiment, kFashion, {.bf16 = false});
    QCOMPARE(refused.problems.size(), std::size_t{1});
    QCOMPARE(
        refused.problems[0].sentence(),
        std::string("precision: This machine cannot train in bf16: its processor has no matrix "
                    "unit (AMX), and without one bf16 is slower than fp32. Choose fp32."));
    // A machine that nobody has looked at yet is given the benefit of the doubt.
    for (const MachineFacts& machine : {MachineFacts{}, MachineFacts{.bf16 = true}})
        QVERIFY(makePlan(experiment, kFashion, machine).problems.empty());
    experiment.precision = spec::Precision::Fp32;
    QVERIFY(makePlan(experiment, kFashion, {.bf16 = false}).problems.empty());
}

void PlanTest::bf16CountsMastersAndCopies() {
    spec::Experiment experiment = test::smallExperiment();
    const Plan whole = planOf(experiment);
    experiment.precision = spec::Precision::Bf16;
    const Plan half = planOf(experiment);
    QCOMPARE(half.sectionOf(0).arenaElements, whole.sectionOf(0).arenaElements);
    const MemoryByClass &a = half.ranks[0].memory, &b = whole.ranks[0].memory;
    QCOMPARE(a.parameters, b.parameters + 2 * whole.sectionOf(0).arenaElements);
    QCOMPARE(a.gradients, b.gradients);
    QCOMPARE(a.optimizer, b.optimizer);
    QVERIFY(a.activations < b.activations);
}

void PlanTest::hashIsTheSameEverywhere() {
    const spec::Experiment experiment = test::smallExperiment();
    const std::uint64_t hash = planOf(experiment).hash;
    QVERIFY(hash != 0);
    QCOMPARE(planOf(experiment).hash, hash);
    // A rank reads the experiment from its file, perhaps in another locale.
    const test::ForeignLocale german(QStringLiteral("de_DE"));
    const spec::ParsedExperiment read = spec::parseExperiment(spec::toJson(experiment));
    QCOMPARE(planOf(read.experiment).hash, hash);
}

void PlanTest::hashChangesWithEverything_data() {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("value");
    const auto row = [](const char* path, const char* value) {
        QTest::addRow("%s=%s", path, value) << QByteArray(path) << QByteArray(value);
    };
    row("training.batch", "127");
    row("training.epochs", "6");
    row("training.max_steps", "100");
    row("training.seed", "2");
    row("training.clip_norm", "1");
    row("training.learning_rate_batch", "64");
    row("training.ema_decay", "0.5");
    row("training.early_stopping", "{}");
    row("training.optimizer.learning_rate", "0.0010000000000000002");
    row("training.optimizer.beta1", "0.8");
    row("training.optimizer.type", "adam");
    row("training.schedule", "{\"type\": \"cosine\"}");
    row("data.normalize", "unit");
    row("data.train.images", "other.gz");
    row("data.validation", "{\"fraction\": 0.5}");
    row("model.layers[0].out_channels", "17");
    row("model.layers[0].bias", "false");
    row("model.layers[4].probability", "0.26");
    row("model.layers[1].id", "other");
    row("parallel.data", "3");
    row("parallel.transport", "gloo");
    row("precision", "fp64");
    row("devices", "[\"local/cpu:1\", \"local/cpu:0\"]");
    row("samples", "59999");
    row("validation samples", "9999");
    row("classes", "9");
}

void PlanTest::hashChangesWithEverything() {
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, value);
    DataCounts data = kFashion;
    std::map<QByteArray, std::int64_t*> counts = {{"samples", &data.trainSamples},
                                                  {"validation samples", &data.validationSamples},
                                                  {"classes", &data.classes}};
    test::Settings settings;
    if (counts.contains(path))
        *counts[path] = value.toLongLong();
    else
        settings = {{path.toStdString(), value.toStdString()}};
    const PlanOutcome changed = makePlan(test::smallExperiment(settings), data, {});
    QCOMPARE(sentences(changed.problems), QByteArrayList());
    QVERIFY(changed.plan.hash != planOf(test::smallExperiment()).hash);
}

void PlanTest::problems_data() {
    QTest::addColumn<QByteArrayList>("found");
    QTest::addColumn<QByteArray>("sentence");
    const auto row = [](const char* name, const spec::Experiment& experiment,
                        const DataCounts& data, const char* sentence) {
        QTest::newRow(name) << sentences(makePlan(experiment, data, {}).problems)
                            << QByteArray(sentence);
    };
    row("other pictures", test::smallExperiment(), {100, 10, {3, 32, 32}, 10},
        "model.input.shape: The model takes 1 × 28 × 28, the data gives 3 × 32 × 32. Set the input "
        "shape to 3 × 32 × 32.");
    row("no samples", test::smallExperiment(), {0, 0, {1, 28, 28}, 10},
        "data.train: The training data has no samples.");
    row("more classes", test::smallExperiment(), {100, 10, {1, 28, 28}, 11},
        "model.loss: The model ends in 10 scores, but the data has 11 classes. Give the last layer "
        "11 "
        "outputs.");
    row("an invalid experiment", test::smallExperiment({{"training.batch", "1"}}), kFashion,
        "training.batch: A batch of 1 cannot be shared by 2 ranks. Use a batch of at least 2, or 1 "
        "ranks.");
    spec::Experiment nothing = test::smallExperiment();
    nothing.model.layers = {layer("flatten", "flatten")};
    row("nothing to learn", nothing, kFashion,
        "model.layers: The model has nothing to learn. Add a linear or conv2d layer.");
}

void PlanTest::problems() {
    QFETCH(QByteArrayList, found);
    QFETCH(QByteArray, sentence);
    QCOMPARE(found, QByteArrayList{sentence});
}

void PlanTest::theFactorOfTheRateIsShown() {
    const auto factor = [](const test::Settings& settings) {
        const std::string text = toJson(planOf(test::smallExperiment(settings)));
        return QJsonDocument::fromJson(QByteArray::fromStdString(text))
            .object()[QStringLiteral("learning_rate_factor")]
            .toDouble();
    };
    QCOMPARE(factor({}), 1.0);
    QCOMPARE(factor({{"training.learning_rate_batch", "256"}}), 0.5);
}

void PlanTest::json() {
    const Plan plan = planOf(test::smallExperiment());
    const std::string text = toJson(plan);
    QJsonParseError error;
    const QJsonObject json =
        QJsonDocument::fromJson(QByteArray::fromStdString(text), &error).object();
    QCOMPARE(error.error, QJsonParseError::NoError);
    QCOMPARE(json[QStringLiteral("format")].toString(), QStringLiteral("trainyard.plan/1"));
    QCOMPARE(json[QStringLiteral("hash")].toString(), QString::number(plan.hash, 16));
    QCOMPARE(json[QStringLiteral("world_size")].toInt(), 2);
    QCOMPARE(json[QStringLiteral("steps")].toInt(), 2345);
    QCOMPARE(json[QStringLiteral("parameters")].toInteger(), plan.graph.parameterElements());
    const QJsonArray ranks = json[QStringLiteral("ranks")].toArray();
    QCOMPARE(ranks.size(), 2);
    const QJsonObject bytes = ranks[1].toObject()[QStringLiteral("bytes")].toObject();
    QCOMPARE(bytes[QStringLiteral("total")].toInteger(),
             static_cast<qint64>(plan.ranks[1].memory.total()));
    qint64 buckets = 0;
    for (const QJsonValue& bucket : json[QStringLiteral("bucket_bytes")].toArray())
        buckets += bucket.toInteger();
    QCOMPARE(buckets, static_cast<qint64>(plan.ranks[1].memory.gradients));
}

QTEST_GUILESS_MAIN(PlanTest)
#include "tst_plan.moc"
