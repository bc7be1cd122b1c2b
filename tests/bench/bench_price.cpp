// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Predicted step times against measured ones. Each pass calibrates the machine anew and then runs
// every plan as processes, as a run would, without reading data. The prediction is the plan's, from
// the calibration alone. Rank correlation and errors are printed, never asserted.
// Measured is the lower quartile of rounds of steps: whatever else the machine does can only make
// them slower, and a calibration looks at its times in the same way.
// TRAINYARD_BENCH_ONLY="gpt" runs cases whose names begin so, TRAINYARD_BENCH_PASSES another number
// of passes than three.
#include "tests/bench/bench.h"

#include "engine/base/check.h"
#include "engine/program/price.h"
#include "engine/runtime/calibrate.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/machine.h"
#include "engine/spec/experiment_json.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trainyard::bench {

namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr int kRounds = 12;
constexpr double kSecondsPerRound = 0.06;

struct PricedCase {
    std::string name;
    std::string input;
    std::string layers;
    std::string optimizer;
    std::int64_t batch = 0;
    std::string parallel; ///< JSON
    std::int64_t classes = 10;
    std::int64_t vocabulary = 0;
};

std::string linear(const std::string& id, int features) {
    return R"({"id": ")" + id + R"(", "type": "linear", "out_features": )" +
           std::to_string(features) + "}";
}

std::string relu(const std::string& id) {
    return R"({"id": ")" + id + R"(", "type": "relu"},)";
}

std::string mlp(int width) {
    return linear("fc1", width) + "," + relu("relu1") + linear("fc2", width) + "," + relu("relu2") +
           linear("fc3", 10);
}

std::string conv(const std::string& id, int channels) {
    return R"({"id": ")" + id + R"(", "type": "conv2d", "padding": 1, "out_channels": )" +
           std::to_string(channels) + "},";
}

std::string pool(const std::string& id) {
    return R"({"id": ")" + id + R"(", "type": "max_pool", "kernel": 2},)";
}

std::string cnn() {
    return conv("conv1", 32) + relu("relu1") + pool("pool1") + conv("conv2", 64) + relu("relu2") +
           pool("pool2") + R"({"id": "flat", "type": "flatten"},)" + linear("fc1", 128) + "," +
           relu("relu3") + linear("fc2", 10);
}

/// Half as wide as the well-known one.
std::string smallResnet18() {
    std::string text = conv("stem", 32) + R"({"id": "norm", "type": "batch_norm"},)" + relu("relu");
    int number = 0;
    for (const int channels : {32, 64, 128, 256})
        for (const int stride : {channels == 32 ? 1 : 2, 1})
            text += R"({"id": "block)" + std::to_string(++number) +
                    R"(", "type": "residual_block", "out_channels": )" + std::to_string(channels) +
                    R"(, "stride": )" + std::to_string(stride) + "},";
    return text + R"({"id": "pool", "type": "global_avg_pool"},)" + linear("classes", 10);
}

std::string gpt(int blocks) {
    std::string text = R"({"id": "tokens", "type": "embedding", "vocabulary": 200,
        "features": 192}, {"id": "positions", "type": "position_embedding"},)";
    for (int i = 1; i <= blocks; ++i)
        text += R"({"id": "block)" + std::to_string(i) +
                R"(", "type": "transformer_block", "heads": 6},)";
    return text + R"({"id": "norm", "type": "layer_norm"},
        {"id": "head", "type": "linear", "out_features": 200, "bias": false})";
}

