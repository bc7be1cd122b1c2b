// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Every strategy equals one device. In fp64 to 1e-12 over 200 steps in loss and parameters; in fp32
// as far as fp32 can: step-0 gradients 1e-6, losses of 20 steps 1e-5. Ranks are bit-equal to each
// other and runs to each other.
#include "engine/backend/backend.h"
#include "tests/support/rank_harness.h"

#include <QTest>

#include <atomic>
#include <cmath>
#include <cstring>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

template <class Real>
std::vector<double> numbers(const std::vector<std::byte>& bytes) {
    std::vector<double> out(bytes.size() / sizeof(Real));
    for (std::size_t i = 0; i < out.size(); ++i) {
        Real value;
        std::memcpy(&value, bytes.data() + i * sizeof(Real), sizeof(Real));
        out[i] = static_cast<double>(value);
    }
    return out;
}

/// L2 distance over L2 length.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double difference = 0;
    double length = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        length += b[i] * b[i];
    }
    return std::sqrt(difference / length);
}

double largestRelative(const std::vector<double>& a, const std::vector<double>& b,
                       std::size_t count) {
    double worst = 0;
    for (std::size_t i = 0; i < count; ++i)
        worst = std::max(worst, std::abs(a[i] - b[i]) / std::abs(b[i]));
    return worst;
}

/// All that this machine computes in.
std::vector<spec::Precision> precisions() {
    std::vector<spec::Precision> all = {spec::Precision::Fp64, spec::Precision::Fp32};
    if (engine::cpuBackendSupports(DType::Bf16))
        all.push_back(spec::Precision::Bf16);
    return all;
}

} // namespace

class TestEquivalenceFp64 : public QObject {
    Q_OBJECT

private slots:
    void dataParallel_data();
    void dataParallel();
    void accumulated_data();
    void accumulated();
    void microBatchesTakeLessMemory();
    void sharded_data();
    void sharded();
    void shardsTakeLessMemory();
    void unevenShares_data();
    void unevenShares();
    void measuredShares_data();
    void measuredShares();
    void bucketsDoNotChangeBits();
    void recomputedIsBitEqual_data();
    void recomputedIsBitEqual();
    void optimizersDataParallel_data();
    void optimizersDataParallel();
    void dataParallelFp32_data();
    void dataParallelFp32();
    void bf16TrainsLikeFp32_data();
    void bf16TrainsLikeFp32();
    void runsAreBitEqual();
    void plannedMemoryIsReal();
    void wrongReplicasAreFound();
    void stopIsAgreedOn();
    void lossFalls();
    void averageIsOfTheWeights();
    void bestWeightsComeBack();
};

namespace {

spec::Experiment model(const QString& name) {
    for (const spec::Experiment& experiment : harnessExperiments())
        if (name == QString::fromStdString(experiment.name))
            return experiment;
    qFatal("no such model");
}

/// Of batches of 8: the last one of an epoch has 5 rows, or with four ranks only 2, so that two
/// ranks have none.
HarnessOptions optionsFor(int world, std::int64_t steps) {
    return {.samples = world == 4 ? 34 : 37, .steps = steps};
}

spec::Experiment stoppingEarly(spec::Experiment experiment) {
    experiment.data.validationFraction = 0.1;
    experiment.training.earlyStopping.emplace();
    experiment.training.emaDecay = 0.5;
    return experiment;
}

std::vector<double> parametersOf(const engine::Executor& executor) {
    const std::span<const std::byte> bytes = executor.parameters();
    return numbers<double>({bytes.begin(), bytes.end()});
}

void addCells() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("world");
    for (const spec::Experiment& experiment : harnessExperiments())
        for (const int world : {2, 3, 4}) {
            const QString name = QString::fromStdString(experiment.name);
            QTest::newRow(qPrintable(QStringLiteral("%1 data=%2").arg(name).arg(world)))
                << name << world;
        }
}

} // namespace

void TestEquivalenceFp64::dataParallel_data() {
    addCells();
}

