// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Training with gradients that are compressed for the way between ranks: as good as it should be,
// the same bits on all ranks and over all transports, memory and bytes as planned.
#include "engine/backend/backend.h"
#include "tests/support/rank_harness.h"

#include <QTest>

#include <atomic>
#include <cmath>
#include <numeric>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

spec::Experiment compressed(spec::Experiment experiment, std::int64_t rank, std::int64_t warmup) {
    experiment.parallel.data = 3;
    experiment.parallel.compression = "powersgd";
    experiment.parallel.compressionRank = rank;
    experiment.parallel.compressionWarmup = warmup;
    return experiment;
}

spec::Experiment whole(spec::Experiment experiment) {
    experiment.parallel.compression = "none";
    return experiment;
}

std::vector<RankOutcome> train(const spec::Experiment& experiment, const HarnessOptions& options) {
    std::vector<RankOutcome> ranks = trainOnThreads(experiment, options);
    for (const RankOutcome& rank : ranks)
        if (!rank.error.empty())
            qWarning("%s", rank.error.c_str());
    return ranks;
}

/// No rank failed, all have the same parameters and losses, and took the memory that was planned.
bool agree(const std::vector<RankOutcome>& ranks) {
    return std::ranges::all_of(ranks, [&](const RankOutcome& rank) {
        return rank.error.empty() && rank.finite && rank.parameters == ranks[0].parameters &&
               rank.losses == ranks[0].losses &&
               rank.realMemory.gradients == rank.plannedMemory.gradients &&
               rank.realMemory.total() == rank.plannedMemory.total();
    });
}

double worstRelative(const std::vector<double>& a, const std::vector<double>& b) {
    double worst = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        worst = std::max(worst, std::abs(a[i] - b[i]) / std::abs(b[i]));
    return worst;
}

/// Of the last steps.
double endLoss(const RankOutcome& outcome) {
    return std::accumulate(outcome.losses.end() - 10, outcome.losses.end(), 0.0) / 10;
}

/// Passes everything on, and counts what sums of gradients add up.
class Counting final : public engine::Communicator {
public:
    Counting(std::unique_ptr<Communicator> inner, std::atomic<std::size_t>& bytes)
        : m_inner(std::move(inner)), m_bytes(bytes) {}
    int rank() const override { return m_inner->rank(); }
    int worldSize() const override { return m_inner->worldSize(); }
    Result<std::span<std::byte>> allocateReducible(std::size_t bytes) override {
        return m_inner->allocateReducible(bytes);
    }
    Result<void> allReduceSum(void* data, std::size_t count, DType type,
                              std::uint32_t tag) override {
        if (rank() == 0 && type != DType::Fp64) // sums of the loss are fp64
            m_bytes += count * bytesOf(type);
        return m_inner->allReduceSum(data, count, type, tag);
    }
    Result<void> broadcast(void* data, std::size_t bytes, int root, std::uint32_t tag) override {
        return m_inner->broadcast(data, bytes, root, tag);
    }
    Result<void> barrier(std::uint32_t tag) override { return m_inner->barrier(tag); }
    Result<std::unique_ptr<Communicator>> split(const std::vector<std::vector<int>>& groups,
                                                std::string name) override {
        return m_inner->split(groups, std::move(name));
    }
    Result<void> openChannels(std::span<const engine::Channel> channels) override {
        return m_inner->openChannels(channels);
    }
    Result<void> send(const void* data, std::size_t bytes, int to, std::uint32_t tag) override {
        return m_inner->send(data, bytes, to, tag);
    }
    Result<void> receive(void* data, std::size_t bytes, int from, std::uint32_t tag) override {
        return m_inner->receive(data, bytes, from, tag);
    }
    double secondsInside() const override { return m_inner->secondsInside(); }

private:
    std::unique_ptr<Communicator> m_inner;
    std::atomic<std::size_t>& m_bytes;
};

} // namespace

class TestCompression : public QObject {
    Q_OBJECT

private slots:
    void halves_data();
    void halves();
    void warmUpIsAsWithout();
    void smallBatchesAreExact();
    void learns_data();
    void learns();
    void transportsAreBitEqual_data();
    void transportsAreBitEqual();
    void meshes_data();
    void meshes();
    void pipelinesAreAsOneStage();
    void sendsWhatIsPlanned_data();
    void sendsWhatIsPlanned();
    void valuesInBf16();
};

void TestCompression::halves_data() {
    QTest::addColumn<QString>("form");
    for (const char* form : {"bf16", "fp16"})
        QTest::newRow(form) << QString::fromUtf8(form);
}

