// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/rank_session.h"

#include "engine/base/number_text.h"
#include "engine/comm/communicator.h"
#include "engine/data/dataset.h"
#include "engine/optim/early_stopping.h"
#include "engine/plan/balance_sentence.h"
#include "engine/plan/plan.h"
#include "engine/runtime/batch_feed.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/loss_metrics.h"
#include "engine/runtime/machine.h"
#include "engine/runtime/measure_speeds.h"
#include "engine/runtime/memory_failure.h"
#include "engine/runtime/plan_agreement.h"
#include "engine/runtime/process_groups.h"
#include "engine/runtime/speed_meter.h"
#include "engine/runtime/weights_file.h"
#include "engine/spec/devices.h"
#include "engine/spec/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <unistd.h>
#include <vector>

namespace trainyard::engine {

namespace {

/// Tags above any instruction number.
constexpr std::uint32_t kPlanTag = 0x80000000u;
constexpr std::uint32_t kValidationTag = 0x80000001u;
constexpr std::uint32_t kConfusionTag = 0x80000002u;
constexpr std::uint32_t kFiniteTag = 0x80000003u;
constexpr std::uint32_t kWeightsTag = 0x80000004u;
constexpr std::uint32_t kReplicasTag = 0x80000005u; ///< and the one after it
constexpr std::uint32_t kSearchTag = 0x80000007u;

/// Leaves run() with an exit code, after the event that says why was sent.
struct SessionEnd {
    RankExit exit;
};

/// Where it was noticed; what is not known is taken from the status page.
struct Place {
    std::int64_t step = -1;
    std::int64_t instruction = -1;
    std::string layer;
};

class RankSession {
public:
    RankSession(const spec::Experiment& experiment, RankEnvironment& environment)
        : m_experiment(experiment), m_environment(environment) {}

    RankExit run() {
        setPhase(RankPhase::Starting);
        openTrainingData();
        makeThePlan();
        meetTheOthers();
        balanceRanks();
        makeGroups();
        buildExecutor();
        announce();
        train();
        setPhase(RankPhase::Done);
        return RankExit::Done;
    }

    [[noreturn]] void fail(const Error& error, RankExit exit = RankExit::Failed,
                           const Place& place = {}) {
        spec::Failure failure;
        failure.rank = m_environment.rank;
        failure.pid = ::getpid();
        failure.device = device();
        failure.what =
            error.where.empty() ? error.what : Message{"%1: %2", {error.where, error.what.text()}};
        failure.cure = error.cure;
        if (const RankStatus* status = this->status()) {
            failure.step = status->step.load();
            failure.instruction = status->instruction.load();
            failure.layer = status->layer;
        }
        if (place.step >= 0)
            failure.step = place.step;
        if (place.instruction >= 0) {
            failure.instruction = place.instruction;
            failure.layer = place.layer;
        }
        m_environment.events.send(failure);
        throw SessionEnd{exit};
    }

private:
    bool isFirst() const { return m_environment.rank == 0; }

    RankStatus* status() const {
        return m_environment.status ? &m_environment.status->rank(m_environment.rank) : nullptr;
    }

    std::string device() const {
        const auto index = static_cast<std::size_t>(m_environment.rank);
        return index < m_experiment.devices.size() ? m_experiment.devices[index]
                                                   : "cpu:" + std::to_string(m_environment.rank);
    }

    void setPhase(RankPhase phase) {
        if (RankStatus* status = this->status())
            status->phase.store(static_cast<std::uint32_t>(phase));
    }

    void log(spec::LogLevel level, Message text) {
        m_environment.events.send(spec::Log{level, m_environment.rank, std::move(text)});
    }

    void failOn(const Problems& problems) {
        if (problems.empty())
            return;
        for (std::size_t i = 1; i < problems.size(); ++i)
            log(spec::LogLevel::Error, {"%1", {problems[i].sentence()}});
        fail(problems.front());
    }

    /// What ranks do together fails because of another rank; the supervisor knows whose.
    [[noreturn]] void losePeer(const Error& error) {
        if (error.isOwn)
            fail(error);
        log(spec::LogLevel::Error, {"%1", {error.sentence()}});
        throw SessionEnd{RankExit::PeerLost};
    }