std::vector<PricedCase> pricedCases() {
    const std::string sgd = R"({"type": "sgd", "learning_rate": 0.01, "momentum": 0.9})";
    const std::string adamw = R"({"type": "adamw", "learning_rate": 0.0003})";
    const std::string one = "{}";
    const std::string data = R"({"data": 2})";
    const std::string tensor = R"({"tensor": 2})";
    const auto zero = [](int stage) {
        return R"({"data": 2, "zero": )" + std::to_string(stage) + "}";
    };
    const auto pipeline = [](const std::string& schedule, int microBatches) {
        return R"({"pipeline": 2, "schedule": ")" + schedule + R"(", "micro_batches": )" +
               std::to_string(microBatches) + "}";
    };
    std::vector<PricedCase> all;
    const auto add = [&](const std::string& model, std::int64_t batch, const std::string& name,
                         const std::string& parallel) {
        PricedCase c{model + " " + std::to_string(batch) + ", " + name,
                     "[784]",
                     mlp(512),
                     sgd,
                     batch,
                     parallel};
        if (model == "wide mlp")
            c.input = "[1024]", c.layers = mlp(1536), c.optimizer = adamw;
        else if (model == "cnn")
            c.input = "[1, 28, 28]", c.layers = cnn(), c.optimizer = adamw;
        else if (model == "resnet18")
            c.input = "[3, 32, 32]", c.layers = smallResnet18();
        else if (model == "gpt")
            c.input = "[96]", c.layers = gpt(4), c.optimizer = adamw, c.classes = 200,
            c.vocabulary = 200;
        all.push_back(std::move(c));
    };
    add("mlp", 32, "one rank", one);
    add("mlp", 128, "one rank", one);
    add("mlp", 512, "one rank", one);
    add("mlp", 128, "data 2", data);
    add("mlp", 512, "data 2", data);
    add("mlp", 512, "tensor 2", tensor);
    add("mlp", 512, "zero 1", zero(1));
    add("mlp", 512, "zero 2", zero(2));
    add("mlp", 512, "zero 3", zero(3));
    add("mlp", 512, "accumulate 4", R"({"accumulate": 4})");
    add("mlp", 512, "pipeline 2, 1f1b, 4", pipeline("1f1b", 4));
    add("mlp", 512, "data 2, gloo", R"({"data": 2, "transport": "gloo"})");
    add("wide mlp", 256, "one rank", one);
    add("wide mlp", 256, "data 2", data);
    add("wide mlp", 256, "tensor 2", tensor);
    add("wide mlp", 256, "zero 3", zero(3));
    add("cnn", 64, "one rank", one);
    add("cnn", 64, "data 2", data);
    add("cnn", 64, "pipeline 2, gpipe, 4", pipeline("gpipe", 4));
    add("resnet18", 32, "one rank", one);
    add("resnet18", 32, "data 2", data);
    add("resnet18", 32, "recompute", R"({"recompute": "blocks"})");
    add("resnet18", 32, "pipeline 2, 1f1b, 4", pipeline("1f1b", 4));
    add("gpt", 8, "one rank", one);
    add("gpt", 8, "data 2", data);
    add("gpt", 8, "tensor 2", tensor);
    add("gpt", 8, "recompute", R"({"recompute": "blocks"})");
    add("gpt", 8, "zero 3", zero(3));
    add("gpt", 8, "pipeline 2, 1f1b, 4", pipeline("1f1b", 4));
    add("gpt", 8, "pipeline 2, interleaved, 4", pipeline("interleaved", 4));
    add("gpt", 8, "data 2, gloo", R"({"data": 2, "transport": "gloo"})");
    return all;
}