/// Gradients that travel in halves are those of fp32 but for their rounding, running statistics are
/// not rounded, ranks hold the same bits, with any stage of ZeRO.
void TestCompression::halves() {
    QFETCH(QString, form);
    for (spec::Experiment experiment : {cnnExperiment(), residualExperiment(), gptExperiment()}) {
        experiment.precision = spec::Precision::Fp32;
        experiment.parallel.data = 3;
        const HarnessOptions options{.steps = 20};
        const RankOutcome exact = train(experiment, options).front();
        experiment.parallel.compression = form.toStdString();
        const RankOutcome first = train(experiment, options).front();
        QVERIFY(first.losses != exact.losses);
        const double loss = worstRelative(first.losses, exact.losses);
        QVERIFY2(loss < (form == u"fp16" ? 0.004 : 0.02), qPrintable(QString::number(loss)));
        QVERIFY(first.losses.front() == exact.losses.front()); // before the first update
        for (const std::int64_t zero : {0, 1, 2, 3}) {
            experiment.parallel.zero = zero;
            const auto ranks = train(experiment, options);
            QVERIFY(agree(ranks));
            QVERIFY(ranks[0].losses == first.losses && ranks[0].parameters == first.parameters);
        }
    }
}

/// Updates before the first compressed one have the bits of a run without compression.
void TestCompression::warmUpIsAsWithout() {
    for (spec::Experiment experiment : {mlpExperiment(), gptExperiment()}) {
        experiment.precision = spec::Precision::Fp32;
        experiment = compressed(experiment, 1, 5);
        const auto ranks = train(experiment, {.steps = 12});
        const RankOutcome exact = train(whole(experiment), {.steps = 12}).front();
        QVERIFY(agree(ranks));
        for (std::size_t i = 0; i < 12; ++i) // a step's loss is that before its update
            QCOMPARE(ranks[0].losses[i] == exact.losses[i], i <= 5);
    }
}

/// Gradients of three rows are matrices of rank three at most, and those of the same rows have much
/// in common from step to step: nothing is left out.
void TestCompression::smallBatchesAreExact() {
    spec::Experiment experiment = compressed(mlpExperiment(), 3, 0);
    experiment.model.layers[1].type = "tanh";
    experiment.model.layers[2].values["probability"] = 0.0;
    experiment.training.batch = 3;
    const HarnessOptions options{.samples = 3, .steps = 200};
    const auto ranks = train(experiment, options);
    const RankOutcome exact = train(whole(experiment), options).front();
    QVERIFY(agree(ranks));
    QVERIFY(ranks[0].plannedTraffic.gradients < exact.plannedTraffic.gradients);
    const double off = worstRelative(ranks[0].losses, exact.losses);
    qInfo("losses differ by %.2g", off);
    QVERIFY2(off < 1e-9, qPrintable(QString::number(off)));
}

void TestCompression::learns_data() {
    QTest::addColumn<int>("model");
    QTest::addColumn<bool>("exact"); // in fp64
    for (const bool exact : {true, false})
        for (int model = 0; model < static_cast<int>(harnessExperiments().size()); ++model)
            QTest::addRow("%s %s",
                          harnessExperiments()[static_cast<std::size_t>(model)].name.c_str(),
                          exact ? "fp64" : "fp32")
                << model << exact;
}

/// The loss falls nearly as far as without compression.
void TestCompression::learns() {
    QFETCH(int, model);
    QFETCH(bool, exact);
    spec::Experiment experiment =
        compressed(harnessExperiments()[static_cast<std::size_t>(model)], 2, 10);
    experiment.precision = exact ? spec::Precision::Fp64 : spec::Precision::Fp32;
    const auto ranks = train(experiment, {});
    QVERIFY(agree(ranks));
    const RankOutcome without = train(whole(experiment), {}).front();
    const double fallen = without.losses[0] - endLoss(without);
    const double share = (without.losses[0] - endLoss(ranks[0])) / fallen;
    qInfo("%s: loss %.4f, without compression %.4f; %zu of %zu bytes", experiment.name.c_str(),
          endLoss(ranks[0]), endLoss(without), ranks[0].plannedTraffic.gradients,
          ranks[0].plannedTraffic.uncompressedGradients);
    QVERIFY2(share > 0.8, qPrintable(QString::number(share)));
}

void TestCompression::transportsAreBitEqual_data() {
    QTest::addColumn<QString>("form");
    for (const char* form : {"bf16", "fp16", "powersgd"})
        QTest::newRow(form) << QString::fromUtf8(form);
}

/// Shared memory or TCP, one lane or two, first run or second.
void TestCompression::transportsAreBitEqual() {
    QFETCH(QString, form);
    spec::Experiment experiment = compressed(gptExperiment(), 2, 3);
    experiment.precision = spec::Precision::Fp32;
    experiment.parallel.compression = form.toStdString();
    const auto first = train(experiment, {.steps = 15});
    QVERIFY(agree(first));
    for (const bool overGloo : {false, true})
        for (const bool overlaps : {false, true}) {
            const auto ranks =
                train(experiment, {.steps = 15, .overlaps = overlaps, .overGloo = overGloo});
            QVERIFY(agree(ranks));
            QVERIFY(ranks[0].losses == first[0].losses);
            QVERIFY(ranks[0].parameters == first[0].parameters);
        }
}

