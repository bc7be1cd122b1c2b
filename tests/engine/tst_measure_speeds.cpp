// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks measure how fast they are: one whose kernels do everything eight times is found slower, all
// know the same, and a rank's program runs without the others.
#include "engine/comm/silent_communicator.h"
#include "engine/runtime/machine.h"
#include "engine/runtime/measure_speeds.h"
#include "tests/support/rank_harness.h"

#include <QTest>

#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

constexpr int kTimes = 8;

class SlowKernel : public Kernel {
public:
    explicit SlowKernel(std::unique_ptr<Kernel> kernel) : m_kernel(std::move(kernel)) {}
    void run(const StepContext& context) override {
        for (int i = 0; i < kTimes; ++i)
            m_kernel->run(context);
    }

private:
    std::unique_ptr<Kernel> m_kernel;
};

/// Whatever it computes is wrong, but takes long.
class SlowBackend : public Backend {
public:
    explicit SlowBackend(Backend& backend) : m_backend(backend) {}
    std::string name() const override { return "slow"; }
    bool supports(DType type) const override { return m_backend.supports(type); }
    Layout preferredLayout(std::int64_t channels) const override {
        return m_backend.preferredLayout(channels);
    }
    std::unique_ptr<Kernel> compile(const KernelRequest& request) override {
        return std::make_unique<SlowKernel>(m_backend.compile(request));
    }
    std::size_t workspaceBytes() const override { return m_backend.workspaceBytes(); }

private:
    Backend& m_backend;
};

plan::Plan planOf(const spec::Experiment& experiment) {
    const graph::Graph graph = graph::buildGraph(experiment.model, {}).graph;
    const bool numbers = graph.classes() == 0;
    plan::PlanOutcome outcome =
        plan::makePlan(experiment,
                       {.trainSamples = 37,
                        .validationSamples = 11,
                        .sampleShape = experiment.model.inputShape,
                        .classes = graph.classes(),
                        .numbers = numbers ? elementCount(graph.targetShape()) : 0,
                        .vocabulary = graph.vocabulary},
                       machineFacts(experiment.precision));
    if (!outcome.problems.empty())
        qFatal("%s", outcome.problems.front().sentence().c_str());
    return std::move(outcome.plan);
}

/// What each rank got to know. Odd ranks are slow where `slowed`.
std::vector<std::vector<double>> measured(const spec::Experiment& experiment, bool slowed) {
    const plan::Plan plan = planOf(experiment);
    const int segment = ::memfd_create("speeds", MFD_CLOEXEC);
    std::vector<std::vector<double>> all(static_cast<std::size_t>(plan.worldSize));
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < plan.worldSize; ++rank)
        ranks.emplace_back([&, rank] {
            const auto backend = makeBackend(experiment.precision, 1);
            SlowBackend slow(*backend);
            const auto world =
                makeSharedMemoryCommunicator({.rank = rank, .worldSize = plan.worldSize}, segment)
                    .value();
            Backend& own = slowed && rank % 2 == 1 ? static_cast<Backend&>(slow) : *backend;
            all[static_cast<std::size_t>(rank)] =
                measureSpeeds({plan, experiment, own, *world}).value();
        });
    for (std::thread& rank : ranks)
        rank.join();
    ::close(segment);
    return all;
}

} // namespace

class TestMeasureSpeeds : public QObject {
    Q_OBJECT

private slots:
    void slowRanksAreFound_data();
    void slowRanksAreFound();
    void everyModelAndStrategy_data();
    void everyModelAndStrategy();
    void silentGroups();
};

void TestMeasureSpeeds::slowRanksAreFound_data() {
    QTest::addColumn<int>("data");
    QTest::addColumn<int>("pipeline");
    QTest::newRow("copies") << 2 << 1;
    QTest::newRow("stages") << 1 << 2;
}

void TestMeasureSpeeds::slowRanksAreFound() {
    QFETCH(int, data);
    QFETCH(int, pipeline);
    spec::Experiment experiment = testing::cnnExperiment();
    experiment.training.batch = 64;
    experiment.parallel.data = data;
    experiment.parallel.pipeline = pipeline;
    const std::vector<std::vector<double>> speeds = measured(experiment, true);
    QVERIFY(speeds[0] == speeds[1]); // to the bit: plans follow from them
    QVERIFY2(speeds[0][0] > 1.5 * speeds[0][1],
             qPrintable(QStringLiteral("%1 and %2").arg(speeds[0][0]).arg(speeds[0][1])));
}

void TestMeasureSpeeds::everyModelAndStrategy_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("zero");
    QTest::addColumn<int>("tensor");
    for (const spec::Experiment& experiment : testing::harnessExperiments())
        QTest::newRow(experiment.name.c_str()) << QString::fromStdString(experiment.name) << 0 << 1;
    QTest::newRow("ZeRO 1") << QStringLiteral("gpt") << 1 << 1;
    QTest::newRow("ZeRO 3") << QStringLiteral("gpt") << 3 << 1;
    QTest::newRow("tensor") << QStringLiteral("regression") << 0 << 2;
}

void TestMeasureSpeeds::everyModelAndStrategy() {
    QFETCH(QString, name);
    QFETCH(int, zero);
    QFETCH(int, tensor);
    for (const spec::Precision precision : {spec::Precision::Fp64, spec::Precision::Fp32})
        for (spec::Experiment experiment : testing::harnessExperiments()) {
            if (QString::fromStdString(experiment.name) != name)
                continue;
            experiment.precision = precision;
            experiment.parallel.data = 2;
            experiment.parallel.zero = zero;
            experiment.parallel.tensor = tensor;
            const std::vector<std::vector<double>> speeds = measured(experiment, false);
            for (const double speed : speeds.front())
                QVERIFY(speed > 0 && std::isfinite(speed));
        }
}

void TestMeasureSpeeds::silentGroups() {
    const auto world = makeSilentCommunicator(3, 4);
    const auto group = world->split({{0, 2}, {1, 3}}, "half").value();
    QCOMPARE(group->rank(), 1);
    QCOMPARE(group->worldSize(), 2);
    QCOMPARE(world->split({{0, 1}}, "others").value()->worldSize(), 1);
    double value = 7;
    QVERIFY(group->allReduceSum(&value, 1, DType::Fp64, 1).ok());
    QCOMPARE(value, 7.0);
    QVERIFY(group->receive(&value, sizeof value, 0, 2).ok());
    QCOMPARE(value, 0.0);
}

QTEST_GUILESS_MAIN(TestMeasureSpeeds)
#include "tst_measure_speeds.moc"
