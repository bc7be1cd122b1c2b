// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/train_case.h"

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "engine/runtime/machine.h"
#include "engine/runtime/measure_speeds.h"
#include "engine/spec/experiment_json.h"

#include <algorithm>
#include <chrono>

namespace trainyard::bench {

namespace {

using Clock = std::chrono::steady_clock;

std::string blocks(int count, const std::string& format) {
    std::string text;
    for (int i = 1; i <= count; ++i)
        text += R"({"id": "block)" + std::to_string(i) + "\", " + format + "},";
    return text;
}

std::string resnet18() {
    std::string text = R"({"id": "stem", "type": "conv2d", "out_channels": 64, "padding": 1,
        "bias": false}, {"id": "norm", "type": "batch_norm"}, {"id": "relu", "type": "relu"},)";
    int number = 0;
    for (const int channels : {64, 128, 256, 512})
        for (const int stride : {channels == 64 ? 1 : 2, 1})
            text += R"({"id": "block)" + std::to_string(++number) +
                    R"(", "type": "residual_block", "out_channels": )" + std::to_string(channels) +
                    R"(, "stride": )" + std::to_string(stride) + "},";
    return text + R"({"id": "pool", "type": "global_avg_pool"},
        {"id": "classes", "type": "linear", "out_features": 10})";
}

const std::string kMlp = R"({"id": "fc1", "type": "linear", "out_features": 512},
    {"id": "relu1", "type": "relu"}, {"id": "fc2", "type": "linear", "out_features": 512},
    {"id": "relu2", "type": "relu"}, {"id": "fc3", "type": "linear", "out_features": 10})";

std::string gpt() {
    return R"({"id": "tokens", "type": "embedding", "vocabulary": 256, "features": 256},
        {"id": "positions", "type": "position_embedding"},)" +
           blocks(4, R"("type": "transformer_block", "heads": 4)") +
           R"({"id": "norm", "type": "layer_norm"},
        {"id": "head", "type": "linear", "out_features": 256, "bias": false})";
}

} // namespace

std::vector<TrainCase> trainCases() {
    const std::string sgd = R"({"type": "sgd", "learning_rate": 0.01, "momentum": 0.9})";
    const std::string adamw = R"({"type": "adamw", "learning_rate": 0.0003})";
    std::vector<TrainCase> all = {{"mlp", "[784]", kMlp, sgd, 128, 10},
                                  {"resnet18_b32", "[3, 32, 32]", resnet18(), sgd, 32, 10},
                                  {"resnet18_b128", "[3, 32, 32]", resnet18(), sgd, 128, 10},
                                  {"gpt", "[256]", gpt(), adamw, 8, 256, 256}};
    for (std::size_t i = 0; i < 4 && engine::cpuBackendSupports(DType::Bf16); ++i) {
        all.push_back(all[i]);
        all.back().name += "_bf16";
        all.back().precision = "bf16";
    }
    return all;
}

CaseTrainer::CaseTrainer(const TrainCase& trained, const Options& options,
                         std::unique_ptr<engine::Communicator> world)
    : m_case(trained), m_world(std::move(world)) {
    const std::string text =
        R"({"format": "trainyard.experiment/1", "name": "bench", "data": {"format": "idx",
           "train": {"images": "none", "labels": "none"}}, "model": {"input": {"shape": )" +
        trained.input + R"(}, "layers": [)" + trained.layers + R"(]}, "training": {"batch": )" +
        std::to_string(trained.rows) + R"(, "optimizer": )" + trained.optimizer +
        R"(}, "precision": ")" + trained.precision + "\"}";
    const spec::ParsedExperiment parsed = spec::parseExperiment(text, options.settings);
    TRAINYARD_CHECK_MSG(parsed.problems.empty(),
                        parsed.problems.empty() ? "" : parsed.problems[0].sentence());
    makePlan(parsed.experiment, options.threads);
    m_backend = engine::makeCpuBackend(options.threads);
    m_groups = engine::ProcessGroups::make(m_plan, options.rank, *m_world).value();
    m_optimizer = engine::makeOptimizer(parsed.experiment.training.optimizer).value();
    if (options.recorded) {
        m_record = std::make_unique<engine::FlightRecord>();
        m_recorder.emplace(*m_record, m_plan.sectionOf(options.rank), engine::StepWindow{});
    }
    m_executor = engine::Executor::make({.plan = m_plan,
                                         .rank = options.rank,
                                         .backend = *m_backend,
                                         .groups = *m_groups,
                                         .optimizer = *m_optimizer,
                                         .recorder = m_recorder ? &*m_recorder : nullptr,
                                         .overlaps = options.overlaps})
                     .value();
}