void TestEquivalenceFp64::dataParallel() {
    QFETCH(QString, name);
    QFETCH(int, world);
    spec::Experiment experiment = model(name);
    const HarnessOptions options = optionsFor(world, 200);
    const RankOutcome one = trainOnThreads(experiment, options).front();
    QVERIFY2(one.error.empty(), one.error.c_str());
    experiment.parallel.data = world;
    const auto many = trainOnThreads(experiment, options);
    for (const RankOutcome& rank : many) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QVERIFY(rank.parameters == many.front().parameters);
        QVERIFY(rank.losses == many.front().losses);
    }
    QCOMPARE(one.losses.size(), std::size_t{200});
    QCOMPARE(many.front().losses.size(), std::size_t{200});
    // A batch norm over the few rows of a last batch divides by a small deviation, which the sums
    // over ranks give with fewer digits: variance = mean of squares - square of mean.
    const double tolerance = name == "regression" ? 1e-9 : 1e-12;
    const double loss = largestRelative(many.front().losses, one.losses, 200);
    QVERIFY2(loss < tolerance, qPrintable(QString::number(loss)));
    // Padding differs between world sizes, parameters do not: compare by norm of the common layout.
    const auto a = numbers<double>(many.front().parameters);
    const auto b = numbers<double>(one.parameters);
    const double parameters = distance(a, b);
    QVERIFY2(parameters < tolerance, qPrintable(QString::number(parameters)));
}

void TestEquivalenceFp64::accumulated_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("world");
    QTest::addColumn<int>("parts");
    for (const spec::Experiment& experiment : harnessExperiments())
        for (const auto& [world, parts] : {std::pair{1, 2}, {1, 4}, {2, 4}, {3, 3}}) {
            const QString name = QString::fromStdString(experiment.name);
            QTest::newRow(qPrintable(
                QStringLiteral("%1 data=%2 accumulate=%3").arg(name).arg(world).arg(parts)))
                << name << world << parts;
        }
}

/// Micro-batches equal the whole batch, where no batch norm sees how many rows there are at once.
void TestEquivalenceFp64::accumulated() {
    QFETCH(QString, name);
    QFETCH(int, world);
    QFETCH(int, parts);
    spec::Experiment experiment = model(name);
    for (spec::LayerSpec& layer : experiment.model.layers)
        if (layer.type == "batch_norm")
            layer = {layer.id, "tanh", layer.from, {}};
    const bool seesTheBatch = name == "residual"; // in its blocks
    const HarnessOptions options = optionsFor(world, seesTheBatch ? 20 : 200);
    const RankOutcome one = trainOnThreads(experiment, options).front();
    experiment.parallel.data = world;
    experiment.parallel.accumulate = parts;
    const auto many = trainOnThreads(experiment, options);
    for (const RankOutcome& rank : many) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QVERIFY(rank.parameters == many.front().parameters);
        QCOMPARE(rank.losses.size(), one.losses.size());
    }
    const double loss = largestRelative(many.front().losses, one.losses, one.losses.size());
    if (seesTheBatch) {
        QVERIFY2(loss > 1e-6, "statistics of parts are not those of the whole");
        QVERIFY(trainOnThreads(experiment, options).front().losses == many.front().losses);
        return;
    }
    QVERIFY2(loss < 1e-12, qPrintable(QString::number(loss)));
    const double parameters =
        distance(numbers<double>(many.front().parameters), numbers<double>(one.parameters));
    QVERIFY2(parameters < 1e-12, qPrintable(QString::number(parameters)));
}

void TestEquivalenceFp64::microBatchesTakeLessMemory() {
    spec::Experiment experiment = cnnExperiment();
    const auto activations = [&](std::int64_t parts) {
        experiment.parallel.accumulate = parts;
        const RankOutcome outcome = trainOnThreads(experiment, {.steps = 1}).front();
        return outcome.realMemory.activations;
    };
    const std::size_t whole = activations(1);
    const std::size_t rounding = 64 * 20; // each buffer is rounded up to 64 bytes
    QVERIFY(activations(2) <= whole / 2 + rounding);
    QVERIFY(activations(8) <= whole / 8 + rounding);
}

