// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The same models as PyTorch trains them: from the same weights, on the same batches, in fp64, the
// losses of 50 steps differ by less than 1e-9. Skips where the Python of TRAINYARD_TORCH_PYTHON
// (else python3) has no PyTorch.
#include "engine/backend/backend.h"
#include "engine/base/check.h"
#include "engine/base/random.h"
#include "engine/comm/communicator.h"
#include "engine/optim/optimizer.h"
#include "engine/runtime/executor.h"
#include "engine/spec/experiment_json.h"

#include <nlohmann/json.hpp>

#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <fstream>
#include <memory>

namespace {

using namespace trainyard;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kSteps = 50;
constexpr std::int64_t kRows = 6;

const char* const kMlp = R"([{"id": "fc1", "type": "linear", "out_features": 19},
    {"id": "act1", "type": "tanh"}, {"id": "act2", "type": "silu"},
    {"id": "fc2", "type": "linear", "out_features": 5}])";

const char* const kCnn = R"([{"id": "conv", "type": "conv2d", "out_channels": 4, "padding": 1},
    {"id": "norm", "type": "batch_norm"}, {"id": "relu", "type": "relu"},
    {"id": "block1", "type": "residual_block", "out_channels": 4},
    {"id": "block2", "type": "residual_block", "out_channels": 6, "stride": 2},
    {"id": "pool", "type": "global_avg_pool"},
    {"id": "classes", "type": "linear", "out_features": 5}])";

const char* const kGpt = R"([{"id": "tokens", "type": "embedding", "vocabulary": 11, "features": 8},
    {"id": "positions", "type": "position_embedding"},
    {"id": "block1", "type": "transformer_block", "heads": 2},
    {"id": "block2", "type": "transformer_block", "heads": 2},
    {"id": "norm", "type": "layer_norm"},
    {"id": "head", "type": "linear", "out_features": 11, "bias": false, "tied_to": "tokens"}])";

struct Model {
    const char* name;
    const char* shape;
    const char* layers;
    const char* optimizer;
    std::int64_t classes;
    std::int64_t vocabulary;
};

/// One rank in fp64, and everything PyTorch needs to do the same.
class Training {
public:
    explicit Training(const Model& model) : m_model(model) {
        const std::string optimizer =
            std::string(model.optimizer) == "adamw"
                ? R"({"type": "adamw", "learning_rate": 0.01, "weight_decay": 0.01})"
                : R"({"type": "sgd", "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 0.01})";
        const spec::ParsedExperiment parsed = spec::parseExperiment(
            R"({"format": "trainyard.experiment/1", "data": {"format": "idx", "train":
                {"images": "none", "labels": "none"}}, "precision": "fp64", "model": {"input":
                {"shape": )" +
            std::string(model.shape) + R"(}, "layers": )" + model.layers +
            R"(}, "training": {"batch": )" + std::to_string(kRows) + R"(, "optimizer": )" +
            optimizer + "}}");
        TRAINYARD_CHECK_MSG(parsed.problems.empty(), parsed.problems.front().sentence());
        plan::PlanOutcome planned =
            plan::makePlan(parsed.experiment,
                           {.trainSamples = kRows * kSteps,
                            .sampleShape = parsed.experiment.model.inputShape,
                            .classes = model.classes,
                            .vocabulary = model.vocabulary},
                           {});
        TRAINYARD_CHECK_MSG(planned.problems.empty(), planned.problems.front().sentence());
        m_plan = std::move(planned.plan);
        m_backend = engine::makeReferenceBackend();
        m_communicator = engine::makeSingleCommunicator();
        m_groups = engine::ProcessGroups::make(m_plan, 0, *m_communicator).value();
        m_optimizer = engine::makeOptimizer(parsed.experiment.training.optimizer).value();
        m_executor = engine::Executor::make({.plan = m_plan,
                                             .backend = *m_backend,
                                             .groups = *m_groups,
                                             .optimizer = *m_optimizer})
                         .value();
        describe();
    }

    double step(std::int64_t number) {
        const engine::StepInput input{.step = number,
                                      .learningRate =
                                          std::string(m_model.optimizer) == "adamw" ? 0.01 : 0.05};
        const auto result = m_executor->trainStep(
            kRows, input, [&](const engine::BatchMemory& memory, const engine::BatchPart&) {
                load(number, memory);
            });
        return result.value().sums.meanLoss();
    }

    const Json& job() const { return m_job; }

