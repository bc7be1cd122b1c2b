// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/calibrate.h"

#include "engine/backend/cpu/form_chooser.h"
#include "engine/base/check.h"
#include "engine/plan/kernel_task.h"
#include "engine/runtime/calibration_models.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/machine.h"
#include "engine/runtime/time_exchanges.h"
#include "engine/runtime/timed_parts.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>

namespace trainyard::engine {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFewestSteps = 5;
constexpr int kMostSteps = 200;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The lower quartile: whatever else the machine does can only make things slower.
double typicalOf(std::vector<double> values) {
    const auto quarter = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
    std::nth_element(values.begin(), quarter, values.end());
    return *quarter;
}

/// One model that is trained; used by the thread that made it.
class Trainee {
public:
    Trainee(const CalibrationModel& model, spec::Precision precision, int threads)
        : m_model(model), m_backend(makeCpuBackend(threads)),
          m_timedBackend(makeTimedBackend(*m_backend, m_watch)),
          m_communicator(makeSingleCommunicator()) {
        spec::Experiment experiment = model.experiment;
        experiment.precision = precision;
        plan::PlanOutcome planned =
            plan::makePlan(experiment, model.counts, machineFacts(precision));
        TRAINYARD_CHECK_MSG(planned.problems.empty(), planned.problems.empty()
                                                          ? std::string()
                                                          : planned.problems[0].sentence());
        m_plan = std::move(planned.plan);
        m_optimizer = makeOptimizer(experiment.training.optimizer).value();
        m_timedOptimizer = makeTimedOptimizer(*m_optimizer, m_watch);
        m_groups = ProcessGroups::make(m_plan, 0, *m_communicator).value();
        m_executor = Executor::make({.plan = m_plan,
                                     .backend = *m_timedBackend,
                                     .groups = *m_groups,
                                     .optimizer = *m_timedOptimizer})
                         .value();
        fillBatch();
        step();
        m_watch.start();
    }

    void step() {
        const StepInput input{.step = m_step++, .learningRate = 1e-4};
        const Result<StepResult> result = m_executor->trainStep(
            m_plan.batch, input,
            [this](const BatchMemory& memory, const BatchPart&) { load(memory); });
        TRAINYARD_CHECK(result.ok());
    }

    const StopWatch& watch() const { return m_watch; }
    double loadSeconds() const { return m_loadSeconds; }
    std::size_t arenaElements() const { return m_plan.sectionOf(0).arenaElements; }
    std::size_t instructions() const {
        return plan::compileProgram(m_plan, 0, plan::Purpose::Training, m_plan.batch)
            .instructions.size();
    }

private:
    void fillBatch() {
        const std::int64_t elements = m_plan.batch * elementCount(m_plan.data.sampleShape);
        for (std::int64_t i = 0; i < elements; ++i) {
            const auto word = static_cast<std::uint32_t>(i) * 2654435761u >> 8;
            if (m_model.counts.vocabulary > 0)
                m_indices.push_back(static_cast<std::int32_t>(
                    word % static_cast<std::uint32_t>(m_model.counts.vocabulary)));
            else
                m_numbers.push_back(static_cast<float>(word % 2048) / 1024 - 1);
        }
        const std::int64_t labels = m_plan.batch * elementCount(m_plan.graph.targetShape());
        for (std::int64_t i = 0; i < labels; ++i)
            m_labels.push_back(static_cast<std::int32_t>(i * 7 % m_model.counts.classes));
    }

    void load(const BatchMemory& memory) {
        const Clock::time_point start = Clock::now();
        if (memory.inputType == DType::Int32)
            std::ranges::copy(m_indices, static_cast<std::int32_t*>(memory.inputs));
        else
            std::ranges::copy(m_numbers, static_cast<float*>(memory.inputs));
        std::ranges::copy(m_labels, memory.labels);
        m_loadSeconds = since(start);
    }