void TestEquivalenceFp64::sharded_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("world");
    QTest::addColumn<int>("zero");
    for (const spec::Experiment& experiment : harnessExperiments())
        for (const int world : {2, 3, 4})
            for (const int zero : {1, 2, 3}) {
                const QString name = QString::fromStdString(experiment.name);
                QTest::newRow(
                    qPrintable(QStringLiteral("%1 data=%2 ZeRO %3").arg(name).arg(world).arg(zero)))
                    << name << world << zero;
            }
}

/// ZeRO adds the same numbers in the same order: bit-equal to ranks that each have everything, with
/// a share of it. With clipping the norm is added up over ranks, so its last bits differ.
void TestEquivalenceFp64::sharded() {
    QFETCH(QString, name);
    QFETCH(int, world);
    QFETCH(int, zero);
    spec::Experiment experiment = model(name);
    experiment.training.optimizer = {"adamw", {}};
    experiment.training.emaDecay = 0.9;
    experiment.parallel.data = world;
    const HarnessOptions options = optionsFor(world, 60);
    const RankOutcome whole = trainOnThreads(experiment, options).front();
    experiment.parallel.zero = zero;
    for (const RankOutcome& rank : trainOnThreads(experiment, options)) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QVERIFY(rank.losses == whole.losses);
        QVERIFY(rank.parameters == whole.parameters);
        QCOMPARE(rank.realMemory.parameters, rank.plannedMemory.parameters);
        QCOMPARE(rank.realMemory.gradients, rank.plannedMemory.gradients);
        QCOMPARE(rank.realMemory.optimizer, rank.plannedMemory.optimizer);
        QCOMPARE(rank.realMemory.activations, rank.plannedMemory.activations);
    }
    experiment.training.clipNorm = 0.1;
    experiment.parallel.accumulate = name == "residual" || name == "regression" ? 1 : 2;
    const RankOutcome clipped = trainOnThreads(experiment, options).front();
    experiment.parallel.zero = 0;
    const RankOutcome reference = trainOnThreads(experiment, options).front();
    QVERIFY(clipped.losses != whole.losses);
    const double loss = largestRelative(clipped.losses, reference.losses, reference.losses.size());
    QVERIFY2(loss < 1e-11, qPrintable(QString::number(loss)));
}

/// A rank of n holds 1/n of what a stage shards, and of the rest only what it works on.
void TestEquivalenceFp64::shardsTakeLessMemory() {
    spec::Experiment experiment = mlpExperiment();
    experiment.training.optimizer = {"adamw", {}};
    std::size_t widest = 0; // elements of the largest layer
    for (spec::LayerSpec& layer : experiment.model.layers)
        if (layer.type == "linear" && layer.id == "fc1")
            layer.values["out_features"] = std::int64_t{64};
    for (int i = 0; i < 6; ++i)
        experiment.model.layers.insert(
            experiment.model.layers.begin() + 3,
            {"more" + std::to_string(i), "linear", {}, {{"out_features", std::int64_t{64}}}});
    widest = 64 * 64 + 64;
    experiment.parallel.data = 4;
    const auto memory = [&](std::int64_t zero) {
        experiment.parallel.zero = zero;
        return trainOnThreads(experiment, {.steps = 1}).front().realMemory;
    };
    const plan::MemoryByClass whole = memory(0);
    const std::size_t layer = widest * sizeof(double);
    const std::size_t padding = 8 * 4 * 64; // of each bucket to what four ranks divide
    QCOMPARE(memory(1).optimizer, whole.optimizer / 4);
    QCOMPARE(memory(2).optimizer, whole.optimizer / 4);
    const plan::MemoryByClass three = memory(3);
    QVERIFY(three.optimizer <= whole.optimizer / 4 + padding);
    QVERIFY2(three.parameters <= whole.parameters / 4 + layer + padding,
             qPrintable(QStringLiteral("%1 of %2").arg(three.parameters).arg(whole.parameters)));
    QVERIFY(three.gradients <= whole.gradients / 4 + layer + padding);
}