int cores() {
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

struct Planned {
    spec::Experiment experiment;
    plan::Plan plan;
    int threads = 1;
};

Planned planned(const PricedCase& c) {
    const std::string text =
        R"({"format": "trainyard.experiment/1", "name": "bench", "data": {"format": "idx",
           "train": {"images": "none", "labels": "none"}}, "model": {"input": {"shape": )" +
        c.input + R"(}, "layers": [)" + c.layers + R"(]}, "training": {"batch": )" +
        std::to_string(c.batch) + R"(, "optimizer": )" + c.optimizer + R"(}, "parallel": )" +
        c.parallel + "}";
    spec::ParsedExperiment parsed = spec::parseExperiment(text);
    TRAINYARD_CHECK_MSG(
        parsed.problems.empty(),
        c.name + (parsed.problems.empty() ? std::string() : parsed.problems[0].sentence()));
    const plan::DataCounts counts{.trainSamples = c.batch * 100000,
                                  .sampleShape = parsed.experiment.model.inputShape,
                                  .classes = c.classes,
                                  .vocabulary = c.vocabulary};
    plan::PlanOutcome outcome =
        plan::makePlan(parsed.experiment, counts, engine::machineFacts(spec::Precision::Fp32));
    TRAINYARD_CHECK_MSG(
        outcome.problems.empty(),
        c.name + (outcome.problems.empty() ? std::string() : outcome.problems[0].sentence()));
    const int threads = std::max(1, cores() / outcome.plan.worldSize);
    return {std::move(parsed.experiment), std::move(outcome.plan), threads};
}

/// One rank of a plan, in a process of its own.
class PricedRank {
public:
    PricedRank(const Planned& planned, int rank, int segment, const std::string& folder)
        : m_plan(planned.plan), m_backend(engine::makeCpuBackend(planned.threads)) {
        const bool gloo = planned.experiment.parallel.transport == "gloo";
        const engine::CommunicatorOptions options{.rank = rank, .worldSize = m_plan.worldSize};
        if (m_plan.worldSize == 1)
            m_world = engine::makeSingleCommunicator();
        else if (gloo)
            m_world = engine::makeGlooCommunicator(options, folder, "127.0.0.1").value();
        else
            m_world = engine::makeSharedMemoryCommunicator(options, segment).value();
        m_groups = engine::ProcessGroups::make(m_plan, rank, *m_world).value();
        m_optimizer = engine::makeOptimizer(planned.experiment.training.optimizer).value();
        m_executor = engine::Executor::make({.plan = m_plan,
                                             .rank = rank,
                                             .backend = *m_backend,
                                             .groups = *m_groups,
                                             .optimizer = *m_optimizer,
                                             .overlaps = gloo})
                         .value();
        for (std::int64_t i = 0; i < m_plan.batch * elementCount(m_plan.data.sampleShape); ++i) {
            const std::uint32_t word = static_cast<std::uint32_t>(i) * 2654435761u >> 8;
            m_numbers.push_back(static_cast<float>(word % 2048) / 1024 - 1);
            m_indices.push_back(static_cast<std::int32_t>(word % 200));
        }
    }

    /// Lower quartile of the rounds; all ranks make as many steps.
    double secondsOfStep() {
        steps(2);
        std::int64_t count = std::max<std::int64_t>(1, std::llround(kSecondsPerRound / steps(2)));
        TRAINYARD_CHECK(m_world->broadcast(&count, sizeof count, 0, kTag).ok());
        std::vector<double> rounds;
        for (int round = 0; round < kRounds; ++round)
            rounds.push_back(steps(count));
        std::ranges::sort(rounds);
        return rounds[rounds.size() / 4];
    }

private:
    static constexpr std::uint32_t kTag = 0x80000000u;

    double steps(std::int64_t count) {
        TRAINYARD_CHECK(m_world->barrier(kTag + 1).ok());
        const Clock::time_point start = Clock::now();
        for (std::int64_t i = 0; i < count; ++i) {
            const engine::StepInput input{.step = m_step++, .learningRate = 1e-4};
            const auto result = m_executor->trainStep(
                m_plan.batch, input,
                [this](const engine::BatchMemory& memory, const engine::BatchPart& part) {
                    load(memory, part);
                });
            TRAINYARD_CHECK_MSG(result.ok(), result.ok() ? "" : result.error().sentence());
        }
        return std::chrono::duration<double>(Clock::now() - start).count() /
               static_cast<double>(count);
    }

    void load(const engine::BatchMemory& memory, const engine::BatchPart& part) const {
        const auto elements =
            static_cast<std::size_t>(part.rows.count * elementCount(m_plan.data.sampleShape));
        if (memory.inputs && memory.inputType == DType::Int32)
            std::memcpy(memory.inputs, m_indices.data(), elements * sizeof(std::int32_t));
        else if (memory.inputs)
            std::memcpy(memory.inputs, m_numbers.data(), elements * sizeof(float));
        if (!memory.labels)
            return;
        const std::int64_t labels = part.rows.count * elementCount(m_plan.graph.targetShape());
        for (std::int64_t i = 0; i < labels; ++i)
            memory.labels[i] = static_cast<std::int32_t>(i * 7 % m_plan.data.classes);
    }

    const plan::Plan& m_plan;
    std::unique_ptr<engine::Backend> m_backend;
    std::unique_ptr<engine::Communicator> m_world;
    std::unique_ptr<engine::ProcessGroups> m_groups;
    std::unique_ptr<engine::Optimizer> m_optimizer;
    std::unique_ptr<engine::Executor> m_executor;
    std::vector<float> m_numbers;
    std::vector<std::int32_t> m_indices;
    std::int64_t m_step = 0;
};

fs::path temporaryFolder() {
    std::string folder = (fs::temp_directory_path() / "trainyard-bench-XXXXXX").string();
    if (!::mkdtemp(folder.data()))
        throw std::runtime_error("no temporary folder");
    return folder;
}

/// Each in a process of its own, so that this one never has threads.
template <class Work>
void inProcesses(int count, const Work& work) {
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            try {
                work(i);
            } catch (const std::exception& failure) {
                const std::string text = std::string(failure.what()) + '\n';
                ::_exit(::write(STDERR_FILENO, text.data(), text.size()) < 0 ? 2 : 1);
            }
            ::_exit(0);
        }
        children.push_back(child);
    }
    bool fine = true;
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        fine = fine && status == 0;
    }
    if (!fine)
        throw std::runtime_error("a process of the benchmark failed");
}

