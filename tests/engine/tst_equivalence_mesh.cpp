// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A model cut over tensor and pipeline ranks equals one device: in fp64 to 1e-12 over 200 steps in
// loss and parameters. Micro-batches of a pipeline are those of one device that accumulates.
#include "tests/support/rank_harness.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// Sanitizers look at how ranks work together, which all steps do alike, and take ten times as
/// long.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::int64_t kSteps = 12;
#else
constexpr std::int64_t kSteps = 200;
#endif

spec::LayerSpec layer(std::string id, std::string type, spec::Values values = {}) {
    return {std::move(id), std::move(type), {}, std::move(values)};
}

std::int64_t whole(std::int64_t value) {
    return value;
}

/// Like those of the harness, with sizes that four ranks can share, and enough layers for eight
/// stages.
spec::Experiment mlp() {
    spec::Experiment experiment = mlpExperiment();
    experiment.model.layers = {layer("fc1", "linear", {{"out_features", whole(16)}}),
                               layer("relu1", "relu"),
                               layer("drop1", "dropout", {{"probability", 0.3}}),
                               layer("fc2", "linear", {{"out_features", whole(12)}}),
                               layer("tanh2", "tanh"),
                               layer("fc3", "linear", {{"out_features", whole(8)}}),
                               layer("silu3", "silu"),
                               layer("fc4", "linear", {{"out_features", whole(5)}})};
    return experiment;
}

/// Skip connections; batch norms over all ranks' rows.
spec::Experiment pictures() {
    spec::Experiment experiment = residualExperiment();
    experiment.name = "pictures";
    // Batch norms over a few rows make every rounding larger at each step; small steps less so.
    experiment.training.optimizer.values["learning_rate"] = 0.004;
    experiment.model.layers = {
        layer("conv", "conv2d", {{"out_channels", whole(8)}, {"bias", false}}),
        layer("norm", "batch_norm"),
        layer("relu", "relu"),
        layer("same", "residual_block", {{"out_channels", whole(8)}}),
        layer("half", "residual_block",
              {{"out_channels", whole(12)}, {"stride", std::vector<std::int64_t>{2, 2}}}),
        layer("flat", "flatten"),
        layer("drop", "dropout", {{"probability", 0.2}}),
        layer("wide", "linear", {{"out_features", whole(8)}}),
        layer("act", "gelu"),
        layer("fc", "linear", {{"out_features", whole(4)}})};
    return experiment;
}

/// Tied weights at both ends of the pipeline, of words that do not divide, or a table and a head of
/// their own.
spec::Experiment words(bool tied) {
    spec::Experiment experiment = gptExperiment();
    experiment.name = tied ? "gpt" : "gpt with a cut vocabulary";
    const std::int64_t count = tied ? 13 : 12;
    experiment.model.layers = {
        layer("words", "embedding", {{"vocabulary", count}, {"features", whole(8)}}),
        layer("positions", "position_embedding"),
        layer("drop", "dropout", {{"probability", 0.1}}),
        layer("block1", "transformer_block", {{"heads", whole(4)}, {"dropout", 0.2}}),
        layer("block2", "transformer_block",
              {{"heads", whole(4)},
               {"kv_heads", whole(2)},
               {"rotary", true},
               {"norm", std::string("rms_norm")},
               {"activation", std::string("silu")}}),
        layer("block3", "transformer_block", {{"heads", whole(4)}, {"feed_forward", whole(12)}}),
        layer("norm", "layer_norm"),
        layer("scores", "linear", {{"out_features", count}, {"bias", !tied}})};
    if (tied)
        experiment.model.layers.back().values["tied_to"] = std::string("words");
    return experiment;
}