void TestEquivalenceFp64::unevenShares_data() {
    QTest::addColumn<QString>("name");
    for (const spec::Experiment& experiment : harnessExperiments())
        QTest::newRow(experiment.name.c_str()) << QString::fromStdString(experiment.name);
}

/// Ranks that take unlike shares of the batch train as one device does.
void TestEquivalenceFp64::unevenShares() {
    QFETCH(QString, name);
    spec::Experiment experiment = model(name);
    const HarnessOptions options = optionsFor(3, 200);
    const RankOutcome one = trainOnThreads(experiment, options).front();
    experiment.parallel.data = 3;
    experiment.parallel.shares = {1, 4.5, 0.5}; // of 8 rows: 1, 6, 1; of 5: 1, 4, 0
    for (const RankOutcome& rank : trainOnThreads(experiment, options)) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        const double tolerance = name == "regression" ? 1e-9 : 1e-12;
        const double loss = largestRelative(rank.losses, one.losses, 200);
        QVERIFY2(loss < tolerance, qPrintable(QString::number(loss)));
        const double parameters =
            distance(numbers<double>(rank.parameters), numbers<double>(one.parameters));
        QVERIFY2(parameters < tolerance, qPrintable(QString::number(parameters)));
    }
}

void TestEquivalenceFp64::measuredShares_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("pipeline");
    for (const spec::Experiment& experiment : harnessExperiments())
        QTest::newRow(experiment.name.c_str()) << QString::fromStdString(experiment.name) << 1;
    for (const char* name : {"mlp", "cnn", "gpt"}) // batch norms look at one micro-batch at a time
        QTest::addRow("%s in two stages", name) << QString::fromLatin1(name) << 2;
}

/// Likewise where shares, and cuts of a pipeline, follow from speeds.
void TestEquivalenceFp64::measuredShares() {
    QFETCH(QString, name);
    QFETCH(int, pipeline);
    spec::Experiment experiment = model(name);
    HarnessOptions options = optionsFor(2, 200);
    const RankOutcome one = trainOnThreads(experiment, options).front();
    experiment.parallel.data = 2;
    experiment.parallel.pipeline = pipeline;
    experiment.parallel.microBatches = pipeline;
    experiment.parallel.balance = "measured";
    options.speeds = {5, 2}; // of 8 rows: 6, 2
    if (pipeline == 2)
        options.speeds = {5, 2, 1, 1};
    const double tolerance = name == "regression" ? 1e-9 : 1e-12;
    for (const RankOutcome& rank : trainOnThreads(experiment, options)) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        const double loss = largestRelative(rank.losses, one.losses, 200);
        QVERIFY2(loss < tolerance, qPrintable(QString::number(loss)));
        const double parameters =
            distance(numbers<double>(rank.parameters), numbers<double>(one.parameters));
        QVERIFY2(parameters < tolerance, qPrintable(QString::number(parameters)));
        QCOMPARE(rank.realMemory.total(), rank.plannedMemory.total());
    }
}

/// Sums are added in the order of the ranks, element by element.
void TestEquivalenceFp64::bucketsDoNotChangeBits() {
    for (const std::int64_t zero : {0, 1, 3}) {
        spec::Experiment experiment = model(QStringLiteral("gpt"));
        experiment.precision = spec::Precision::Fp32;
        experiment.parallel.data = 2;
        experiment.parallel.zero = zero;
        const HarnessOptions options = optionsFor(2, 20);
        const RankOutcome usual = trainOnThreads(experiment, options).front();
        for (const std::int64_t bytes : {4'096, 8'192, 65'536}) {
            experiment.parallel.bucketBytes = bytes;
            for (const RankOutcome& rank : trainOnThreads(experiment, options)) {
                QVERIFY2(rank.error.empty(), rank.error.c_str());
                QVERIFY(rank.parameters == usual.parameters);
                QVERIFY(rank.losses == usual.losses);
            }
        }
    }
}

void TestEquivalenceFp64::recomputedIsBitEqual_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("world");
    for (const char* name : {"residual", "gpt"})
        for (const int world : {1, 3})
            QTest::newRow(
                qPrintable(QStringLiteral("%1 data=%2").arg(QLatin1String(name)).arg(world)))
                << QString::fromUtf8(name) << world;
}