    void check(const Result<void>& result) {
        if (!result)
            losePeer(result.error());
    }

    void openTrainingData() {
        const graph::BuiltGraph built = graph::buildGraph(m_experiment.model, {});
        failOn(built.problems);
        DataOutcome outcome =
            openData(m_experiment.data, m_experiment.training.seed, built.graph.classes());
        failOn(outcome.problems);
        m_data = std::move(outcome.data);
    }

    /// `speeds`: of the ranks, where they were measured.
    void makeThePlan(std::vector<double> speeds = {}) {
        const plan::DataCounts counts = countsOf(
            m_data.training->info(), m_data.validation ? &m_data.validation->info() : nullptr);
        plan::MachineFacts machine = machineFacts(m_experiment.precision);
        machine.bucketBytes = machine.networkBucketBytes = m_environment.bucketBytes;
        machine.speeds = std::move(speeds);
        plan::PlanOutcome outcome = plan::makePlan(m_experiment, counts, machine);
        failOn(outcome.problems);
        m_plan = std::move(outcome.plan);
    }

    void meetTheOthers() {
        CommunicatorOptions options;
        options.rank = m_environment.rank;
        options.worldSize = m_environment.worldSize;
        options.deadline = m_environment.deadline;
        options.status = m_environment.status;
        auto communicator = makeCommunicator(options);
        if (!communicator)
            losePeer(communicator.error());
        m_communicator = std::move(*communicator);
        comparePlans();
    }

    /// Where the ranks' speeds decide who gets what, they are measured now, with the work of equal
    /// shares, and the plan is made once more.
    void balanceRanks() {
        m_backend = makeBackend(m_experiment.precision, m_environment.threads);
        if (!m_plan.awaitsSpeeds)
            return;
        const plan::Plan equal = std::move(m_plan);
        auto speeds = measureSpeeds({equal, m_experiment, *m_backend, *m_communicator});
        if (!speeds)
            check(speeds.error());
        // What it keeps for kernels of other sections is not this rank's.
        m_backend = makeBackend(m_experiment.precision, m_environment.threads);
        makeThePlan(std::move(*speeds));
        comparePlans();
        if (isFirst())
            log(spec::LogLevel::Info, plan::balanceSentence(equal, m_plan));
    }

    void makeGroups() {
        auto groups = ProcessGroups::make(m_plan, m_environment.rank, *m_communicator);
        if (!groups)
            losePeer(groups.error());
        m_groups = std::move(*groups);
    }

    /// Before anything else is exchanged: groups and sizes follow from the plan.
    void comparePlans() {
        const Result<std::optional<OddPlan>> odd = findOddPlan(m_plan, *m_communicator, kPlanTag);
        if (!odd)
            losePeer(odd.error());
        if (!*odd)
            return;
        if ((*odd)->rank != m_environment.rank)
            losePeer((*odd)->error);
        fail((*odd)->error);
    }

    /// Inside a host ranks add up in shared memory with the cores that also compute; over a network
    /// they mostly wait.
    bool crossesANetwork() const { return usesGlooOnly() || spec::isOnSeveralHosts(m_experiment); }
    bool usesGlooOnly() const {
        return m_experiment.parallel.transport == "gloo" || m_environment.segmentFd < 0;
    }

    Result<std::unique_ptr<Communicator>> makeCommunicator(const CommunicatorOptions& options) {
        if (options.worldSize == 1)
            return makeSingleCommunicator();
        if (!crossesANetwork())
            return makeSharedMemoryCommunicator(options, m_environment.segmentFd);
        const std::string folder = m_environment.runFolder + "/rendezvous";
        std::error_code failed;
        std::filesystem::create_directory(folder, failed); // another rank may have been first
        if (usesGlooOnly())
            return makeGlooCommunicator(options, folder, "127.0.0.1");
        return makeTwoLevelCommunicator(options, spec::hostsOfRanks(m_experiment),
                                        m_environment.segmentFd, folder, "127.0.0.1");
    }