/// The head is not the second of a pair, so its classes are shared.
spec::Experiment classifier() {
    spec::Experiment experiment = mlp();
    experiment.name = "classifier";
    experiment.model.layers.back() = layer("fc4", "linear", {{"out_features", whole(8)}});
    experiment.model.layers.push_back(layer("relu4", "relu"));
    experiment.model.layers.push_back(layer("fc5", "linear", {{"out_features", whole(12)}}));
    experiment.model.layers.push_back(layer("flat", "flatten"));
    experiment.model.loss = {"cross_entropy", {{"label_smoothing", 0.1}}};
    return experiment;
}

std::vector<spec::Experiment> models() {
    return {mlp(), pictures(), words(true), words(false), classifier()};
}

struct Cell {
    int data, tensor, pipeline;
    const char* schedule = "1f1b";
    int microBatches = 1;
};

const std::vector<Cell> kCells = {
    {1, 2, 1},
    {1, 4, 1},
    {1, 2, 1, "1f1b", 3},
    {1, 1, 2, "gpipe", 4},
    {1, 1, 2, "1f1b", 4},
    {1, 1, 2, "interleaved", 4},
    {1, 1, 4, "gpipe", 4},
    {1, 1, 4, "1f1b", 4},
    {1, 1, 4, "interleaved", 4},
    {1, 1, 3, "1f1b", 1},
    {2, 2, 1},
    {2, 1, 2, "1f1b", 2},
    {1, 2, 2, "1f1b", 2},
    {1, 2, 2, "interleaved", 2},
    {2, 2, 2, "gpipe", 2},
    {2, 2, 2, "1f1b", 4},
};

std::vector<double> numbers(const std::vector<std::byte>& bytes) {
    std::vector<double> out(bytes.size() / sizeof(double));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double difference = 0;
    double length = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        length += b[i] * b[i];
    }
    return std::sqrt(difference / length);
}

double largestRelative(const std::vector<double>& a, const std::vector<double>& b) {
    double worst = 0;
    for (std::size_t i = 0; i < b.size(); ++i)
        worst = std::max(worst, std::abs(a[i] - b[i]) / std::abs(b[i]));
    return worst;
}

void onMesh(spec::Experiment& experiment, const Cell& cell) {
    experiment.parallel.data = cell.data;
    experiment.parallel.tensor = cell.tensor;
    experiment.parallel.pipeline = cell.pipeline;
    experiment.parallel.schedule = cell.schedule;
    experiment.parallel.microBatches = cell.microBatches;
}

/// The same rows at once, on data parallel ranks only where a batch norm sees which those are.
void onOneDevice(spec::Experiment& experiment, const Cell& cell) {
    const bool seesTheBatch = experiment.name == "pictures" && cell.microBatches > 1;
    experiment.parallel.data = seesTheBatch ? cell.data : 1;
    experiment.parallel.accumulate = cell.microBatches;
}

void verifyEqual(const std::vector<RankOutcome>& ranks, const RankOutcome& one, double tolerance) {
    for (const RankOutcome& rank : ranks) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QVERIFY(rank.losses == ranks.front().losses);
        QVERIFY(rank.gradientNorms == ranks.front().gradientNorms);
        QVERIFY(rank.parameters == ranks.front().parameters);
        QCOMPARE(rank.losses.size(), one.losses.size());
        QCOMPARE(rank.realMemory.parameters, rank.plannedMemory.parameters);
        QCOMPARE(rank.realMemory.gradients, rank.plannedMemory.gradients);
        QCOMPARE(rank.realMemory.optimizer, rank.plannedMemory.optimizer);
        QCOMPARE(rank.realMemory.activations, rank.plannedMemory.activations);
    }
    const double loss = largestRelative(ranks.front().losses, one.losses);
    QVERIFY2(loss < tolerance, qPrintable(QString::number(loss)));
    const double norms = largestRelative(ranks.front().gradientNorms, one.gradientNorms);
    QVERIFY2(norms < 100 * tolerance, qPrintable(QString::number(norms)));
    const double parameters = distance(numbers(ranks.front().parameters), numbers(one.parameters));
    QVERIFY2(parameters < tolerance, qPrintable(QString::number(parameters)));
}

} // namespace