/// In all precisions; and the blocks' values do not lie about until backward.
void TestEquivalenceFp64::recomputedIsBitEqual() {
    QFETCH(QString, name);
    QFETCH(int, world);
    for (const spec::Precision precision : precisions()) {
        spec::Experiment experiment = model(name);
        experiment.precision = precision;
        experiment.parallel.data = world;
        const HarnessOptions options = optionsFor(world, 50);
        const RankOutcome kept = trainOnThreads(experiment, options).front();
        experiment.parallel.recompute = "blocks";
        for (const RankOutcome& again : trainOnThreads(experiment, options)) {
            QVERIFY2(again.error.empty(), again.error.c_str());
            QVERIFY(again.losses == kept.losses);
            QVERIFY(again.parameters == kept.parameters);
            QCOMPARE(again.realMemory.activations, again.plannedMemory.activations);
            QVERIFY2(again.realMemory.activations < kept.realMemory.activations,
                     qPrintable(QStringLiteral("%1 of %2 bytes")
                                    .arg(again.realMemory.activations)
                                    .arg(kept.realMemory.activations)));
        }
    }
}

void TestEquivalenceFp64::optimizersDataParallel_data() {
    QTest::addColumn<QString>("type");
    for (const char* type : {"lion", "lars", "lamb"})
        QTest::newRow(type) << QString::fromUtf8(type);
}

/// Norms of tensors must not see the padding, which depends on the ranks.
void TestEquivalenceFp64::optimizersDataParallel() {
    QFETCH(QString, type);
    spec::Experiment experiment = cnnExperiment();
    experiment.training.optimizer = {type.toStdString(), {{"learning_rate", 0.01}}};
    const HarnessOptions options{.steps = 50};
    const RankOutcome one = trainOnThreads(experiment, options).front();
    QVERIFY2(one.error.empty(), one.error.c_str());
    experiment.parallel.data = 3;
    const auto many = trainOnThreads(experiment, options);
    for (const RankOutcome& rank : many)
        QVERIFY(rank.parameters == many.front().parameters);
    const double loss = largestRelative(many.front().losses, one.losses, 50);
    QVERIFY2(loss < 1e-11, qPrintable(QString::number(loss)));
}

void TestEquivalenceFp64::dataParallelFp32_data() {
    addCells();
}

void TestEquivalenceFp64::dataParallelFp32() {
    QFETCH(QString, name);
    QFETCH(int, world);
    spec::Experiment experiment = model(name);
    experiment.precision = spec::Precision::Fp32;
    const HarnessOptions options = optionsFor(world, 20);
    const RankOutcome one = trainOnThreads(experiment, options).front();
    experiment.parallel.data = world;
    const auto many = trainOnThreads(experiment, options);
    for (const RankOutcome& rank : many) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QVERIFY(rank.parameters == many.front().parameters);
    }
    const double gradients =
        distance(numbers<float>(many.front().firstGradients), numbers<float>(one.firstGradients));
    QVERIFY2(gradients < 1e-6, qPrintable(QString::number(gradients)));
    const double loss = largestRelative(many.front().losses, one.losses, 20);
    QVERIFY2(loss < 1e-5, qPrintable(QString::number(loss)));
}

void TestEquivalenceFp64::bf16TrainsLikeFp32_data() {
    addCells();
}