    void buildExecutor() {
        auto optimizer = makeOptimizer(m_experiment.training.optimizer);
        if (!optimizer)
            fail(optimizer.error());
        m_optimizer = std::move(*optimizer);
        if (m_environment.record)
            m_recorder.emplace(*m_environment.record, m_plan.sectionOf(m_environment.rank),
                               StepWindow::of(m_plan.steps));
        Executor::Parts parts{.plan = m_plan,
                              .rank = m_environment.rank,
                              .seed = m_experiment.training.seed,
                              .backend = *m_backend,
                              .groups = *m_groups,
                              .optimizer = *m_optimizer,
                              .status = status(),
                              .statusHeader =
                                  m_environment.status ? &m_environment.status->header() : nullptr,
                              .recorder = m_recorder ? &*m_recorder : nullptr,
                              .overlaps = crossesANetwork()};
        auto executor = Executor::make(parts);
        if (!executor)
            fail(executor.error());
        m_executor = std::move(*executor);
    }

    void announce() {
        if (!isFirst())
            return;
        spec::Schedule schedule;
        schedule.planHash = m_plan.hash;
        schedule.steps = m_plan.steps;
        schedule.stepsPerEpoch = m_plan.stepsPerEpoch;
        schedule.epochs = m_experiment.training.epochs;
        schedule.trainSamples = m_plan.data.trainSamples;
        schedule.validationSamples = m_plan.data.validationSamples;
        m_environment.events.send(schedule);
        log(spec::LogLevel::Info,
            {"%1 training and %2 validation samples, %3 parameters, %4 steps.",
             {grouped(schedule.trainSamples), grouped(schedule.validationSamples),
              grouped(m_plan.graph.parameterElements()), grouped(schedule.steps)}});
        log(spec::LogLevel::Info,
            {"Computing with %1, ranks: %2.", {m_backend->name(), grouped(m_plan.worldSize)}});
        if (const plan::Mesh& mesh = m_plan.mesh; mesh.data != mesh.worldSize())
            log(spec::LogLevel::Info,
                {"The ranks are %1 data parallel x %2 tensor parallel x %3 pipeline stages.",
                 {grouped(mesh.data), grouped(mesh.tensor), grouped(mesh.pipeline)}});
        announceRate();
        m_environment.events.send(spec::StateChanged{spec::RunState::Running, {}});
    }

    void announceRate() {
        const auto& meantFor = m_experiment.training.learningRateBatch;
        if (meantFor)
            log(spec::LogLevel::Info,
                {"The learning rate is multiplied by %1: it is meant for a batch of %2, and the "
                 "batch is %3.",
                 {rounded(m_plan.learningRateFactor, 6), grouped(*meantFor),
                  grouped(m_plan.batch)}});
    }

    int dataCoordinate() const { return m_plan.mesh.coordinateOf(m_environment.rank).data; }

    void train() {
        setPhase(RankPhase::Training);
        std::optional<BatchFeed> feed; // stages in the middle of a pipeline need no samples
        if (m_executor->loadsBatches())
            feed = BatchFeed::training(m_plan, m_experiment, dataCoordinate(), *m_data.training);
        const LoadBatch load = feed ? feed->load() : LoadBatch();
        const spec::TrainingSpec& training = m_experiment.training;
        SpeedMeter speed;
        const auto begin = std::chrono::steady_clock::now();
        if (training.earlyStopping)
            m_stopping.emplace(*training.earlyStopping);
        bool stopped = false;
        std::int64_t step = 0;
        while (step < m_plan.steps && !stopped) {
            StepInput input;
            input.step = step;
            input.learningRate = learningRateAt(training, step + 1, m_plan.steps);
            input.clipNorm = training.clipNorm;
            Result<StepResult> result =
                m_executor->trainStep(m_plan.rowsOfStep(step % m_plan.stepsPerEpoch), input, load);
            if (!result)
                check(result.error());
            if (!result->finite)
                searchDivergence(input, *result);
            ++step;
            speed.add(result->sums.rows);
            reportStep(step, *result, input.learningRate, speed);
            stopped = result->sums.stopRequested;
            const bool epochEnd = step % m_plan.stepsPerEpoch == 0 || step == m_plan.steps;
            if (epochEnd)
                compareReplicas(step);
            if (epochEnd && m_data.validation) {
                validate(step);
                speed.pause();
                stopped = stopped || (m_stopping && m_stopping->isOver());
            }
        }
        chooseWeights(step);
        m_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (isFirst() && feed && m_seconds > 0)
            log(spec::LogLevel::Info, {"Steps waited for samples %1 % of the time.",
                                       {rounded(100 * feed->secondsWaited() / m_seconds, 2)}});
        saveFinalWeights();
        summarize(step, speed);
    }