    const CalibrationModel& m_model;
    plan::Plan m_plan;
    StopWatch m_watch;
    std::unique_ptr<Backend> m_backend, m_timedBackend;
    std::unique_ptr<Communicator> m_communicator;
    std::unique_ptr<Optimizer> m_optimizer, m_timedOptimizer;
    std::unique_ptr<ProcessGroups> m_groups;
    std::unique_ptr<Executor> m_executor;
    std::vector<std::int32_t> m_indices, m_labels;
    std::vector<float> m_numbers;
    double m_loadSeconds = 0; ///< of the last step
    std::int64_t m_step = 0;
};

void add(plan::CalibrationSetting& setting, const plan::CalibrationTask& task, double seconds) {
    if (task.work > 0 && seconds > 0)
        setting.tables[task.table].push_back({task.axes, task.work, seconds});
}

/// Kernels of the same shape are one point.
void addTimes(plan::CalibrationSetting& setting, const StopWatch& watch) {
    std::vector<TimedTask> all;
    for (const TimedTask& timed : watch.tasks()) {
        const auto same = std::ranges::find_if(all, [&](const TimedTask& other) {
            return other.task.table == timed.task.table && other.task.axes == timed.task.axes &&
                   other.task.work == timed.task.work;
        });
        if (same == all.end())
            all.push_back(timed);
        else
            same->seconds.insert(same->seconds.end(), timed.seconds.begin(), timed.seconds.end());
    }
    for (const TimedTask& timed : all)
        if (!timed.seconds.empty())
            add(setting, timed.task, typicalOf(timed.seconds));
}

/// Of the sum of squares, which no kernel and no optimizer makes, and of copies.
void timeLoops(plan::CalibrationSetting& setting) {
    constexpr int kTimes = 5;
    for (const std::int64_t elements : {1 << 10, 1 << 15, 1 << 18, 1 << 21}) {
        const std::vector<float> from(static_cast<std::size_t>(elements), 0.5f);
        std::vector<float> to(from.size());
        std::vector<double> squares, copies;
        for (int i = 0; i <= kTimes; ++i) {
            Clock::time_point start = Clock::now();
            TRAINYARD_CHECK(norm(DType::Fp32, from.data(), from.size()) > 0);
            squares.push_back(since(start));
            start = Clock::now();
            std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
            copies.push_back(since(start));
        }
        add(setting, plan::squaresTask(elements), typicalOf(squares));
        add(setting, plan::copyTask(elements * 4), typicalOf(copies));
    }
}

/// What is left of a step without its kernels, over its instructions.
void addInstruction(plan::CalibrationSetting& setting, const Trainee& trainee,
                    const std::vector<double>& rests) {
    const double squares =
        setting.tables.contains("squares")
            ? plan::estimate(
                  setting.tables.at("squares"),
                  plan::squaresTask(static_cast<std::int64_t>(trainee.arenaElements())).axes,
                  static_cast<double>(trainee.arenaElements()))
            : 0;
    const double rest = typicalOf(rests) - squares;
    add(setting, plan::instructionTask(),
        std::max(1e-8, rest / static_cast<double>(trainee.instructions())));
}

/// So many ranks train the same model at the same time, each in a thread of its own: the compute
/// team belongs to it. The first is timed.
class Crowd {
public:
    Crowd(const CalibrationModel& model, spec::Precision precision,
          plan::CalibrationSetting& setting, std::chrono::milliseconds time)
        : m_model(model), m_precision(precision), m_setting(setting), m_time(time) {}

    void run(bool first) {
        std::vector<std::thread> threads;
        for (int rank = 1; rank < m_setting.ranks; ++rank)
            threads.emplace_back([this] { train(); });
        threads.emplace_back([this, first] { measure(first); });
        for (std::thread& thread : threads)
            thread.join();
    }

private:
    void train() {
        Trainee trainee(m_model, m_precision, m_setting.threads);
        ++m_ready;
        while (!m_done)
            trainee.step();
    }

    void measure(bool first) {
        Trainee trainee(m_model, m_precision, m_setting.threads);
        while (m_ready + 1 < m_setting.ranks)
            std::this_thread::yield();
        if (first)
            timeLoops(m_setting);
        std::vector<double> rests;
        const Clock::time_point begin = Clock::now();
        const double patience = std::chrono::duration<double>(m_time).count();
        for (int i = 0; i < kFewestSteps || (i < kMostSteps && since(begin) < patience); ++i) {
            const double before = trainee.watch().sum();
            const Clock::time_point start = Clock::now();
            trainee.step();
            rests.push_back(since(start) - (trainee.watch().sum() - before) -
                            trainee.loadSeconds());
        }
        m_done = true;
        addTimes(m_setting, trainee.watch());
        if (first) // the smallest model: in others the rest is noise of large numbers
            addInstruction(m_setting, trainee, rests);
    }

    const CalibrationModel& m_model;
    const spec::Precision m_precision;
    plan::CalibrationSetting& m_setting;
    const std::chrono::milliseconds m_time;
    std::atomic<int> m_ready{0};
    std::atomic<bool> m_done{false};
};

std::vector<plan::CalibrationSetting> settingsFor(int cores) {
    std::vector<plan::CalibrationSetting> settings{{1, 1, {}}};
    if (cores > 1) {
        settings.push_back({1, cores, {}});
        settings.push_back({cores, 1, {}});
    }
    return settings;
}

std::string utcNow() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

} // namespace

Result<plan::Calibration> calibrate(const CalibrateOptions& options) {
    plan::Calibration calibration;
    calibration.key = options.key;
    calibration.measuredAt = utcNow();
    calibration.settings = settingsFor(options.key.cores);
    std::vector<spec::Precision> precisions{spec::Precision::Fp32};
    if (cpuBackendSupports(DType::Bf16))
        precisions.push_back(spec::Precision::Bf16);
    const std::vector<CalibrationModel> models = calibrationModels();
    for (plan::CalibrationSetting& setting : calibration.settings)
        for (const spec::Precision precision : precisions)
            for (const CalibrationModel& model : models)
                Crowd(model, precision, setting, options.perModel)
                    .run(precision == precisions.front() && &model == &models.front());
    Result<void> exchanged = timeExchanges(options.perExchange, calibration);
    if (!exchanged)
        return exchanged.error();
    return calibration;
}

plan::CalibrationKey calibrationKey(const std::string& version, int cores) {
    return {version, cpu::describeMachine(), cores};
}

} // namespace trainyard::engine