Q_DECLARE_METATYPE(Cell)
Q_DECLARE_METATYPE(std::vector<int>)

class EquivalenceMeshTest : public QObject {
    Q_OBJECT

private slots:
    void equalsOneDevice_data();
    void equalsOneDevice();
    void shardedHeadsEqualOneDevice_data();
    void shardedHeadsEqualOneDevice();
    void withEverythingElse_data();
    void withEverythingElse();
    void validationEqualsOneDevice_data();
    void validationEqualsOneDevice();
    void staysNearInLessPrecision_data();
    void staysNearInLessPrecision();
    void overlappedIsBitEqual_data();
    void overlappedIsBitEqual();
    void overGlooIsBitEqual_data();
    void overGlooIsBitEqual();
    void onSeveralHostsIsBitEqual_data();
    void onSeveralHostsIsBitEqual();
    void memoryIsShared();
};

void EquivalenceMeshTest::equalsOneDevice_data() {
    QTest::addColumn<int>("model");
    QTest::addColumn<int>("cell");
    for (std::size_t m = 0; m < models().size(); ++m)
        for (std::size_t c = 0; c < kCells.size(); ++c) {
            const Cell& cell = kCells[c];
            QTest::addRow("%s data=%d tensor=%d pipeline=%d %s micro-batches=%d",
                          models()[m].name.c_str(), cell.data, cell.tensor, cell.pipeline,
                          cell.schedule, cell.microBatches)
                << static_cast<int>(m) << static_cast<int>(c);
        }
}

void EquivalenceMeshTest::equalsOneDevice() {
    QFETCH(int, model);
    QFETCH(int, cell);
    spec::Experiment experiment = models()[static_cast<std::size_t>(model)];
    const Cell& place = kCells[static_cast<std::size_t>(cell)];
    // The last batch of an epoch has 5 rows, so that some micro-batches have one row or none.
    const HarnessOptions options{.samples = 37, .steps = kSteps};
    spec::Experiment alone = experiment;
    onOneDevice(alone, place);
    const RankOutcome one = trainOnThreads(alone, options).front();
    QVERIFY2(one.error.empty(), one.error.c_str());
    onMesh(experiment, place);
    verifyEqual(trainOnThreads(experiment, options), one, 1e-12);
}

void EquivalenceMeshTest::shardedHeadsEqualOneDevice_data() {
    QTest::addColumn<int>("model");
    QTest::addColumn<std::int64_t>("zero");
    for (const int model : {2, 3, 4})
        for (const std::int64_t zero : {1, 2, 3})
            QTest::addRow("%s ZeRO %d", models()[static_cast<std::size_t>(model)].name.c_str(),
                          static_cast<int>(zero))
                << model << zero;
}

/// Slices of a table and of a head, in shards of the data parallel ranks.
void EquivalenceMeshTest::shardedHeadsEqualOneDevice() {
    QFETCH(int, model);
    QFETCH(std::int64_t, zero);
    const Cell cell{2, 2, 1};
    spec::Experiment experiment = models()[static_cast<std::size_t>(model)];
    const HarnessOptions options{.samples = 37, .steps = kSteps};
    spec::Experiment alone = experiment;
    onOneDevice(alone, cell);
    const RankOutcome one = trainOnThreads(alone, options).front();
    QVERIFY2(one.error.empty(), one.error.c_str());
    onMesh(experiment, cell);
    experiment.parallel.zero = zero;
    verifyEqual(trainOnThreads(experiment, options), one, 1e-12);
}

void EquivalenceMeshTest::withEverythingElse_data() {
    QTest::addColumn<int>("model");
    for (std::size_t m = 0; m < models().size(); ++m)
        QTest::addRow("%s", models()[m].name.c_str()) << static_cast<int>(m);
}