/// Where shares follow from speeds, as in a run: once to measure them, once with them.
void CaseTrainer::makePlan(const spec::Experiment& experiment, int threads) {
    const plan::DataCounts counts{.trainSamples = m_case.rows * 1000,
                                  .sampleShape = experiment.model.inputShape,
                                  .classes = m_case.classes,
                                  .vocabulary = m_case.vocabulary};
    plan::MachineFacts machine = engine::machineFacts(experiment.precision);
    do {
        plan::PlanOutcome planned = plan::makePlan(experiment, counts, machine);
        TRAINYARD_CHECK_MSG(planned.problems.empty(),
                            planned.problems.empty() ? "" : planned.problems[0].sentence());
        m_plan = std::move(planned.plan);
        TRAINYARD_CHECK_EQ(m_plan.worldSize, m_world->worldSize());
        if (m_plan.awaitsSpeeds) {
            const auto backend = engine::makeCpuBackend(threads);
            machine.speeds =
                engine::measureSpeeds({m_plan, experiment, *backend, *m_world}).value();
        }
    } while (m_plan.awaitsSpeeds);
}

double CaseTrainer::secondsExposed() const {
    if (!m_record)
        return 0;
    const auto exposed = static_cast<std::size_t>(engine::StepPart::Exposed);
    return static_cast<double>(m_record->times.partNs[exposed].load()) * 1e-9;
}

double CaseTrainer::samplesPerSecond(double seconds) {
    step();
    const auto start = Clock::now();
    std::int64_t done = 0;
    double passed = 0;
    do {
        step();
        ++done;
        passed = std::chrono::duration<double>(Clock::now() - start).count();
    } while (passed < seconds);
    return static_cast<double>(done * m_case.rows) / passed;
}

void CaseTrainer::step() {
    const engine::StepInput input{.step = m_step++, .learningRate = 1e-4};
    const auto result = m_executor->trainStep(
        m_case.rows, input,
        [this](const engine::BatchMemory& memory, const engine::BatchPart& part) {
            load(memory, part.rows.count);
        });
    TRAINYARD_CHECK_MSG(result.ok(), result.ok() ? "" : result.error().sentence());
    TRAINYARD_CHECK(result->finite);
}

void CaseTrainer::load(const engine::BatchMemory& memory, std::int64_t rows) const {
    const std::int64_t elements = memory.inputs ? rows * elementCount(m_plan.data.sampleShape) : 0;
    for (std::int64_t i = 0; i < elements; ++i) {
        const auto word = static_cast<std::uint32_t>(i * 2654435761);
        if (memory.inputType == DType::Int32)
            static_cast<std::int32_t*>(memory.inputs)[i] =
                static_cast<std::int32_t>(word >> 8) % 256;
        else
            static_cast<float*>(memory.inputs)[i] = 2 * unitFloat(word) - 1;
    }
    const std::int64_t labels = memory.labels ? rows * elementCount(m_plan.graph.targetShape()) : 0;
    for (std::int64_t i = 0; i < labels; ++i)
        memory.labels[i] = static_cast<std::int32_t>(i * 7 % m_case.classes);
}

Median medianOf(std::vector<double> values) {
    std::ranges::sort(values);
    const double middle = values[values.size() / 2];
    return {middle, (values.back() - values.front()) / middle};
}

} // namespace trainyard::bench
