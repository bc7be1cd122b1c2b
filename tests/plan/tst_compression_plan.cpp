// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What is planned of gradients that are compressed: which of them, their bytes, the memory beside
// them, and what a person is told.
#include "engine/plan/plan.h"
#include "tests/support/experiments.h"

#include <QtTest>

using namespace trainyard;
using namespace trainyard::plan;
using test::layer;
using test::whole;

namespace {

/// Filters, running statistics, biases, a large matrix and one that is too small for rank 8.
Plan planOf(const test::Settings& settings) {
    spec::Experiment experiment = test::smallExperiment(settings);
    experiment.model.layers = {layer("conv", "conv2d", {{"out_channels", whole(24)}}),
                               layer("norm", "batch_norm"),
                               layer("pool", "max_pool"),
                               layer("flat", "flatten"),
                               layer("wide", "linear", {{"out_features", whole(32)}}),
                               layer("relu", "relu"),
                               layer("fc", "linear", {{"out_features", whole(10)}})};
    PlanOutcome outcome = makePlan(
        experiment, {.trainSamples = 12'800, .sampleShape = {1, 28, 28}, .classes = 10}, {});
    for (const Error& problem : outcome.problems)
        qWarning("%s", problem.sentence().c_str());
    return std::move(outcome.plan);
}

Plan lowRank(const char* rank, const char* warmup = "0") {
    return planOf({{"parallel.compression", "powersgd"},
                   {"parallel.compression_rank", rank},
                   {"parallel.compression_warmup", warmup}});
}

QByteArrayList told(const Plan& plan, bool overNetwork) {
    QByteArrayList sentences;
    for (const Message& cost : compressionCosts(plan, overNetwork))
        sentences << QByteArray::fromStdString(cost.text());
    return sentences;
}

} // namespace

class CompressionPlanTest : public QObject {
    Q_OBJECT
private slots:
    void names();
    void halvesAreHalfTheBytes_data();
    void halvesAreHalfTheBytes();
    void thinMatrices();
    void costsAreSaid();
    void withoutEffect();
    void asJson();
};

void CompressionPlanTest::names() {
    for (const Compression one :
         {Compression::None, Compression::Bf16, Compression::Fp16, Compression::PowerSgd})
        QVERIFY(compressionOf(name(one)) == one);
    QVERIFY(compressionOf("topk") == Compression::None);
}

void CompressionPlanTest::halvesAreHalfTheBytes_data() {
    QTest::addColumn<QByteArray>("form");
    for (const char* form : {"bf16", "fp16"})
        QTest::newRow(form) << QByteArray(form);
}

/// All but running statistics, which are averaged as they are; one bucket in halves lies beside the
/// gradients.
void CompressionPlanTest::halvesAreHalfTheBytes() {
    QFETCH(QByteArray, form);
    const Plan plan = planOf({{"parallel.compression", form.toStdString()}});
    const Section& section = plan.sectionOf(0);
    std::size_t compressed = 0, exact = 0;
    for (const Bucket& bucket : section.buckets) {
        (bucket.compressed ? compressed : exact) += bucket.elements;
        for (const graph::ParameterId id : bucket.parameters)
            QCOMPARE(bucket.compressed, plan.graph.parameters[graph::at(id)].trained);
    }
    QVERIFY(exact > 0);
    const RankPlan& rank = plan.ranks[1];
    QCOMPARE(rank.sentPerStep.gradients, 2 * compressed + 4 * exact);
    QCOMPARE(rank.sentPerStep.uncompressedGradients, 4 * section.arenaElements);
    QCOMPARE(rank.memory.gradients, 4 * section.arenaElements + 2 * section.compressedElements());
}

/// Matrices that it makes smaller travel as two thin ones, everything else as it is; bytes and
/// memory follow from their sizes.
void CompressionPlanTest::thinMatrices() {
    const Plan plan = lowRank("8");
    const Section& section = plan.sectionOf(0);
    std::size_t exact = 0;
    QByteArrayList thin;
    for (const Bucket& bucket : section.buckets) {
        exact += bucket.compressed ? 0 : bucket.elements;
        for (const graph::ParameterId id : bucket.parameters)
            if (bucket.compressed)
                thin << QByteArray::fromStdString(plan.graph.parameters[graph::at(id)].name);
    }
    // 24 x 9 filters are 216 numbers, 8 x (24 + 9) are more; 10 x 32 are 320, 8 x (10 + 32) more.
    QCOMPARE(thin, QByteArrayList{"wide.weight"});
    const std::int64_t columns = 24 * 13 * 13; // what the pooling leaves
    const auto travels = static_cast<std::size_t>(8 * (32 + columns));
    QCOMPARE(plan.ranks[0].sentPerStep.gradients, 4 * (exact + travels));
    QCOMPARE(section.lowRank.errorElements, static_cast<std::size_t>(32 * columns));
    QCOMPARE(plan.ranks[0].memory.gradients,
             4 * (section.arenaElements + section.lowRank.errorElements + travels));
    QVERIFY(compressionSaving(plan).percent() > 60);
}

void CompressionPlanTest::costsAreSaid() {
    QCOMPARE(told(planOf({}), false), QByteArrayList());
    const QByteArray inside = "Inside one computer ranks exchange in shared memory: smaller "
                              "gradients save little time there, and making them small costs more.";
    const QByteArray slower =
        "PowerSGD costs progress on small models: after 200 steps the loss of a "
        "dense network was 24 % higher with rank 2, that of a convolutional "
        "one 18 %.";
    QCOMPARE(told(lowRank("2"), false), (QByteArrayList{inside, slower}));
    QCOMPARE(told(lowRank("3"), true), QByteArrayList{slower});
    for (const char* form : {"bf16", "fp16"})
        QCOMPARE(told(planOf({{"parallel.compression", form}}), true).size(), 1);
}

/// It is said where nothing comes of it; without other data parallel ranks nothing is compressed.
void CompressionPlanTest::withoutEffect() {
    QCOMPARE(told(lowRank("40"), false),
             QByteArrayList{"No matrix of this model is large enough for rank 40: nothing is "
                            "saved."});
    QCOMPARE(told(lowRank("1", "500"), false),
             QByteArrayList{"The run ends before the 500 updates with whole gradients do: nothing "
                            "is saved."});
    QCOMPARE(told(lowRank("1", "499"), true).size(), 1);
    const Plan alone = planOf({{"parallel.data", "1"}, {"parallel.compression", "powersgd"}});
    QVERIFY(alone.compression == Compression::None);
    QCOMPARE(alone.ranks[0].memory.gradients, alone.sectionOf(0).arenaElements * sizeof(float));
}

void CompressionPlanTest::asJson() {
    const std::string json = toJson(lowRank("3", "7"));
    for (const char* part : {"\"compression\": \"powersgd\"", "\"compression_rank\": 3",
                             "\"compression_warmup\": 7", "\"gradients_uncompressed\": "})
        QVERIFY2(json.find(part) != std::string::npos, part);
}

QTEST_APPLESS_MAIN(CompressionPlanTest)
#include "tst_compression_plan.moc"
