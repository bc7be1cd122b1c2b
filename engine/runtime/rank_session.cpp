// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/rank_session.h"

#include "engine/base/number_text.h"
#include "engine/optim/early_stopping.h"
#include "engine/runtime/batch_feed.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/loss_metrics.h"
#include "engine/runtime/memory_failure.h"
#include "engine/runtime/rank_start.h"
#include "engine/runtime/rank_voice.h"
#include "engine/runtime/speed_meter.h"
#include "engine/runtime/weights_file.h"
#include "engine/spec/weights.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <vector>

namespace trainyard::engine {

namespace {

/// Tags above any instruction number; 0x80000000 is taken by the comparison of plans.
constexpr std::uint32_t kValidationTag = 0x80000001u;
constexpr std::uint32_t kConfusionTag = 0x80000002u;
constexpr std::uint32_t kFiniteTag = 0x80000003u;
constexpr std::uint32_t kWeightsTag = 0x80000004u;
constexpr std::uint32_t kReplicasTag = 0x80000005u; ///< and the one after it
constexpr std::uint32_t kSearchTag = 0x80000007u;

class RankSession {
public:
    explicit RankSession(const RankVoice& voice)
        : m_voice(voice), m_experiment(voice.experiment()) {}

    RankExit run() {
        m_voice.setPhase(RankPhase::Starting);
        startTogether(m_voice, m_start);
        buildExecutor();
        announce();
        train();
        m_voice.setPhase(RankPhase::Done);
        return RankExit::Done;
    }

private:
    void buildExecutor() {
        auto optimizer = makeOptimizer(m_experiment.training.optimizer);
        if (!optimizer)
            m_voice.fail(optimizer.error());
        m_optimizer = std::move(*optimizer);
        const RankEnvironment& environment = m_voice.environment();
        if (environment.record)
            m_recorder.emplace(*environment.record, m_plan.sectionOf(environment.rank),
                               StepWindow::of(m_plan.steps));
        Executor::Parts parts{.plan = m_plan,
                              .rank = environment.rank,
                              .seed = m_experiment.training.seed,
                              .backend = *m_start.backend,
                              .groups = *m_start.groups,
                              .optimizer = *m_optimizer,
                              .status = m_voice.status(),
                              .statusHeader =
                                  environment.status ? &environment.status->header() : nullptr,
                              .recorder = m_recorder ? &*m_recorder : nullptr,
                              // Inside a host ranks add up with the cores that also compute; over
                              // a network they mostly wait.
                              .overlaps = m_start.crossesANetwork};
        auto executor = Executor::make(parts);
        if (!executor)
            m_voice.fail(executor.error());
        m_executor = std::move(*executor);
    }

    void announce() {
        if (!m_voice.isFirst())
            return;
        spec::Schedule schedule;
        schedule.planHash = m_plan.hash;
        schedule.steps = m_plan.steps;
        schedule.stepsPerEpoch = m_plan.stepsPerEpoch;
        schedule.epochs = m_experiment.training.epochs;
        schedule.trainSamples = m_plan.data.trainSamples;
        schedule.validationSamples = m_plan.data.validationSamples;
        m_voice.send(schedule);
        m_voice.log(spec::LogLevel::Info,
                    {"%1 training and %2 validation samples, %3 parameters, %4 steps.",
                     {grouped(schedule.trainSamples), grouped(schedule.validationSamples),
                      grouped(m_plan.graph.parameterElements()), grouped(schedule.steps)}});
        m_voice.log(spec::LogLevel::Info, {"Computing with %1, ranks: %2.",
                                           {m_start.backend->name(), grouped(m_plan.worldSize)}});
        if (const plan::Mesh& mesh = m_plan.mesh; mesh.data != mesh.worldSize())
            m_voice.log(
                spec::LogLevel::Info,
                {"The ranks are %1 data parallel x %2 tensor parallel x %3 pipeline stages.",
                 {grouped(mesh.data), grouped(mesh.tensor), grouped(mesh.pipeline)}});
        announceRate();
        m_voice.send(spec::StateChanged{spec::RunState::Running, {}});
    }

    void announceRate() {
        const auto& meantFor = m_experiment.training.learningRateBatch;
        if (meantFor)
            m_voice.log(
                spec::LogLevel::Info,
                {"The learning rate is multiplied by %1: it is meant for a batch of %2, and the "
                 "batch is %3.",
                 {rounded(m_plan.learningRateFactor, 6), grouped(*meantFor),
                  grouped(m_plan.batch)}});
    }