private:
    void describe() {
        m_job = {{"model", m_model.name},
                 {"optimizer", m_model.optimizer},
                 {"steps", kSteps},
                 {"input_shape", m_plan.data.sampleShape},
                 {"inputs", Json::array()},
                 {"labels", Json::array()},
                 {"parameters", Json::array()}};
        const auto* values = reinterpret_cast<const double*>(m_executor->parameters().data());
        for (std::size_t i = 0; i < m_plan.graph.parameters.size(); ++i) {
            const graph::ParameterInfo& info = m_plan.graph.parameters[i];
            const double* first = values + m_plan.sectionOf(0).parameterOffset[i];
            m_job["parameters"].push_back(
                {{"name", info.name},
                 {"shape", info.shape},
                 {"trained", info.trained},
                 {"decays", info.decays},
                 {"values", std::vector<double>(first, first + elementCount(info.shape))}});
        }
    }

    void load(std::int64_t step, const engine::BatchMemory& memory) {
        const std::int64_t elements = kRows * elementCount(m_plan.data.sampleShape);
        for (std::int64_t i = 0; i < elements; ++i) {
            const Philox4 words =
                randomWords(3, RandomStream::Weights, 7, static_cast<std::uint64_t>(step),
                            static_cast<std::uint64_t>(i));
            if (memory.inputType == DType::Int32) {
                const auto index = static_cast<std::int32_t>(words[0] % 11);
                static_cast<std::int32_t*>(memory.inputs)[i] = index;
                m_job["inputs"].push_back(index);
            } else {
                const double value = 2 * unitDouble(words[0], words[1]) - 1;
                static_cast<double*>(memory.inputs)[i] = value;
                m_job["inputs"].push_back(value);
            }
        }
        const std::int64_t labels = kRows * elementCount(m_plan.graph.targetShape());
        for (std::int64_t i = 0; i < labels; ++i) {
            const Philox4 words =
                randomWords(3, RandomStream::Weights, 8, static_cast<std::uint64_t>(step),
                            static_cast<std::uint64_t>(i));
            memory.labels[i] =
                static_cast<std::int32_t>(words[0] % static_cast<std::uint32_t>(m_model.classes));
            m_job["labels"].push_back(memory.labels[i]);
        }
    }

    const Model& m_model;
    plan::Plan m_plan;
    std::unique_ptr<engine::Backend> m_backend;
    std::unique_ptr<engine::Communicator> m_communicator;
    std::unique_ptr<engine::ProcessGroups> m_groups;
    std::unique_ptr<engine::Optimizer> m_optimizer;
    std::unique_ptr<engine::Executor> m_executor;
    Json m_job;
};

} // namespace

class TestAgainstTorch : public QObject {
    Q_OBJECT
private slots:
    void lossesAgree_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"mlp", "cnn", "gpt"})
            QTest::newRow(name) << name;
    }
    void lossesAgree();
};

void TestAgainstTorch::lossesAgree() {
    QFETCH(QString, name);
    static const Model models[] = {{"mlp", "[11]", kMlp, "sgd", 5, 0},
                                   {"cnn", "[3, 8, 8]", kCnn, "sgd", 5, 0},
                                   {"gpt", "[6]", kGpt, "adamw", 11, 11}};
    const Model& model = *std::find_if(std::begin(models), std::end(models),
                                       [&](const Model& each) { return name == each.name; });
    Training training(model);
    std::vector<double> losses;
    for (std::int64_t step = 0; step < kSteps; ++step)
        losses.push_back(training.step(step));

    const QTemporaryDir folder;
    const QString file = folder.filePath("job.json");
    std::ofstream(file.toStdString()) << training.job();
    QProcess torch;
    torch.start(qEnvironmentVariable("TRAINYARD_TORCH_PYTHON", "python3"),
                {TRAINYARD_AGAINST_TORCH, file});
    if (!torch.waitForStarted())
        QSKIP("There is no Python.");
    QVERIFY(torch.waitForFinished(100000));
    const QByteArray output = torch.readAllStandardOutput();
    if (torch.exitCode() == 77)
        QSKIP("Python has no PyTorch.");
    QVERIFY2(torch.exitCode() == 0, torch.readAllStandardError().constData());
    const QByteArrayList lines = output.trimmed().split('\n');
    QCOMPARE(lines.size(), static_cast<qsizetype>(kSteps));
    for (std::size_t i = 0; i < losses.size(); ++i) {
        const double theirs = lines[static_cast<qsizetype>(i)].toDouble();
        QVERIFY2(std::abs(losses[i] / theirs - 1) < 1e-9,
                 qPrintable(QStringLiteral("step %1: %2 against %3")
                                .arg(i)
                                .arg(losses[i], 0, 'g', 17)
                                .arg(theirs, 0, 'g', 17)));
    }
    // It learns something, so the agreement is not that of a standstill.
    QVERIFY(losses.front() != losses.back());
}

QTEST_GUILESS_MAIN(TestAgainstTorch)
#include "tst_against_torch.moc"