/// ZeRO over the data axis, recompute, accumulation, clipping, a moving average: all at once.
void EquivalenceMeshTest::withEverythingElse() {
    QFETCH(int, model);
    spec::Experiment experiment = models()[static_cast<std::size_t>(model)];
    experiment.training.optimizer = {"adamw", {{"learning_rate", 0.002}}};
    experiment.training.clipNorm = 0.5;
    experiment.training.emaDecay = 0.9;
    const Cell cell{2, 2, 2, "1f1b", 4};
    const HarnessOptions options{.samples = 37, .steps = std::min<std::int64_t>(kSteps, 60)};
    spec::Experiment alone = experiment;
    onOneDevice(alone, cell);
    const RankOutcome one = trainOnThreads(alone, options).front();
    QVERIFY2(one.error.empty(), one.error.c_str());
    onMesh(experiment, {2, 2, 2, "1f1b", 2});
    experiment.parallel.accumulate = 2;
    experiment.parallel.recompute = "blocks";
    for (const std::int64_t zero : {1, 2, 3}) {
        const bool tied = experiment.name == "gpt"; // refused: see tst_mesh
        experiment.parallel.zero = tied ? 1 : zero;
        verifyEqual(trainOnThreads(experiment, options), one, 1e-10);
    }
}

void EquivalenceMeshTest::validationEqualsOneDevice_data() {
    equalsOneDevice_data();
}

/// Each row counts once, wherever the classes are; the table of labels against predictions, too.
void EquivalenceMeshTest::validationEqualsOneDevice() {
    QFETCH(int, model);
    QFETCH(int, cell);
    spec::Experiment experiment = models()[static_cast<std::size_t>(model)];
    const Cell& place = kCells[static_cast<std::size_t>(cell)];
    const HarnessOptions options{.samples = 37, .steps = 3, .validates = true};
    spec::Experiment alone = experiment;
    onOneDevice(alone, place);
    const RankOutcome one = trainOnThreads(alone, options).front();
    QVERIFY2(one.error.empty(), one.error.c_str());
    QVERIFY(one.validation[engine::kCounted] > 0);
    onMesh(experiment, place);
    for (const RankOutcome& rank : trainOnThreads(experiment, options)) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QCOMPARE(rank.realMemory.activations, rank.plannedMemory.activations);
        QCOMPARE(rank.validation.rows, one.validation.rows);
        for (const engine::LossSum sum : {engine::kCounted, engine::kCorrect, engine::kCorrectTop5})
            QCOMPARE(rank.validation[sum], one.validation[sum]);
        QVERIFY(std::abs(rank.validation.meanLoss() - one.validation.meanLoss()) <
                1e-12 * one.validation.meanLoss());
        QVERIFY(rank.confusion == one.confusion);
    }
}

void EquivalenceMeshTest::staysNearInLessPrecision_data() {
    QTest::addColumn<int>("model");
    QTest::addColumn<int>("cell");
    QTest::addColumn<bool>("half");
    for (const bool half : {false, true})
        for (std::size_t m = 0; m < models().size(); ++m)
            for (const int cell : {0, 1, 10, 12}) {
                const Cell& place = kCells[static_cast<std::size_t>(cell)];
                QTest::addRow("%s %s data=%d tensor=%d pipeline=%d", half ? "bf16" : "fp32",
                              models()[m].name.c_str(), place.data, place.tensor, place.pipeline)
                    << static_cast<int>(m) << cell << half;
            }
}