    int dataCoordinate() const { return m_plan.mesh.coordinateOf(m_voice.environment().rank).data; }

    void train() {
        m_voice.setPhase(RankPhase::Training);
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
            const StepResult result = m_voice.check(
                m_executor->trainStep(m_plan.rowsOfStep(step % m_plan.stepsPerEpoch), input, load));
            if (!result.finite)
                searchDivergence(input, result);
            ++step;
            speed.add(result.sums.rows);
            reportStep(step, result, input.learningRate, speed);
            stopped = result.sums.stopRequested;
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
        if (m_voice.isFirst() && feed && m_seconds > 0)
            m_voice.log(spec::LogLevel::Info,
                        {"Steps waited for samples %1 % of the time.",
                         {rounded(100 * feed->secondsWaited() / m_seconds, 2)}});
        saveFinalWeights();
        summarize(step, speed);
    }

    /// Wrong sums of a bad memory, or of a defect of ours, would else only show as a bad model.
    void compareReplicas(std::int64_t step) {
        const int differs = m_voice.check(m_executor->rankThatDiffers(kReplicasTag));
        if (differs < 0)
            return;
        if (differs != m_voice.environment().rank)
            throw SessionEnd{RankExit::PeerLost};
        m_voice.fail(
            {{"After step %1 the weights of rank %2 are no longer those of the other ranks, though "
              "all make the same updates: it has computed wrongly.",
              {grouped(step), grouped(differs)}},
             "",
             {"Train again; if it is this machine again, test its memory."}});
    }

    /// What the run ends with: the best epoch's weights, else their average, else the last ones.
    void chooseWeights(std::int64_t step) {
        m_weightsStep = step;
        const bool finite = m_voice.check(m_executor->parametersAreFinite(kFiniteTag));
        if (!finite) // the last update's doing; no step looked at them
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
        if (m_voice.isFirst())
            logStopping(step);
    }

    /// A run whose weights cannot be written has still been trained: its curves are worth keeping.
    void saveFinalWeights() {
        std::vector<std::byte> parameters;
        m_voice.check(m_executor->gatherWhole(kWeightsTag, [&](std::span<const std::byte> one) {
            if (m_voice.isFirst())
                parameters.insert(parameters.end(), one.begin(), one.end());
        }));
        if (!m_voice.isFirst())
            return;
        const std::string path = m_voice.environment().runFolder + '/' + spec::kWeightsFile;
        const Result<void> saved = saveWeights(path, m_experiment, m_plan, parameters,
                                               m_data.training->info(), m_weightsStep);
        if (saved)
            m_voice.log(spec::LogLevel::Info,
                        {"The weights of step %1 are in %2.", {grouped(m_weightsStep), path}});
        else
            m_voice.log(spec::LogLevel::Warning,
                        {"The weights of step %1 could not be saved: %2 Train again to have them.",
                         {grouped(m_weightsStep), saved.error().sentence()}});
    }