    /// Wrong sums of a bad memory, or of a defect of ours, would else only show as a bad model.
    void compareReplicas(std::int64_t step) {
        const Result<int> differs = m_executor->rankThatDiffers(kReplicasTag);
        if (!differs)
            check(differs.error());
        if (*differs < 0)
            return;
        if (*differs != m_environment.rank)
            throw SessionEnd{RankExit::PeerLost};
        fail(
            {{"After step %1 the weights of rank %2 are no longer those of the other ranks, though "
              "all make the same updates: it has computed wrongly.",
              {grouped(step), grouped(*differs)}},
             "",
             {"Train again; if it is this machine again, test its memory."}});
    }

    /// What the run ends with: the best epoch's weights, else their average, else the last ones.
    void chooseWeights(std::int64_t step) {
        m_weightsStep = step;
        const Result<bool> finite = m_executor->parametersAreFinite(kFiniteTag);
        if (!finite)
            check(finite.error());
        if (!*finite) // the last update's doing; no step looked at them
            reportDivergence(step, {{spec::metric::kTrainLoss, m_trainLoss}},
                             {"Training diverged at step %1: it made weights that are not finite.",
                              {grouped(step)}});
        if (!m_stopping || m_stopping->bestEpoch() == 0) {
            m_executor->swapAverage();
            return;
        }
        m_executor->restoreBest();
        m_weightsStep = std::min(m_stopping->bestEpoch() * m_plan.stepsPerEpoch, step);
        m_validationLoss = m_keptLoss;
        m_validationAccuracy = m_keptAccuracy;
        if (isFirst())
            logStopping(step);
    }

    /// A run whose weights cannot be written has still been trained: its curves are worth keeping.
    void saveFinalWeights() {
        std::vector<std::byte> parameters;
        check(m_executor->gatherWhole(kWeightsTag, [&](std::span<const std::byte> one) {
            if (isFirst())
                parameters.insert(parameters.end(), one.begin(), one.end());
        }));
        if (!isFirst())
            return;
        const std::string path = m_environment.runFolder + '/' + spec::kWeightsFile;
        const Result<void> saved = saveWeights(path, m_experiment, m_plan, parameters,
                                               m_data.training->info(), m_weightsStep);
        if (saved)
            log(spec::LogLevel::Info,
                {"The weights of step %1 are in %2.", {grouped(m_weightsStep), path}});
        else
            log(spec::LogLevel::Warning,
                {"The weights of step %1 could not be saved: %2 Train again to have them.",
                 {grouped(m_weightsStep), saved.error().sentence()}});
    }

    void logStopping(std::int64_t step) {
        const char* metric =
            m_stopping->looksAtAccuracy() ? "validation accuracy" : "validation loss";
        std::vector<std::string> arguments = {metric, grouped(m_stopping->bestEpoch()),
                                              rounded(m_stopping->bestValue(), 6)};
        if (step == m_plan.steps || !m_stopping->isOver()) {
            log(spec::LogLevel::Info,
                {"The %1 was best in epoch %2 with %3. Its weights are kept.", arguments});
            return;
        }
        arguments.push_back(grouped(epochOf(step)));
        log(spec::LogLevel::Info,
            {"Stopped early after epoch %4: the %1 was best in epoch %2 with %3. Its weights are "
             "kept.",
             arguments});
    }

    /// First is 1; the one that the step belongs to.
    std::int64_t epochOf(std::int64_t step) const {
        return (step + m_plan.stepsPerEpoch - 1) / m_plan.stepsPerEpoch;
    }

