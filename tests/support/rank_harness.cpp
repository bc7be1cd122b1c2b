// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/rank_harness.h"

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "engine/data/sampler.h"
#include "engine/runtime/machine.h"

#include <QTemporaryDir>

#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace trainyard::testing {

namespace {

using namespace trainyard::engine;

/// Made-up samples: pure functions of their number, with targets that depend on the inputs a
/// little, so that there is something to learn.
class MadeUpData {
public:
    explicit MadeUpData(const plan::Plan& plan)
        : m_elements(elementCount(plan.data.sampleShape)),
          m_targets(elementCount(plan.graph.targetShape())), m_classes(plan.graph.classes()),
          m_vocabulary(plan.graph.vocabulary) {}

    /// As row `row` of the batch.
    void write(std::int64_t sample, std::int64_t row, const BatchMemory& memory) const {
        double sum = 0;
        for (std::int64_t i = 0; i < m_elements; ++i) {
            const double value = valueAt(sample, i);
            if (memory.inputs)
                put(memory.inputs, memory.inputType, row * m_elements + i, value);
            sum += value;
        }
        if (!memory.labels && !memory.numbers)
            return;
        for (std::int64_t i = 0; i < m_targets; ++i) {
            const std::int64_t at = row * m_targets + i;
            if (m_classes == 0) // of some of the inputs; exact in fp32
                put(memory.numbers, memory.numberType, at,
                    (valueAt(sample, i) - valueAt(sample, i + 1)) / 2);
            else
                memory.labels[at] =
                    static_cast<std::int32_t>(m_vocabulary > 0 ? nextOf(sample, i) : classOf(sum));
        }
    }

private:
    Philox4 words(std::int64_t sample, std::int64_t i) const {
        return randomWords(7, RandomStream::Weights, 99, static_cast<std::uint64_t>(sample),
                           static_cast<std::uint64_t>(i % m_elements));
    }

    /// An index, or a number in [-1, 1): a multiple of 2^-19, so that fp32 and fp64 see the same.
    double valueAt(std::int64_t sample, std::int64_t i) const {
        const std::uint32_t word = words(sample, i)[0];
        if (m_vocabulary > 0)
            return static_cast<double>(word % static_cast<std::uint64_t>(m_vocabulary));
        return static_cast<double>(word >> 12) * 0x1p-19 - 1.0;
    }

    /// Of a sequence: something that the own position tells and something that the first does.
    std::int64_t nextOf(std::int64_t sample, std::int64_t i) const {
        const double code = 3 * valueAt(sample, i) + valueAt(sample, 0);
        return static_cast<std::int64_t>(code) % m_classes;
    }

    std::int64_t classOf(double sum) const {
        const double bin = (sum + 4.0) / 8.0 * static_cast<double>(m_classes);
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(bin), 0, m_classes - 1);
    }

    static void put(void* memory, DType type, std::int64_t at, double value) {
        if (type == DType::Fp64)
            static_cast<double*>(memory)[at] = value;
        else if (type == DType::Fp32)
            static_cast<float*>(memory)[at] = static_cast<float>(value);
        else
            static_cast<std::int32_t*>(memory)[at] = static_cast<std::int32_t>(value);
    }

    std::int64_t m_elements, m_targets, m_classes, m_vocabulary;
};

struct SharedWorld {
    explicit SharedWorld(int worldSize) : page(new std::byte[statusPageBytes(worldSize) + 64]()) {
        void* aligned = page.get();
        std::size_t space = statusPageBytes(worldSize) + 64;
        aligned = std::align(64, statusPageBytes(worldSize), aligned, space);
        new (aligned) StatusHeader();
        for (int rank = 0; rank < worldSize; ++rank)
            new (static_cast<std::byte*>(aligned) + sizeof(StatusHeader) +
                 static_cast<std::size_t>(rank) * sizeof(RankStatus)) RankStatus();
        status = std::make_unique<StatusPage>(aligned);
    }
    ~SharedWorld() {
        for (const auto& [host, segment] : segments)
            ::close(segment);
    }
    /// Of the ranks of a host.
    int segmentOf(int host) {
        const std::lock_guard lock(mutex);
        const auto [entry, isNew] = segments.try_emplace(host, -1);
        if (isNew)
            entry->second = ::memfd_create("harness-segment", MFD_CLOEXEC);
        return entry->second;
    }