    void logStopping(std::int64_t step) {
        const char* metric =
            m_stopping->looksAtAccuracy() ? "validation accuracy" : "validation loss";
        std::vector<std::string> arguments = {metric, grouped(m_stopping->bestEpoch()),
                                              rounded(m_stopping->bestValue(), 6)};
        if (step == m_plan.steps || !m_stopping->isOver()) {
            m_voice.log(spec::LogLevel::Info,
                        {"The %1 was best in epoch %2 with %3. Its weights are kept.", arguments});
            return;
        }
        arguments.push_back(grouped(epochOf(step)));
        m_voice.log(
            spec::LogLevel::Info,
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
        if (!m_voice.isFirst())
            return;
        m_trainLoss = result.sums.meanLoss();
        spec::Metrics metrics = metricsAt(step);
        metrics.values = trainingMetrics(m_plan.graph, result.sums);
        metrics.values.emplace_back(spec::metric::kLearningRate, learningRate);
        metrics.values.emplace_back(spec::metric::kGradientNorm, result.gradientNorm);
        if (speed.samplesPerSecond() > 0)
            metrics.values.emplace_back(spec::metric::kSamplesPerSecond, speed.samplesPerSecond());
        m_voice.send(metrics);
    }

    /// The rank on which it began says so.
    [[noreturn]] void searchDivergence(const StepInput& input, const StepResult& result) {
        std::optional<BatchFeed> feed; // the batch of this step once more
        if (m_executor->loadsBatches())
            feed = BatchFeed::training(m_plan, m_experiment, dataCoordinate(), *m_data.training,
                                       input.step);
        const Divergence found = m_voice.check(
            m_executor->searchStep(m_plan.rowsOfStep(input.step % m_plan.stepsPerEpoch), input,
                                   feed ? feed->load() : LoadBatch(), kSearchTag));
        const std::int64_t step = input.step + 1;
        const double loss = result.sums.meanLoss();
        Message what("Training diverged at step %1: loss %2, gradient norm %3.",
                     {grouped(step), rounded(loss, 6), rounded(result.gradientNorm, 6)});
        if (found.begin)
            what = divergedAt(step, loss, result.gradientNorm, m_voice.environment().rank,
                              *found.begin);
        reportDivergence(
            step,
            {{spec::metric::kTrainLoss, loss}, {spec::metric::kGradientNorm, result.gradientNorm}},
            std::move(what), found);
    }

    /// All ranks see the same numbers and leave alike; one says why, the first where none is named.
    [[noreturn]] void reportDivergence(std::int64_t step, std::vector<spec::NamedValue> values,
                                       Message what, const Divergence& where = {}) {
        if (m_voice.isFirst()) {
            spec::Metrics metrics = metricsAt(step);
            metrics.values = std::move(values);
            m_voice.send(metrics);
        }
        if (m_voice.environment().rank != std::max(0, where.rank))
            throw SessionEnd{RankExit::Diverged};
        const Error error(std::move(what), "",
                          {"Lower the learning rate, add warm-up steps or set "
                           "training.clip_norm; look at the samples of this step."});
        if (where.begin)
            m_voice.fail(error, RankExit::Diverged,
                         {step, where.begin->instruction, where.begin->layer});
        m_voice.fail(error, RankExit::Diverged, {step, -1, ""});
    }

    void validate(std::int64_t step) {
        m_voice.setPhase(RankPhase::Validating);
        const std::int64_t batches =
            (m_plan.data.validationSamples + m_plan.batch - 1) / m_plan.batch;
        std::optional<BatchFeed> feed;
        if (m_executor->loadsBatches())
            feed = BatchFeed::validation(m_plan, dataCoordinate(), *m_data.validation);
        const LoadBatch load = feed ? feed->load() : LoadBatch();
        m_executor->swapAverage();
        BatchSums sums;
        for (std::int64_t batch = 0; batch < batches; ++batch)
            m_voice.check(m_executor->evaluate(validationRows(m_plan, batch), sums, load));
        m_voice.check(m_executor->reduce(sums, kValidationTag));
        TRAINYARD_CHECK_EQ(static_cast<std::int64_t>(sums.rows), m_plan.data.validationSamples);
        m_validationLoss = sums.meanLoss();
        m_validationAccuracy = sums.accuracy();
        if (!std::isfinite(m_validationLoss))
            reportDivergence(step, {{spec::metric::kValidationLoss, m_validationLoss}},
                             {"Training diverged at step %1: the validation's loss is %2.",
                              {grouped(step), rounded(m_validationLoss, 6)}});
        std::vector<std::int64_t> confusion =
            m_voice.check(m_executor->takeConfusion(kConfusionTag));
        const bool best = judgeEpoch(step);
        m_executor->swapAverage();
        if (m_voice.isFirst()) {
            spec::Metrics metrics = metricsAt(step);
            metrics.values = validationMetrics(m_plan.graph, sums);
            m_voice.send(metrics);
            reportConfusion(step, best, std::move(confusion));
            m_voice.log(spec::LogLevel::Info, validationSentence(m_plan.graph, step, sums, best));
        }
        m_voice.setPhase(RankPhase::Training);
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
        m_voice.send(confusion);
    }

    void summarize(std::int64_t steps, const SpeedMeter& speed) {
        if (!m_voice.isFirst())
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
        m_voice.send(summary);
    }

    const RankVoice& m_voice;
    const spec::Experiment& m_experiment;
    StartedRank m_start;
    const plan::Plan& m_plan = m_start.plan;
    const OpenedData& m_data = m_start.data;
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
    const RankVoice voice(experiment, environment);
    RankSession session(voice); // outlives what is said of its end, or others would speak first
    try {
        try {
            return session.run();
        } catch (const std::exception& failure) {
            voice.fail(errorOf(failure, environment.rank));
        }
    } catch (const SessionEnd& end) {
        return end.exit;
    }
}

} // namespace trainyard::engine