/// With the kernels of the processor, which add up in another order; ranks are bit-equal still.
void EquivalenceMeshTest::staysNearInLessPrecision() {
    QFETCH(int, model);
    QFETCH(int, cell);
    QFETCH(bool, half);
    if (half && !engine::cpuBackendSupports(DType::Bf16))
        QSKIP("this processor has no matrix unit");
    spec::Experiment experiment = models()[static_cast<std::size_t>(model)];
    experiment.precision = half ? spec::Precision::Bf16 : spec::Precision::Fp32;
    const HarnessOptions options{.samples = 37, .steps = 20, .validates = true};
    spec::Experiment alone = experiment;
    onOneDevice(alone, kCells[static_cast<std::size_t>(cell)]);
    const RankOutcome one = trainOnThreads(alone, options).front();
    QVERIFY2(one.error.empty(), one.error.c_str());
    onMesh(experiment, kCells[static_cast<std::size_t>(cell)]);
    const std::vector<RankOutcome> ranks = trainOnThreads(experiment, options);
    for (const RankOutcome& rank : ranks) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QVERIFY(rank.losses == ranks.front().losses);
        QVERIFY(rank.parameters == ranks.front().parameters);
        QVERIFY(rank.validation.values == ranks.front().validation.values);
        QCOMPARE(rank.realMemory.activations, rank.plannedMemory.activations);
    }
    const double loss = largestRelative(ranks.front().losses, one.losses);
    // Batch norms over a few rows amplify how kernels round, which differs from form to form.
    const double limit = half ? 0.02 : experiment.name == "pictures" ? 2e-3 : 1e-5;
    QVERIFY2(loss < limit, qPrintable(QString::number(loss)));
}

void EquivalenceMeshTest::overlappedIsBitEqual_data() {
    QTest::addColumn<int>("model");
    QTest::addColumn<int>("zero");
    for (std::size_t m = 0; m < models().size(); ++m)
        for (const int zero : {0, 1, 2, 3})
            QTest::addRow("%s ZeRO %d", models()[m].name.c_str(), zero)
                << static_cast<int>(m) << zero;
}

/// Communication beside computing changes when things happen, not what.
void EquivalenceMeshTest::overlappedIsBitEqual() {
    QFETCH(int, model);
    QFETCH(int, zero);
    spec::Experiment experiment = models()[static_cast<std::size_t>(model)];
    experiment.parallel.data = 3;
    experiment.parallel.accumulate = 2;
    experiment.parallel.zero = zero;
    HarnessOptions options{.samples = 37, .steps = std::min<std::int64_t>(kSteps, 60)};
    const RankOutcome inOrder = trainOnThreads(experiment, options).front();
    QVERIFY2(inOrder.error.empty(), inOrder.error.c_str());
    options.overlaps = true;
    for (const RankOutcome& rank : trainOnThreads(experiment, options)) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QVERIFY(rank.losses == inOrder.losses);
        QVERIFY(rank.parameters == inOrder.parameters);
    }
    onMesh(experiment, {2, 2, 2, "1f1b", 2});
    experiment.parallel.accumulate = 1;
    if (zero > 1 && experiment.name == "gpt")
        return; // refused: see tst_mesh
    const auto beside = trainOnThreads(experiment, options);
    options.overlaps = false;
    const auto before = trainOnThreads(experiment, options);
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
        QVERIFY2(beside[rank].error.empty(), beside[rank].error.c_str());
        QVERIFY(beside[rank].losses == before[rank].losses);
        QVERIFY(beside[rank].parameters == before[rank].parameters);
    }
}

void EquivalenceMeshTest::overGlooIsBitEqual_data() {
    QTest::addColumn<int>("model");
    QTest::addColumn<int>("cell");
    QTest::addColumn<int>("zero");
    const auto row = [](int model, int cell, int zero) {
        const Cell& place = kCells[static_cast<std::size_t>(cell)];
        QTest::addRow("%s data=%d tensor=%d pipeline=%d %s ZeRO %d",
                      models()[static_cast<std::size_t>(model)].name.c_str(), place.data,
                      place.tensor, place.pipeline, place.schedule, zero)
            << model << cell << zero;
    };
    for (int model = 0; model < 5; ++model)
        for (const int cell : {0, 4, 10, 11, 13, 15})
            row(model, cell, 0);
    for (const int zero : {1, 2, 3})
        row(3, 10, zero);
}