    QTemporaryDir folder; ///< where ranks meet over TCP

    std::mutex mutex;
    std::map<int, int> segments;
    std::unique_ptr<std::byte[]> page;
    std::unique_ptr<StatusPage> status;
};

class ThreadRank {
public:
    ThreadRank(const spec::Experiment& experiment, const HarnessOptions& options, int rank,
               SharedWorld& world)
        : m_experiment(experiment), m_options(options), m_rank(rank), m_world(world) {}

    RankOutcome run() {
        try {
            prepare();
            train();
        } catch (const std::exception& error) {
            m_outcome.error = error.what();
        }
        return std::move(m_outcome);
    }

private:
    void prepare() {
        const graph::BuiltGraph built = graph::buildGraph(m_experiment.model, {});
        TRAINYARD_CHECK(built.problems.empty());
        const graph::Graph& graph = built.graph;
        const bool numbers = graph.classes() == 0;
        const plan::DataCounts counts{.trainSamples = m_options.samples,
                                      .validationSamples =
                                          m_options.validates ? m_experiment.training.batch : 0,
                                      .sampleShape = m_experiment.model.inputShape,
                                      .classes = graph.classes(),
                                      .numbers = numbers ? elementCount(graph.targetShape()) : 0,
                                      .vocabulary = graph.vocabulary};
        plan::MachineFacts machine = machineFacts(m_experiment.precision);
        machine.speeds = m_options.speeds;
        plan::PlanOutcome planned = plan::makePlan(m_experiment, counts, machine);
        TRAINYARD_CHECK_MSG(planned.problems.empty(), planned.problems.empty()
                                                          ? std::string()
                                                          : planned.problems[0].sentence());
        m_plan = std::move(planned.plan);
        m_backend = makeBackend(m_experiment.precision, 1);
        CommunicatorOptions options;
        options.rank = m_rank;
        options.worldSize = m_plan.worldSize;
        options.deadline = std::chrono::milliseconds(30000);
        options.status = m_world.status.get();
        m_communicator = makeCommunicator(options);
        if (m_options.wrap)
            m_communicator = m_options.wrap(std::move(m_communicator));
        m_groups = ProcessGroups::make(m_plan, m_rank, *m_communicator).value();
        m_optimizer = makeOptimizer(m_experiment.training.optimizer).value();
        m_executor = Executor::make({.plan = m_plan,
                                     .rank = m_rank,
                                     .seed = m_experiment.training.seed,
                                     .backend = *m_backend,
                                     .groups = *m_groups,
                                     .optimizer = *m_optimizer,
                                     .status = &m_world.status->rank(m_rank),
                                     .statusHeader = &m_world.status->header(),
                                     .overlaps = m_options.overlaps})
                         .value();
        m_outcome.plannedMemory = m_plan.ranks[static_cast<std::size_t>(m_rank)].memory;
        m_outcome.plannedTraffic = m_plan.ranks[static_cast<std::size_t>(m_rank)].sentPerStep;
        m_outcome.realMemory = m_executor->memory();
    }

    std::unique_ptr<Communicator> makeCommunicator(const CommunicatorOptions& options) const {
        if (m_plan.worldSize == 1)
            return makeSingleCommunicator();
        if (m_options.overGloo)
            return makeGlooCommunicator(options, m_world.folder.path().toStdString(), "127.0.0.1")
                .value();
        if (!m_options.hosts.empty())
            return makeTwoLevelCommunicator(
                       options, m_options.hosts,
                       m_world.segmentOf(m_options.hosts[static_cast<std::size_t>(m_rank)]),
                       m_world.folder.path().toStdString(), "127.0.0.1")
                .value();
        return makeSharedMemoryCommunicator(options, m_world.segmentOf(0)).value();
    }