/// The gradients of the first step are those of fp32 but for the rounding of values, ranks hold the
/// same bits, and the loss goes down with that of fp32.
void TestEquivalenceFp64::bf16TrainsLikeFp32() {
    if (!engine::cpuBackendSupports(DType::Bf16))
        QSKIP("this processor has no matrix unit for bf16");
    QFETCH(QString, name);
    QFETCH(int, world);
    spec::Experiment experiment = model(name);
    const HarnessOptions options = optionsFor(world, 20);
    experiment.precision = spec::Precision::Fp32;
    const RankOutcome whole = trainOnThreads(experiment, options).front();
    experiment.precision = spec::Precision::Bf16;
    experiment.parallel.data = world;
    const auto half = trainOnThreads(experiment, options);
    for (const RankOutcome& rank : half) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QVERIFY(rank.finite);
        QVERIFY(rank.parameters == half.front().parameters);
    }
    // Where the optimizer is sharded a rank rounds what the others have updated.
    for (const std::int64_t zero : {1, 2, 3}) {
        experiment.parallel.zero = zero;
        for (const RankOutcome& rank : trainOnThreads(experiment, options)) {
            QVERIFY2(rank.error.empty(), rank.error.c_str());
            QVERIFY(rank.parameters == half.front().parameters);
        }
    }
    const double gradients =
        distance(numbers<float>(half.front().firstGradients), numbers<float>(whole.firstGradients));
    QVERIFY2(gradients < 0.03, qPrintable(QString::number(gradients)));
    const double loss = largestRelative(half.front().losses, whole.losses, 20);
    QVERIFY2(loss < 0.05, qPrintable(QString::number(loss)));
}

void TestEquivalenceFp64::runsAreBitEqual() {
    for (spec::Experiment experiment : harnessExperiments())
        for (const spec::Precision precision : precisions()) {
            experiment.precision = precision;
            experiment.parallel.data = 3;
            const HarnessOptions options{.steps = 30};
            const auto first = trainOnThreads(experiment, options);
            const auto second = trainOnThreads(experiment, options);
            QVERIFY2(first.front().error.empty(), first.front().error.c_str());
            QVERIFY2(first.front().losses == second.front().losses, experiment.name.c_str());
            QVERIFY2(first.front().parameters == second.front().parameters,
                     experiment.name.c_str());
        }
}

void TestEquivalenceFp64::plannedMemoryIsReal() {
    for (const int world : {1, 2, 3})
        for (const spec::Precision precision : precisions())
            for (spec::Experiment experiment : harnessExperiments()) {
                experiment.precision = precision;
                experiment.parallel.data = world;
                experiment.training.optimizer = {"adam", {}};
                experiment.parallel.accumulate = world;
                if (world == 2)
                    experiment.training.emaDecay = 0.9;
                if (world == 3)
                    experiment = stoppingEarly(std::move(experiment));
                for (const RankOutcome& rank : trainOnThreads(experiment, {.steps = 1})) {
                    QVERIFY2(rank.error.empty(), rank.error.c_str());
                    QCOMPARE(rank.realMemory.parameters, rank.plannedMemory.parameters);
                    QCOMPARE(rank.realMemory.gradients, rank.plannedMemory.gradients);
                    QCOMPARE(rank.realMemory.optimizer, rank.plannedMemory.optimizer);
                    QCOMPARE(rank.realMemory.activations, rank.plannedMemory.activations);
                }
            }
}

/// One flipped bit on one rank is found, and it is said whose it is.
void TestEquivalenceFp64::wrongReplicasAreFound() {
    spec::Experiment experiment = mlpExperiment();
    experiment.parallel.data = 3;
    std::atomic<int> differing = -2;
    const auto afterStep = [&](std::int64_t step, engine::Executor& executor) {
        const std::span<const std::byte> bytes = executor.parameters();
        if (step == 2)
            const_cast<std::byte&>(bytes[8]) ^= std::byte{1};
    };
    HarnessOptions options{.steps = 4, .afterStep = afterStep};
    options.afterAll = [&](engine::Executor& executor) {
        differing = executor.rankThatDiffers(1000).value();
    };
    const auto ranks = trainOnThreads(experiment, options);
    QVERIFY2(ranks.front().error.empty(), ranks.front().error.c_str());
    QCOMPARE(differing.load(), 1); // rank 0 was damaged: the first that is not like copy 0
    options.afterStep = {};
    trainOnThreads(experiment, options);
    QCOMPARE(differing.load(), -1);
}

