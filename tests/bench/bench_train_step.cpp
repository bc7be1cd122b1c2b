// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole training steps on one rank, in fp32 and, where the machine has it, in bf16 (against
// PyTorch's autocast), against PyTorch on the same shapes and threads. Both take turns in short
// rounds, so that whatever else the machine does hits both. The peer is a Python with PyTorch,
// named by TRAINYARD_TORCH_PYTHON (else python3); without one only our numbers are printed.
#include "engine/backend/backend.h"
#include "engine/base/check.h"
#include "engine/base/random.h"
#include "engine/comm/communicator.h"
#include "engine/optim/optimizer.h"
#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/machine.h"
#include "engine/spec/experiment_json.h"
#include "tests/bench/bench.h"
#include "tests/bench/torch_peer.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace trainyard::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 7;
constexpr double kSeconds = 1.5; ///< of a round

struct Case {
    std::string name;   ///< as the peer knows it
    std::string input;  ///< JSON
    std::string layers; ///< JSON
    std::string optimizer;
    std::int64_t rows;
    std::int64_t classes;
    std::int64_t vocabulary = 0;
    std::string precision = "fp32";
};

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

std::vector<Case> cases() {
    const std::string sgd = R"({"type": "sgd", "learning_rate": 0.01, "momentum": 0.9})";
    const std::string adamw = R"({"type": "adamw", "learning_rate": 0.0003})";
    std::vector<Case> all = {{"mlp", "[784]", kMlp, sgd, 128, 10},
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

/// One rank with everything it needs; used by the thread that made it.
class Trainer {
public:
    Trainer(const Case& c, int threads) : m_case(c) {
        const std::string text =
            R"({"format": "trainyard.experiment/1", "name": "bench", "data": {"format": "idx",
               "train": {"images": "none", "labels": "none"}}, "model": {"input": {"shape": )" +
            c.input + R"(}, "layers": [)" + c.layers + R"(]}, "training": {"batch": )" +
            std::to_string(c.rows) + R"(, "optimizer": )" + c.optimizer + R"(}, "precision": ")" +
            c.precision + "\"}";
        const spec::ParsedExperiment parsed = spec::parseExperiment(text);
        TRAINYARD_CHECK_MSG(parsed.problems.empty(), parsed.problems.empty()
                                                         ? std::string()
                                                         : parsed.problems[0].sentence());
        const plan::DataCounts counts{.trainSamples = c.rows * 1000,
                                      .sampleShape = parsed.experiment.model.inputShape,
                                      .classes = c.classes,
                                      .vocabulary = c.vocabulary};
        plan::PlanOutcome planned = plan::makePlan(
            parsed.experiment, counts, engine::machineFacts(parsed.experiment.precision));
        TRAINYARD_CHECK_MSG(planned.problems.empty(), planned.problems.empty()
                                                          ? std::string()
                                                          : planned.problems[0].sentence());
        m_plan = std::move(planned.plan);
        m_backend = engine::makeCpuBackend(threads);
        m_communicator = engine::makeSingleCommunicator();
        m_groups = engine::ProcessGroups::make(m_plan, 0, *m_communicator).value();
        m_optimizer = engine::makeOptimizer(parsed.experiment.training.optimizer).value();
        m_executor = engine::Executor::make({.plan = m_plan,
                                             .backend = *m_backend,
                                             .groups = *m_groups,
                                             .optimizer = *m_optimizer})
                         .value();
    }

    double samplesPerSecond(double seconds) {
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

private:
    void step() {
        const engine::StepInput input{.step = m_step++, .learningRate = 1e-4};
        const auto result = m_executor->trainStep(
            m_case.rows, input,
            [this](const engine::BatchMemory& memory, const engine::BatchPart&) { load(memory); });
        TRAINYARD_CHECK(result.ok() && result->finite);
    }

    void load(const engine::BatchMemory& memory) const {
        const std::int64_t elements = m_case.rows * elementCount(m_plan.data.sampleShape);
        for (std::int64_t i = 0; i < elements; ++i) {
            const auto word = static_cast<std::uint32_t>(i * 2654435761);
            if (memory.inputType == DType::Int32)
                static_cast<std::int32_t*>(memory.inputs)[i] =
                    static_cast<std::int32_t>(word >> 8) % 256;
            else
                static_cast<float*>(memory.inputs)[i] = 2 * unitFloat(word) - 1;
        }
        const std::int64_t labels = m_case.rows * elementCount(m_plan.graph.targetShape());
        for (std::int64_t i = 0; i < labels; ++i)
            memory.labels[i] = static_cast<std::int32_t>(i * 7 % m_case.classes);
    }

    const Case& m_case;
    plan::Plan m_plan;
    std::unique_ptr<engine::Backend> m_backend;
    std::unique_ptr<engine::Communicator> m_communicator;
    std::unique_ptr<engine::ProcessGroups> m_groups;
    std::unique_ptr<engine::Optimizer> m_optimizer;
    std::unique_ptr<engine::Executor> m_executor;
    std::int64_t m_step = 0;
};

struct Median {
    double value = 0;
    double spread = 0;
};

Median medianOf(std::vector<double> values) {
    std::ranges::sort(values);
    const double middle = values[values.size() / 2];
    return {middle, (values.back() - values.front()) / middle};
}

Row measure(const Case& c, int threads, TorchPeer& peer) {
    std::vector<double> ours;
    const std::vector<std::string> variants = peer.variants(c.name);
    std::vector<std::vector<double>> theirs(variants.size());
    Trainer trainer(c, threads);
    for (int round = 0; round < kRounds; ++round) {
        ours.push_back(trainer.samplesPerSecond(kSeconds));
        for (std::size_t i = 0; i < variants.size(); ++i)
            theirs[i].push_back(peer.samplesPerSecond(c.name, threads, variants[i], kSeconds));
    }
    const Median mine = medianOf(ours);
    Row row{.name =
                c.name + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"),
            .value = mine.value,
            .unit = "samples/s",
            .peer = {},
            .ratio = {},
            .scaling = {},
            .spread = mine.spread};
    double best = 0;
    for (const std::vector<double>& values : theirs)
        best = std::max(best, medianOf(values).value);
    if (best > 0) {
        row.peer = peer.name();
        row.ratio = mine.value / best;
    }
    return row;
}

/// TRAINYARD_BENCH_ONLY="gpt 1": this case with so many threads only.
bool wanted(const std::string& name) {
    const char* only = std::getenv("TRAINYARD_BENCH_ONLY");
    return only == nullptr || name.starts_with(only);
}

} // namespace

std::vector<Row> benchTrainStep() {
    TorchPeer peer;
    std::vector<Row> rows;
    for (const Case& c : cases())
        for (const int threads : {1, 2}) {
            if (!wanted(c.name + " " + std::to_string(threads)))
                continue;
            // A thread of its own: the compute team belongs to the thread that makes the backend.
            std::thread thread([&] { rows.push_back(measure(c, threads, peer)); });
            thread.join();
        }
    return rows;
}

} // namespace trainyard::bench