    void load(std::int64_t step, const BatchMemory& memory, const plan::RowRange& rows) const {
        const MadeUpData data(m_plan);
        const std::int64_t epoch = step / m_plan.stepsPerEpoch;
        const std::int64_t index = step % m_plan.stepsPerEpoch;
        for (std::int64_t row = 0; row < rows.count; ++row)
            data.write(sampleAt(m_experiment.training.seed, epoch,
                                index * m_plan.batch + rows.first + row, m_plan.data.trainSamples),
                       row, memory);
    }

    void train() {
        for (std::int64_t step = 0; step < m_options.steps; ++step) {
            if (m_rank == 0 && step == m_options.stopAtStep)
                m_world.status->header().stopRequested = 1;
            const spec::TrainingSpec& training = m_experiment.training;
            const StepInput input{
                step,
                learningRateAt(training.optimizer, training.schedule, step + 1, m_options.steps),
                training.clipNorm};
            const std::int64_t rows = m_plan.rowsOfStep(step % m_plan.stepsPerEpoch);
            const StepResult result =
                m_executor
                    ->trainStep(rows, input,
                                [&](const BatchMemory& memory, const BatchPart& part) {
                                    load(step, memory, part.rows);
                                })
                    .value();
            m_outcome.losses.push_back(result.sums.meanLoss());
            m_outcome.gradientNorms.push_back(result.gradientNorm);
            m_outcome.finite = m_outcome.finite && result.finite;
            if (step == 0)
                m_outcome.firstGradients.assign(m_executor->gradients().begin(),
                                                m_executor->gradients().end());
            if (m_rank == 0 && m_options.afterStep)
                m_options.afterStep(step, *m_executor);
            if (!result.finite || result.sums.stopRequested)
                break;
        }
        if (m_options.validates)
            validate();
        if (m_options.afterAll)
            m_options.afterAll(*m_executor);
        const Result<void> gathered =
            m_executor->gatherWhole(0x80000000u, [this](std::span<const std::byte> one) {
                m_outcome.parameters.insert(m_outcome.parameters.end(), one.begin(), one.end());
            });
        TRAINYARD_CHECK(gathered.ok());
    }

    void validate() {
        const auto loaded = [&](const BatchMemory& memory, const BatchPart& part) {
            load(0, memory, part.rows);
        };
        BatchSums& sums = m_outcome.validation;
        TRAINYARD_CHECK(m_executor->evaluate(m_plan.batch, sums, loaded).ok());
        TRAINYARD_CHECK(m_executor->reduce(sums, 0x90000000u).ok());
        m_outcome.confusion = m_executor->takeConfusion(0x90000001u).value();
    }

    const spec::Experiment& m_experiment;
    const HarnessOptions& m_options;
    int m_rank;
    SharedWorld& m_world;
    plan::Plan m_plan;
    std::unique_ptr<Backend> m_backend;
    std::unique_ptr<Communicator> m_communicator;
    std::unique_ptr<ProcessGroups> m_groups;
    std::unique_ptr<Optimizer> m_optimizer;
    std::unique_ptr<Executor> m_executor;
    RankOutcome m_outcome;
};

spec::LayerSpec layer(std::string id, std::string type, spec::Values values = {}) {
    return {std::move(id), std::move(type), {}, std::move(values)};
}

spec::Experiment baseExperiment() {
    spec::Experiment experiment;
    experiment.precision = spec::Precision::Fp64;
    experiment.training.batch = 8;
    experiment.training.epochs = 1000;
    experiment.training.optimizer = {"sgd", {{"learning_rate", 0.02}, {"momentum", 0.9}}};
    return experiment;
}

} // namespace

std::vector<RankOutcome> trainOnThreads(const spec::Experiment& experiment,
                                        const HarnessOptions& options) {
    const int worldSize = static_cast<int>(experiment.parallel.ranks());
    SharedWorld world(worldSize);
    std::vector<RankOutcome> outcomes(static_cast<std::size_t>(worldSize));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < worldSize; ++rank)
        threads.emplace_back([&, rank] {
            outcomes[static_cast<std::size_t>(rank)] =
                ThreadRank(experiment, options, rank, world).run();
        });
    for (std::thread& thread : threads)
        thread.join();
    return outcomes;
}