void TestEquivalenceFp64::stopIsAgreedOn() {
    spec::Experiment experiment = mlpExperiment();
    experiment.parallel.data = 4;
    const auto ranks = trainOnThreads(experiment, {.steps = 100, .stopAtStep = 7});
    for (const RankOutcome& rank : ranks) {
        QVERIFY2(rank.error.empty(), rank.error.c_str());
        QCOMPARE(rank.losses.size(), ranks.front().losses.size());
        QVERIFY(rank.losses.size() >= 8 && rank.losses.size() < 100);
        QVERIFY(rank.parameters == ranks.front().parameters);
    }
}

void TestEquivalenceFp64::lossFalls() {
    for (const spec::Experiment& experiment : harnessExperiments()) {
        const RankOutcome outcome = trainOnThreads(experiment, {}).front();
        QVERIFY2(outcome.error.empty(), outcome.error.c_str());
        const double share = outcome.losses.back() / outcome.losses.front();
        QVERIFY2(
            share < (experiment.name == "gpt" ? 0.8 : 0.5),
            qPrintable(
                QStringLiteral("%1: %2").arg(QString::fromStdString(experiment.name)).arg(share)));
    }
}

/// The average follows its recurrence, starts at the first weights, and goes in and out of use
/// without a trace in the weights that are trained.
void TestEquivalenceFp64::averageIsOfTheWeights() {
    const double decay = 0.4;
    spec::Experiment experiment = mlpExperiment();
    experiment.training.emaDecay = decay;
    std::vector<double> expected;
    double worst = 0;
    const auto afterStep = [&](std::int64_t step, engine::Executor& executor) {
        const std::vector<double> now = parametersOf(executor);
        executor.swapAverage();
        const std::vector<double> average = parametersOf(executor);
        executor.swapAverage();
        QVERIFY(parametersOf(executor) == now);
        if (step == 0) { // average = 2/11 of the first weights + 9/11 of these
            expected = average;
            return;
        }
        const double t = static_cast<double>(step + 1);
        const double keep = std::min(decay, (1 + t) / (10 + t));
        for (std::size_t i = 0; i < now.size(); ++i) {
            expected[i] = keep * expected[i] + (1 - keep) * now[i];
            worst = std::max(worst, std::abs(expected[i] - average[i]));
        }
        QVERIFY(average != now);
    };
    const auto averaged = trainOnThreads(experiment, {.steps = 30, .afterStep = afterStep});
    QVERIFY2(averaged.front().error.empty(), averaged.front().error.c_str());
    QVERIFY(!expected.empty());
    QVERIFY2(worst < 1e-14, qPrintable(QString::number(worst)));
    // The average changes nothing that is trained.
    experiment.training.emaDecay.reset();
    QVERIFY(trainOnThreads(experiment, {.steps = 30}).front().losses == averaged.front().losses);
}

void TestEquivalenceFp64::bestWeightsComeBack() {
    spec::Experiment experiment = stoppingEarly(mlpExperiment());
    std::vector<double> best;
    const auto afterStep = [&](std::int64_t step, engine::Executor& executor) {
        if (step == 3) {
            executor.swapAverage();
            executor.keepBest();
            best = parametersOf(executor);
            executor.swapAverage();
        }
        if (step == 9) {
            QVERIFY(executor.parametersAreFinite(0).value());
            QVERIFY(parametersOf(executor) != best);
            executor.restoreBest();
            QVERIFY(parametersOf(executor) == best);
        }
    };
    const auto outcome = trainOnThreads(experiment, {.steps = 10, .afterStep = afterStep});
    QVERIFY2(outcome.front().error.empty(), outcome.front().error.c_str());
    QVERIFY(!best.empty());
}

QTEST_GUILESS_MAIN(TestEquivalenceFp64)
#include "tst_equivalence_fp64.moc"
