// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_support.h"

#include <QCoreApplication>
#include <QDir>
#include <QMetaEnum>
#include <QTest>

namespace trainyard::test {

namespace {

std::unique_ptr<app::RunStore> openStore(const QString& folder) {
    app::RunStore::Options options;
    options.commitInterval = std::chrono::milliseconds(10);
    Result<std::unique_ptr<app::RunStore>> store = app::RunStore::open(folder, options);
    TRAINYARD_CHECK_MSG(store.ok(), store.error().sentence());
    return std::move(*store);
}

QString stateName(app::RunController::State state) {
    const auto names = QMetaEnum::fromType<app::RunController::State>();
    return QString::fromLatin1(names.valueToKey(static_cast<int>(state))).toLower();
}

} // namespace

QString builtProgram(const QString& relativePath) {
    return QDir::cleanPath(QCoreApplication::applicationDirPath() + u"/../" + relativePath);
}

Script::Script(const QByteArray& words) {
    qputenv("STAND_IN_WORKER", words);
    qputenv("STAND_IN_WORKER_MEMORY", m_memory.path().toUtf8());
}

Script::~Script() {
    qunsetenv("STAND_IN_WORKER");
    qunsetenv("STAND_IN_WORKER_MEMORY");
}

spec::Experiment tinyExperiment(const std::string& name) {
    spec::Experiment experiment;
    experiment.name = name;
    experiment.data.train = {{"images", "/nowhere/images"}, {"labels", "/nowhere/labels"}};
    experiment.data.validation = experiment.data.train;
    experiment.model.inputShape = {1, 2, 2};
    experiment.model.layers = {{"flatten", "flatten", {}, {}},
                               {"classes", "linear", {}, {{"out_features", std::int64_t{3}}}}};
    experiment.training.batch = 8;
    experiment.training.epochs = 2;
    experiment.parallel.data = 2;
    return experiment;
}

app::RunController::Options quickOptions() {
    using std::chrono::milliseconds;
    app::RunController::Options options;
    options.timing = {milliseconds(700), milliseconds(20), milliseconds(50)};
    options.startingGrace = milliseconds(1500);
    return options;
}

RunBench::RunBench()
    : m_store(openStore(m_folder.path())),
      m_launcher(builtProgram(QStringLiteral("tests/stand_in_worker")), m_folder.path()),
      m_follower(*m_store, m_launcher, quickOptions()) {}

std::vector<app::RunRecord> RunBench::runs() {
    return *m_store->reader().runs();
}

app::Points RunBench::points(app::RunId run, const char* metric) {
    return *m_store->reader().points(run, QString::fromUtf8(metric));
}

ControllerRecord::ControllerRecord(app::RunController& controller) {
    using Controller = app::RunController;
    connect(&controller, &Controller::stateChanged, this,
            [this](Controller::State state) { words += stateName(state); });
    connect(&controller, &Controller::started, this,
            [this] { words += QStringLiteral("started!"); });
    connect(&controller, &Controller::problemsFound, this, [this](const Problems& found) {
        words += QStringLiteral("problems!");
        problems = found;
    });
    connect(&controller, &Controller::startFailed, this, [this](const Error& why) {
        words += QStringLiteral("failed to start!");
        errors.push_back(why);
    });
    connect(&controller, &Controller::stopFailed, this, [this](const Error& why) {
        words += QStringLiteral("not stopped!");
        errors.push_back(why);
    });
    connect(&controller, &Controller::disconnected, this,
            [this](const Error& why) { errors.push_back(why); });
    connect(&controller, &Controller::caughtUp, this,
            [this] { words += QStringLiteral("caught up!"); });
    connect(&controller, &Controller::eventsArrived, this,
            [this](const std::vector<app::TimedEvent>& events) {
                for (const app::TimedEvent& each : events)
                    if (const auto* metrics = std::get_if<spec::Metrics>(&each.event))
                        if (metrics->values.front().first == spec::metric::kTrainLoss)
                            steps.push_back(metrics->step);
            });
    connect(&controller, &Controller::ended, this, [this](const app::RunOutcome& end) {
        words += QStringLiteral("ended!");
        outcome = end;
    });
}

} // namespace trainyard::test

#include "moc_run_support.cpp"