double measured(const Planned& planned) {
    const fs::path folder = temporaryFolder();
    const int segment = ::memfd_create("trainyard-bench", MFD_CLOEXEC);
    void* memory =
        ::mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    inProcesses(planned.plan.worldSize, [&](int rank) {
        PricedRank one(planned, rank, segment, folder.string());
        const double seconds = one.secondsOfStep();
        if (rank == 0)
            *static_cast<double*>(memory) = seconds;
    });
    const double seconds = *static_cast<double*>(memory);
    ::munmap(memory, sizeof(double));
    ::close(segment);
    fs::remove_all(folder);
    return seconds;
}

plan::Calibration calibrated() {
    const fs::path folder = temporaryFolder();
    const fs::path file = folder / "calibration.json";
    inProcesses(1, [&](int) {
        const auto calibration =
            engine::calibrate({.key = engine::calibrationKey("bench", cores())});
        TRAINYARD_CHECK_MSG(calibration.ok(),
                            calibration.ok() ? "" : calibration.error().sentence());
        std::ofstream(file) << plan::toJson(*calibration);
    });
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    fs::remove_all(folder);
    return plan::calibrationFromJson(text).value();
}

double predicted(const Planned& planned, const plan::Calibration& calibration) {
    return plan::priceOf(planned.experiment, planned.plan,
                         engine::machineFacts(spec::Precision::Fp32), calibration, planned.threads)
        .value()
        .stepSeconds;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

double spread(const std::vector<double>& values) {
    const auto [least, most] = std::ranges::minmax(values);
    return (most - least) / median(values);
}

/// Places in ascending order.
std::vector<double> placesOf(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> places(values.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        places[order[i]] = static_cast<double>(i);
    return places;
}

/// Spearman's; times are never alike, so no ties.
double rankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
    const std::vector<double> first = placesOf(a), second = placesOf(b);
    double squares = 0;
    for (std::size_t i = 0; i < first.size(); ++i)
        squares += (first[i] - second[i]) * (first[i] - second[i]);
    const auto n = static_cast<double>(a.size());
    return n > 1 ? 1 - 6 * squares / (n * (n * n - 1)) : 1;
}

/// OpenMP reads how threads wait when a program starts; ranks of runs have this.
void waitAsRanksDo() {
    if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY"))
        return;
    ::setenv("GOMP_SPINCOUNT", "2000", 1);
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(in, word, '\0');)
        words.push_back(word);
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv("/proc/self/exe", pointers.data());
}

Row rowOf(const std::string& name, double value, const std::string& unit) {
    Row row;
    row.name = name;
    row.value = value;
    row.unit = unit;
    return row;
}

} // namespace

std::vector<Row> benchPrice() {
    waitAsRanksDo();
    std::vector<PricedCase> cases = pricedCases();
    if (const char* only = std::getenv("TRAINYARD_BENCH_ONLY"))
        std::erase_if(cases, [only](const PricedCase& c) { return !c.name.starts_with(only); });
    const char* wanted = std::getenv("TRAINYARD_BENCH_PASSES");
    const int passes = wanted ? std::max(1, std::atoi(wanted)) : 3;
    std::vector<std::vector<double>> times(cases.size()), prices(cases.size());
    std::vector<double> correlations, errors;
    for (int pass = 0; pass < passes; ++pass) {
        const plan::Calibration calibration = calibrated();
        std::vector<double> ofPlans, ofSteps, off;
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const Planned plan = planned(cases[i]);
            ofPlans.push_back(predicted(plan, calibration));
            ofSteps.push_back(measured(plan));
            off.push_back(std::abs(ofPlans.back() / ofSteps.back() - 1));
            prices[i].push_back(ofPlans.back());
            times[i].push_back(ofSteps.back());
        }
        correlations.push_back(rankCorrelation(ofPlans, ofSteps));
        errors.push_back(median(off));
    }
    std::vector<Row> rows;
    std::vector<double> off;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        Row row = rowOf(cases[i].name, 1e3 * median(prices[i]), "ms");
        row.peer = "the measured " + std::to_string(1e3 * median(times[i])) + " ms";
        row.ratio = median(prices[i]) / median(times[i]);
        row.spread = spread(times[i]);
        off.push_back(std::abs(*row.ratio - 1));
        rows.push_back(std::move(row));
    }
    Row correlation =
        rowOf("rank correlation (Spearman), median of passes", median(correlations), "");
    correlation.spread = spread(correlations);
    Row error = rowOf("median error, median of passes", 100 * median(errors), "%");
    error.spread = spread(errors);
    rows.push_back(correlation);
    rows.push_back(error);
    rows.push_back(rowOf("median error of the medians", 100 * median(off), "%"));
    return rows;
}

} // namespace trainyard::bench