void TestCompression::meshes_data() {
    QTest::addColumn<int>("tensor");
    QTest::addColumn<int>("pipeline");
    QTest::addColumn<QString>("recompute");
    QTest::newRow("accumulated") << 1 << 1 << QStringLiteral("none");
    QTest::newRow("recomputed") << 1 << 1 << QStringLiteral("blocks");
    QTest::newRow("tensor") << 2 << 1 << QStringLiteral("none");
    QTest::newRow("pipeline") << 1 << 2 << QStringLiteral("none");
    QTest::newRow("all") << 2 << 2 << QStringLiteral("blocks");
}

/// With tensor ranks, stages, micro-batches: ranks agree, and the loss falls.
void TestCompression::meshes() {
    QFETCH(int, tensor);
    QFETCH(int, pipeline);
    QFETCH(QString, recompute);
    spec::Experiment experiment = compressed(gptExperiment(), 2, 4);
    experiment.parallel.data = 2;
    experiment.parallel.tensor = tensor;
    experiment.parallel.pipeline = pipeline;
    experiment.parallel.microBatches = pipeline > 1 ? 2 : 1;
    experiment.parallel.accumulate = 2;
    experiment.parallel.recompute = recompute.toStdString();
    const auto ranks = train(experiment, {.steps = 60});
    QVERIFY(agree(ranks));
    QVERIFY(ranks[0].plannedTraffic.gradients < ranks[0].plannedTraffic.uncompressedGradients);
    const RankOutcome without = train(whole(experiment), {.steps = 60}).front();
    const double fallen = without.losses[0] - endLoss(without);
    const double share = (without.losses[0] - endLoss(ranks[0])) / fallen;
    QVERIFY2(share > 0.7, qPrintable(QString::number(share)));
}

/// Weights that two stages share, and matrices that lie in other buckets: what is computed is the
/// same.
void TestCompression::pipelinesAreAsOneStage() {
    spec::Experiment experiment = compressed(gptExperiment(), 1, 2);
    experiment.parallel.data = 2;
    experiment.parallel.accumulate = 2;
    const RankOutcome one = train(experiment, {.steps = 40}).front();
    experiment.parallel.pipeline = 2;
    const auto two = train(experiment, {.steps = 40});
    QVERIFY(agree(two));
    const double off = worstRelative(two[0].losses, one.losses);
    QVERIFY2(off < 1e-9, qPrintable(QString::number(off)));
}

void TestCompression::sendsWhatIsPlanned_data() {
    QTest::addColumn<QString>("form");
    for (const char* form : {"none", "bf16", "fp16", "powersgd"})
        QTest::newRow(form) << QString::fromUtf8(form);
}

/// Each byte that is added up goes to its owner and back: 2 (n - 1) / n of them leave a rank.
void TestCompression::sendsWhatIsPlanned() {
    QFETCH(QString, form);
    spec::Experiment experiment = compressed(cnnExperiment(), 2, 0);
    experiment.precision = spec::Precision::Fp32;
    experiment.parallel.data = 2;
    experiment.parallel.compression = form.toStdString();
    std::atomic<std::size_t> bytes = 0;
    const HarnessOptions options{.samples = 32, .steps = 5, .wrap = [&](auto inner) {
                                     return std::make_unique<Counting>(std::move(inner), bytes);
                                 }};
    const auto ranks = train(experiment, options);
    QVERIFY(agree(ranks));
    QCOMPARE(bytes.load(), 5 * ranks[0].plannedTraffic.gradients);
    const double share = static_cast<double>(ranks[0].plannedTraffic.gradients) /
                         static_cast<double>(ranks[0].plannedTraffic.uncompressedGradients);
    QVERIFY2(form == u"none" ? share == 1 : share < 0.7, qPrintable(QString::number(share)));
}

void TestCompression::valuesInBf16() {
    if (!engine::cpuBackendSupports(DType::Bf16))
        QSKIP("this machine does not train in bf16");
    spec::Experiment experiment = compressed(cnnExperiment(), 2, 2);
    experiment.precision = spec::Precision::Bf16;
    const auto ranks = train(experiment, {.steps = 60});
    QVERIFY(agree(ranks));
    QVERIFY(endLoss(ranks[0]) < 0.8 * ranks[0].losses[0]);
}

QTEST_APPLESS_MAIN(TestCompression)
#include "tst_compression.moc"