/// The same sums in the same order, whatever carries them: each rank as if on a host of its own,
/// the communication lane beside the compute lane.
void EquivalenceMeshTest::overGlooIsBitEqual() {
    QFETCH(int, model);
    QFETCH(int, cell);
    QFETCH(int, zero);
    spec::Experiment experiment = models()[static_cast<std::size_t>(model)];
    onMesh(experiment, kCells[static_cast<std::size_t>(cell)]);
    experiment.parallel.zero = zero;
    HarnessOptions options{.samples = 37, .steps = 10};
    const auto shared = trainOnThreads(experiment, options);
    options.overGloo = true;
    options.overlaps = true;
    const auto gloo = trainOnThreads(experiment, options);
    for (std::size_t rank = 0; rank < shared.size(); ++rank) {
        QVERIFY2(gloo[rank].error.empty(), gloo[rank].error.c_str());
        QVERIFY(gloo[rank].losses == shared[rank].losses);
        QVERIFY(gloo[rank].parameters == shared[rank].parameters);
    }
}

void EquivalenceMeshTest::onSeveralHostsIsBitEqual_data() {
    QTest::addColumn<int>("model");
    QTest::addColumn<Cell>("cell");
    QTest::addColumn<int>("zero");
    QTest::addColumn<std::vector<int>>("hosts");
    const auto row = [](int model, const Cell& cell, int zero, const std::vector<int>& hosts) {
        std::string text;
        for (const int host : hosts)
            text += ' ' + std::to_string(host);
        QTest::addRow("%s data=%d tensor=%d pipeline=%d ZeRO %d on hosts%s",
                      models()[static_cast<std::size_t>(model)].name.c_str(), cell.data,
                      cell.tensor, cell.pipeline, zero, text.c_str())
            << model << cell << zero << hosts;
    };
    for (int model = 0; model < 4; ++model) {
        row(model, {4, 1, 1}, 0, {0, 0, 1, 1});
        row(model, {2, 2, 1}, 0, {0, 0, 1, 1});
        row(model, {1, 2, 2, "1f1b", 2}, 0, {0, 1, 1, 2});
    }
    for (const int zero : {1, 2, 3})
        row(3, {4, 1, 1}, zero, {0, 0, 1, 1});
    row(0, {2, 2, 1}, 3, {0, 1, 0, 1}); // no chain of hosts: Gloo alone
    row(3, {2, 2, 2, "1f1b", 2}, 0, {0, 0, 0, 1, 1, 2, 2, 2});
}

/// Shared memory inside hosts and TCP between them: groups of all kinds at work at once.
void EquivalenceMeshTest::onSeveralHostsIsBitEqual() {
    QFETCH(int, model);
    QFETCH(Cell, cell);
    QFETCH(int, zero);
    QFETCH(std::vector<int>, hosts);
    spec::Experiment experiment = models()[static_cast<std::size_t>(model)];
    onMesh(experiment, cell);
    experiment.parallel.zero = zero;
    HarnessOptions options{.samples = 37, .steps = 10};
    const auto shared = trainOnThreads(experiment, options);
    options.hosts = hosts;
    options.overlaps = true;
    const auto several = trainOnThreads(experiment, options);
    for (std::size_t rank = 0; rank < shared.size(); ++rank) {
        QVERIFY2(several[rank].error.empty(), several[rank].error.c_str());
        QVERIFY(several[rank].losses == shared[rank].losses);
        QVERIFY(several[rank].parameters == shared[rank].parameters);
    }
}

void EquivalenceMeshTest::memoryIsShared() {
    spec::Experiment experiment = words(false);
    const HarnessOptions options{.steps = 1};
    const plan::MemoryByClass alone = trainOnThreads(experiment, options).front().realMemory;
    onMesh(experiment, {1, 2, 2});
    for (const RankOutcome& rank : trainOnThreads(experiment, options)) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QVERIFY(rank.realMemory.parameters * 5 < alone.parameters * 2);
        QVERIFY(rank.realMemory.activations * 10 < alone.activations * 7);
    }
}

QTEST_APPLESS_MAIN(EquivalenceMeshTest)
#include "tst_equivalence_mesh.moc"
