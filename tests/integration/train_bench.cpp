// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/train_bench.h"

#include "engine/agent/processes.h"
#include "engine/agent/run_folder.h"

#include <QFileInfo>

#include <algorithm>

namespace trainyard::test {

namespace {

std::string nodeFolder(const QString& store) {
    // As the worker sees it: without links.
    return QFileInfo(store + u"/node").canonicalFilePath().toStdString();
}

spec::LayerSpec layer(const char* id, const char* type, spec::Values values = {}) {
    return {id, type, {}, std::move(values)};
}

} // namespace

TrainBench::TrainBench(const QString& subfolder)
    : m_path(m_folder.filePath(subfolder)), m_store(m_path + QStringLiteral("/store")) {
    QDir().mkpath(m_path);
}

TrainBench::~TrainBench() {
    for (const app::RunRecord& run : runs())
        if (!app::isFinal(run.status))
            (void)test::run({"runs", "delete", "--force", run.uid, "--store", m_store});
}

spec::Experiment TrainBench::experimentOn(const QString& data, int side) const {
    spec::Experiment experiment;
    const auto files = [&](const char* part) {
        const std::string prefix = path(data + QString::fromUtf8(part)).toStdString();
        return spec::FileSet{{"images", prefix + "-images"}, {"labels", prefix + "-labels"}};
    };
    experiment.data.train = files("train");
    experiment.data.validation = files("test");
    experiment.model.inputShape = {1, side, side};
    experiment.model.layers = {
        layer("conv", "conv2d", {{"out_channels", std::int64_t{16}}, {"padding", std::int64_t{1}}}),
        layer("relu", "relu"), layer("pool", "max_pool"), layer("flatten", "flatten"),
        layer("classes", "linear", {{"out_features", std::int64_t{3}}})};
    return experiment;
}

QString TrainBench::quickExperiment() {
    writeIdx(path(QStringLiteral("quick-train")), {210, 8, 3}, 1);
    writeIdx(path(QStringLiteral("quick-test")), {46, 8, 3}, 2);
    spec::Experiment experiment = experimentOn(QStringLiteral("quick-"), 8);
    experiment.name = "quick";
    experiment.training.batch = 24;
    experiment.training.epochs = 3;
    return write(QStringLiteral("quick.json"), experiment);
}

QString TrainBench::endlessExperiment(int epochs) {
    writeIdx(path(QStringLiteral("long-train")), {640, 28, 3}, 1);
    writeIdx(path(QStringLiteral("long-test")), {32, 28, 3}, 2);
    spec::Experiment experiment = experimentOn(QStringLiteral("long-"), 28);
    experiment.name = "endless";
    experiment.training.batch = 128;
    experiment.training.epochs = epochs;
    experiment.parallel.data = 2;
    return write(QStringLiteral("endless.json"), experiment);
}

QString TrainBench::largeExperiment() {
    writeIdx(path(QStringLiteral("large-train")), {64, 28, 3}, 1);
    writeIdx(path(QStringLiteral("large-test")), {16, 28, 3}, 2);
    spec::Experiment experiment = experimentOn(QStringLiteral("large-"), 28);
    experiment.name = "large";
    std::vector<spec::LayerSpec>& layers = experiment.model.layers;
    layers.insert(layers.end() - 1,
                  layer("wide", "linear", {{"out_features", std::int64_t{2048}}}));
    experiment.training.batch = 16;
    experiment.training.epochs = 100'000;
    return write(QStringLiteral("large.json"), experiment);
}

spec::Experiment TrainBench::read(const QString& path) const {
    return spec::parseExperiment(contentOf(path).toStdString()).experiment;
}

QString TrainBench::write(const QString& name, const spec::Experiment& experiment) const {
    QFile file(path(name));
    if (file.open(QIODevice::WriteOnly))
        file.write(QByteArray::fromStdString(spec::toJson(experiment)));
    return path(name);
}

std::unique_ptr<app::StoreReader> TrainBench::reader() const {
    if (!QFile::exists(m_store + QStringLiteral("/catalog.db")))
        return nullptr;
    Result<std::unique_ptr<app::StoreReader>> reader = app::StoreReader::open(m_store);
    return reader.ok() ? std::move(*reader) : nullptr;
}

std::vector<app::RunRecord> TrainBench::runs() const {
    const std::unique_ptr<app::StoreReader> store = reader();
    if (!store)
        return {};
    const Result<std::vector<app::RunRecord>> runs = store->runs();
    return runs.ok() ? *runs : std::vector<app::RunRecord>();
}

app::Points TrainBench::points(app::RunId run, const char* metric) const {
    return *reader()->points(run, QString::fromUtf8(metric));
}

std::vector<qint64> TrainBench::processes() const {
    std::vector<qint64> pids;
    const std::string node = nodeFolder(m_store);
    if (node.empty())
        return pids;
    for (const engine::MarkedProcess& process : engine::markedProcesses(node + "/"))
        pids.push_back(process.pid);
    return pids;
}

qint64 TrainBench::supervisorOf(const app::RunRecord& run) const {
    return engine::RunLock::holder(engine::RunFolder(nodeFolder(m_store), run.uid.toStdString()));
}

bool isUnbroken(const app::Points& points) {
    for (std::size_t i = 0; i < points.size(); ++i)
        if (points.steps[i] != static_cast<std::int64_t>(i) + 1)
            return false;
    return true;
}

} // namespace trainyard::test