    double epochsAt(std::int64_t step) const {
        const std::int64_t whole = step / m_plan.stepsPerEpoch;
        const std::int64_t rest = step % m_plan.stepsPerEpoch;
        return static_cast<double>(whole) + static_cast<double>(rest * m_plan.batch) /
                                                static_cast<double>(m_plan.data.trainSamples);
    }

    spec::Metrics metricsAt(std::int64_t step) const {
        spec::Metrics metrics;
        metrics.step = step;
        metrics.epoch = epochsAt(step);
        metrics.samples = step / m_plan.stepsPerEpoch * m_plan.data.trainSamples +
                          step % m_plan.stepsPerEpoch * m_plan.batch;
        return metrics;
    }

    void reportStep(std::int64_t step, const StepResult& result, double learningRate,
                    const SpeedMeter& speed) {
        if (!isFirst())
            return;
        m_trainLoss = result.sums.meanLoss();
        spec::Metrics metrics = metricsAt(step);
        metrics.values = trainingMetrics(m_plan.graph, result.sums);
        metrics.values.emplace_back(spec::metric::kLearningRate, learningRate);
        metrics.values.emplace_back(spec::metric::kGradientNorm, result.gradientNorm);
        if (speed.samplesPerSecond() > 0)
            metrics.values.emplace_back(spec::metric::kSamplesPerSecond, speed.samplesPerSecond());
        m_environment.events.send(metrics);
    }

    /// The rank on which it began says so.
    [[noreturn]] void searchDivergence(const StepInput& input, const StepResult& result) {
        std::optional<BatchFeed> feed; // the batch of this step once more
        if (m_executor->loadsBatches())
            feed = BatchFeed::training(m_plan, m_experiment, dataCoordinate(), *m_data.training,
                                       input.step);
        const Result<Divergence> found =
            m_executor->searchStep(m_plan.rowsOfStep(input.step % m_plan.stepsPerEpoch), input,
                                   feed ? feed->load() : LoadBatch(), kSearchTag);
        if (!found)
            losePeer(found.error());
        const std::int64_t step = input.step + 1;
        const double loss = result.sums.meanLoss();
        Message what("Training diverged at step %1: loss %2, gradient norm %3.",
                     {grouped(step), rounded(loss, 6), rounded(result.gradientNorm, 6)});
        if (found->begin)
            what = divergedAt(step, loss, result.gradientNorm, m_environment.rank, *found->begin);
        reportDivergence(
            step,
            {{spec::metric::kTrainLoss, loss}, {spec::metric::kGradientNorm, result.gradientNorm}},
            std::move(what), *found);
    }

    /// All ranks see the same numbers and leave alike; one says why, the first where none is named.
    [[noreturn]] void reportDivergence(std::int64_t step, std::vector<spec::NamedValue> values,
                                       Message what, const Divergence& where = {}) {
        if (isFirst()) {
            spec::Metrics metrics = metricsAt(step);
            metrics.values = std::move(values);
            m_environment.events.send(metrics);
        }
        if (m_environment.rank != std::max(0, where.rank))
            throw SessionEnd{RankExit::Diverged};
        const Error error(std::move(what), "",
                          {"Lower the learning rate, add warm-up steps or set "
                           "training.clip_norm; look at the samples of this step."});
        if (where.begin)
            fail(error, RankExit::Diverged, {step, where.begin->instruction, where.begin->layer});
        fail(error, RankExit::Diverged, {step, -1, ""});
    }