spec::Experiment mlpExperiment() {
    spec::Experiment experiment = baseExperiment();
    experiment.name = "mlp";
    experiment.model.inputShape = {11};
    experiment.model.layers = {layer("fc1", "linear", {{"out_features", std::int64_t{19}}}),
                               layer("relu1", "relu"),
                               layer("drop1", "dropout", {{"probability", 0.3}}),
                               layer("fc2", "linear", {{"out_features", std::int64_t{5}}})};
    return experiment;
}

spec::Experiment cnnExperiment() {
    spec::Experiment experiment = baseExperiment();
    experiment.name = "cnn";
    experiment.model.inputShape = {2, 9, 7};
    experiment.model.layers = {
        layer("conv1", "conv2d", {{"out_channels", std::int64_t{5}}, {"padding", std::int64_t{1}}}),
        layer("relu1", "relu"),
        layer("pool1", "max_pool"),
        layer("conv2", "conv2d",
              {{"out_channels", std::int64_t{18}},
               {"kernel", std::vector<std::int64_t>{2, 3}},
               {"padding", std::int64_t{1}}}),
        layer("relu2", "relu"),
        layer("flat", "flatten"),
        layer("drop", "dropout", {{"probability", 0.25}}),
        layer("fc", "linear", {{"out_features", std::int64_t{4}}})};
    return experiment;
}

spec::Experiment residualExperiment() {
    spec::Experiment experiment = baseExperiment();
    experiment.name = "residual";
    experiment.model.inputShape = {2, 9, 7};
    experiment.model.layers = {
        layer("conv", "conv2d", {{"out_channels", std::int64_t{6}}, {"bias", false}}),
        layer("norm", "batch_norm"),
        layer("relu", "relu"),
        layer("same", "residual_block", {{"out_channels", std::int64_t{6}}}),
        layer("half", "residual_block",
              {{"out_channels", std::int64_t{17}}, {"stride", std::vector<std::int64_t>{2, 2}}}),
        layer("mean", "global_avg_pool"),
        layer("fc", "linear", {{"out_features", std::int64_t{4}}})};
    return experiment;
}

spec::Experiment gptExperiment() {
    spec::Experiment experiment = baseExperiment();
    experiment.name = "gpt";
    experiment.model.inputShape = {7};
    experiment.model.layers = {
        layer("words", "embedding",
              {{"vocabulary", std::int64_t{9}}, {"features", std::int64_t{12}}}),
        layer("positions", "position_embedding"),
        layer("drop", "dropout", {{"probability", 0.1}}),
        layer("block1", "transformer_block", {{"heads", std::int64_t{3}}, {"dropout", 0.2}}),
        layer("block2", "transformer_block",
              {{"heads", std::int64_t{2}},
               {"kv_heads", std::int64_t{1}},
               {"rotary", true},
               {"norm", std::string("rms_norm")},
               {"activation", std::string("silu")}}),
        layer("norm", "layer_norm"),
        layer("scores", "linear",
              {{"out_features", std::int64_t{9}},
               {"bias", false},
               {"tied_to", std::string("words")}})};
    experiment.model.loss = {"cross_entropy",
                             {{"label_smoothing", 0.1}, {"ignored_label", std::int64_t{4}}}};
    return experiment;
}

spec::Experiment regressionExperiment() {
    spec::Experiment experiment = baseExperiment();
    experiment.name = "regression";
    experiment.model.inputShape = {7};
    experiment.model.layers = {layer("fc1", "linear", {{"out_features", std::int64_t{16}}}),
                               layer("norm", "batch_norm"), layer("gelu", "gelu"),
                               layer("fc2", "linear", {{"out_features", std::int64_t{3}}})};
    experiment.model.loss = {"huber", {{"delta", 0.5}}};
    return experiment;
}

std::vector<spec::Experiment> harnessExperiments() {
    return {mlpExperiment(), cnnExperiment(), residualExperiment(), gptExperiment(),
            regressionExperiment()};
}

} // namespace trainyard::testing