    void validate(std::int64_t step) {
        setPhase(RankPhase::Validating);
        const std::int64_t batches =
            (m_plan.data.validationSamples + m_plan.batch - 1) / m_plan.batch;
        std::optional<BatchFeed> feed;
        if (m_executor->loadsBatches())
            feed = BatchFeed::validation(m_plan, dataCoordinate(), *m_data.validation);
        const LoadBatch load = feed ? feed->load() : LoadBatch();
        m_executor->swapAverage();
        BatchSums sums;
        for (std::int64_t batch = 0; batch < batches; ++batch)
            check(m_executor->evaluate(validationRows(m_plan, batch), sums, load));
        check(m_executor->reduce(sums, kValidationTag));
        TRAINYARD_CHECK_EQ(static_cast<std::int64_t>(sums.rows), m_plan.data.validationSamples);
        m_validationLoss = sums.meanLoss();
        m_validationAccuracy = sums.accuracy();
        if (!std::isfinite(m_validationLoss))
            reportDivergence(step, {{spec::metric::kValidationLoss, m_validationLoss}},
                             {"Training diverged at step %1: the validation's loss is %2.",
                              {grouped(step), rounded(m_validationLoss, 6)}});
        auto confusion = m_executor->takeConfusion(kConfusionTag);
        if (!confusion)
            check(confusion.error());
        const bool best = judgeEpoch(step);
        m_executor->swapAverage();
        if (isFirst()) {
            spec::Metrics metrics = metricsAt(step);
            metrics.values = validationMetrics(m_plan.graph, sums);
            m_environment.events.send(metrics);
            reportConfusion(step, best, std::move(*confusion));
            log(spec::LogLevel::Info, validationSentence(m_plan.graph, step, sums, best));
        }
        setPhase(RankPhase::Training);
    }

    /// True: the best validation so far. The validated weights are in the executor.
    bool judgeEpoch(std::int64_t step) {
        if (!m_stopping) {
            const bool best = !m_bestLoss || m_validationLoss < *m_bestLoss;
            if (best)
                m_bestLoss = m_validationLoss;
            return best;
        }
        const double value =
            m_stopping->looksAtAccuracy() ? m_validationAccuracy : m_validationLoss;
        if (!m_stopping->add(epochOf(step), value))
            return false;
        m_executor->keepBest();
        m_keptLoss = m_validationLoss;
        m_keptAccuracy = m_validationAccuracy;
        return true;
    }

    void reportConfusion(std::int64_t step, bool best, std::vector<std::int64_t> counts) {
        if (counts.empty())
            return;
        spec::Confusion confusion;
        confusion.step = step;
        confusion.epoch = epochsAt(step);
        confusion.best = best;
        const std::vector<std::string>& names = m_data.training->info().classNames;
        if (names.size() * names.size() == counts.size())
            confusion.classNames = names;
        confusion.counts = std::move(counts);
        m_environment.events.send(confusion);
    }

    void summarize(std::int64_t steps, const SpeedMeter& speed) {
        if (!isFirst())
            return;
        spec::Summary summary;
        summary.steps = steps;
        summary.epochs = epochsAt(steps);
        summary.seconds = m_seconds;
        summary.values = {{spec::metric::kTrainLoss, m_trainLoss},
                          {spec::metric::kSamplesPerSecond, speed.meanSamplesPerSecond()}};
        if (m_validationLoss >= 0) {
            summary.values.emplace_back(spec::metric::kValidationLoss, m_validationLoss);
            if (hasAccuracy(m_plan.graph))
                summary.values.emplace_back(spec::metric::kValidationAccuracy,
                                            m_validationAccuracy);
        }
        m_environment.events.send(summary);
    }

    const spec::Experiment& m_experiment;
    RankEnvironment& m_environment;
    OpenedData m_data;
    plan::Plan m_plan;
    std::unique_ptr<Backend> m_backend;
    std::unique_ptr<Communicator> m_communicator;
    std::unique_ptr<ProcessGroups> m_groups;
    std::unique_ptr<Optimizer> m_optimizer;
    std::optional<FlightRecorder> m_recorder;
    std::unique_ptr<Executor> m_executor;
    double m_trainLoss = 0;
    double m_validationLoss = -1; ///< below 0: not validated yet
    double m_validationAccuracy = 0;
    std::optional<double> m_bestLoss;
    std::optional<EarlyStopping> m_stopping;
    double m_keptLoss = 0; ///< of the epoch whose weights are kept
    double m_keptAccuracy = 0;
    double m_seconds = 0;
    std::int64_t m_weightsStep = 0; ///< whose weights the run ends with
};

} // namespace

RankExit trainRank(const spec::Experiment& experiment, RankEnvironment& environment) {
    RankSession session(experiment, environment);
    try {
        try {
            return session.run();
        } catch (const std::exception& failure) {
            session.fail(errorOf(failure, environment.rank));
        }
    } catch (const SessionEnd& end) {
        return end.exit;
    }
}

} // namespace trainyard::engine
