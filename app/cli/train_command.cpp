// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/train_command.h"

#include "app/base/format.h"
#include "app/cli/experiment_file.h"
#include "app/cli/json_values.h"
#include "app/cli/progress_text.h"
#include "engine/base/number_text.h"

#include <algorithm>
#include <csignal>

namespace trainyard::app {

namespace {

constexpr std::chrono::milliseconds kRedraw{100};

std::optional<double> valueNamed(const std::vector<spec::NamedValue>& values, const char* name) {
    for (const auto& [key, value] : values)
        if (key == name)
            return value;
    return std::nullopt;
}

std::optional<double> either(std::optional<double> first, std::optional<double> second) {
    return first ? first : second;
}

/// What to show of a line of the run's log: problems, and nothing of the rest.
bool isWorthSaying(const spec::Log& line) {
    return line.level >= spec::LogLevel::Warning && line.rank < 0;
}

} // namespace

CommandInfo TrainCommand::info() {
    return {
        QStringLiteral("train"),
        {QStringLiteral("FILE")},
        {setOption(),
         storeOption(),
         {QStringLiteral("--name"), QStringLiteral("NAME"), QStringLiteral("what to call the run")},
         {QStringLiteral("--detach"), {}, QStringLiteral("return as soon as the run has started")},
         {QStringLiteral("--json"),
          {},
          QStringLiteral("print one object with the results at the end")}},
        QStringLiteral("Train an experiment and show how it goes."),
        QStringLiteral(
            "The run goes on when this command is killed or its terminal closes; the studio\n"
            "and \"trainyard runs\" find it. Ctrl-C asks it to stop; a second Ctrl-C leaves it\n"
            "running.\n\n"
            "Exit codes: 0 finished, 1 failed, diverged or stopped elsewhere, 2 the experiment\n"
            "cannot run, 130 after Ctrl-C.")};
}

TrainCommand::TrainCommand(Arguments arguments, Console& console)
    : Command(console), m_arguments(std::move(arguments)),
      m_json(m_arguments.has(QStringLiteral("--json"))) {
    console.setOutputIsForPrograms(m_json);
    m_redraw.setSingleShot(true);
    connect(&m_redraw, &QTimer::timeout, this, &TrainCommand::draw);
}

void TrainCommand::start() {
    const spec::ParsedExperiment parsed = loadExperiment(m_arguments);
    if (!parsed.problems.empty())
        return failInvalid(parsed.problems);
    Result<Workspace> workspace = openWorkspace(storeFolderOf(m_arguments), IfMissing::Make);
    if (!workspace.ok())
        return fail(workspace.error());
    m_workspace = std::move(*workspace);
    if (m_workspace.store->warning())
        console().printError(u"note: " +
                             QString::fromStdString(m_workspace.store->warning()->sentence()));
    m_run = m_workspace.follower->newRun();
    connectToRun();
    m_run->start(parsed.experiment);
}

void TrainCommand::connectToRun() {
    connect(m_run, &RunController::problemsFound, this,
            [this](const Problems& problems) { failInvalid(problems); });
    connect(m_run, &RunController::startFailed, this, [this](const Error& why) { fail(why); });
    connect(m_run, &RunController::started, this, &TrainCommand::onStarted);
    connect(m_run, &RunController::stateChanged, this, &TrainCommand::onState);
    connect(m_run, &RunController::eventsArrived, this, &TrainCommand::onEvents);
    connect(m_run, &RunController::ended, this, &TrainCommand::onEnded);
    connect(m_run, &RunController::disconnected, this, [this](const Error& why) {
        if (!std::exchange(m_disconnected, true))
            console().printError(u"No word from the worker; trying again. " +
                                 QString::fromStdString(why.sentence()));
    });
    connect(m_run, &RunController::connected, this, [this] { m_disconnected = false; });
    connect(m_run, &RunController::stopFailed, this, [this](const Error& why) {
        console().printError(u"The run could not be stopped. " +
                             QString::fromStdString(why.sentence()));
        m_interrupted = false;
    });
    connect(m_workspace.store.get(), &RunStore::problemChanged, this, [this] {
        if (const std::optional<Error> problem = m_workspace.store->problem())
            console().printError(QString::fromStdString(problem->sentence()));
    });
}

QString TrainCommand::label() const {
    return numberOf(*m_run->run()) + u' ' + m_run->run()->name;
}

void TrainCommand::onStarted() {
    const RunRecord& run = *m_run->run();
    if (m_arguments.has(QStringLiteral("--detach"))) {
        if (m_json)
            console().printRaw(jsonText({{QStringLiteral("run"), static_cast<qint64>(run.id)},
                                         {QStringLiteral("id"), run.uid},
                                         {QStringLiteral("name"), run.name},
                                         {QStringLiteral("state"), nameOf(RunStatus::Starting)}}));
        else
            console().print(u"Run " + numberOf(run) + u" (" + run.uid +
                            u") has started and goes on by itself.");
        return emit finished(kExitOk);
    }
    const int ranks = run.worldSize;
    console().print(u"Run " + label() + u" (" + run.uid + u") started on " +
                    QString::number(ranks) + (ranks == 1 ? u" rank" : u" ranks"));
    if (m_run->namesakes() > 0)
        console().print(u"note: " + QString::number(m_run->namesakes()) +
                        (m_run->namesakes() == 1 ? u" earlier run has" : u" earlier runs have") +
                        u" this name, too");
}

void TrainCommand::onState(RunController::State state) {
    if (state == RunController::State::Stopping && !m_interrupted)
        console().print(u"Run " + label() + u" is stopping");
}

void TrainCommand::onEvents(const std::vector<TimedEvent>& events) {
    const RunProgress& now = m_run->progress();
    bool epochEnded = false;
    for (const TimedEvent& each : events) {
        if (const auto* metrics = std::get_if<spec::Metrics>(&each.event))
            epochEnded |=
                now.validationSamples > 0
                    ? valueNamed(metrics->values, spec::metric::kValidationLoss).has_value()
                    : now.stepsPerEpoch > 0 && metrics->step % now.stepsPerEpoch == 0;
        else if (const auto* line = std::get_if<spec::Log>(&each.event);
                 line && isWorthSaying(*line))
            console().printError(u"warning: " + QString::fromStdString(line->text.text()));
    }
    if (epochEnded)
        console().print(epochLine(now));
    if (!m_redraw.isActive() && console().isTerminal())
        m_redraw.start(kRedraw);
}

void TrainCommand::draw() {
    if (m_run && m_run->run() && !m_run->isOver())
        console().drawStatus(progressLine(m_run->progress(), console().width() - 1));
}

void TrainCommand::interrupt(int signal) {
    if (!m_run || !m_run->run() || m_run->isOver())
        return emit finished(128 + signal);
    if (signal != SIGINT || m_interrupted)
        return leaveRunning(128 + signal);
    m_interrupted = true;
    console().print(QStringLiteral(
        "Stopping after the current step. Press Ctrl-C again to leave the run alone."));
    m_run->stop();
}

void TrainCommand::leaveRunning(int exitCode) {
    console().print(u"Run " + label() + u" is left to itself: trainyard runs show " +
                    QString::number(static_cast<qint64>(m_run->run()->id)));
    emit finished(exitCode);
}

void TrainCommand::onEnded(const RunOutcome& outcome) {
    m_redraw.stop();
    console().wipeStatus();
    if (m_json)
        console().printRaw(resultAsJson(outcome));
    printResult(outcome);
    if (outcome.status == RunStatus::Finished)
        return emit finished(kExitOk);
    emit finished(m_interrupted && outcome.status == RunStatus::Stopped ? 128 + SIGINT
                                                                        : kExitFailed);
}

void TrainCommand::printResult(const RunOutcome& outcome) {
    const RunProgress& now = m_run->progress();
    if (outcome.failure)
        console().printError(QString::fromStdString(outcome.failure->sentence()));
    else if (outcome.status != RunStatus::Finished && !outcome.reason.empty())
        console().printError(QString::fromStdString(outcome.reason.text()));
    const double seconds = outcome.summary ? outcome.summary->seconds : now.seconds;
    QString text = u"Run " + label() + u' ' + nameOf(outcome.status) + u" after " +
                   QString::fromStdString(grouped(now.step)) +
                   (now.step == 1 ? u" step in " : u" steps in ") +
                   formatDuration(seconds, QLocale::c());
    if (const auto quality = qualityOf(now.validated)) {
        const QString metric = QString::fromStdString(quality->first);
        text += u", validation " + metricText(metric) + u' ' +
                metricValueText(metric, quality->second, QLocale::c());
    }
    console().print({{text, outcome.status == RunStatus::Finished ? Colour::Good : Colour::Bad}});
    if (!m_json)
        console().print(u"Its curves: trainyard runs show " +
                        QString::number(static_cast<qint64>(m_run->run()->id)) +
                        u", or History in the studio");
}

QByteArray TrainCommand::resultAsJson(const RunOutcome& outcome) const {
    const RunRecord& run = *m_run->run();
    const RunProgress& now = m_run->progress();
    const spec::Summary summary = outcome.summary.value_or(spec::Summary());
    const auto figure = [&](const char* name, std::optional<double> last) {
        return jsonNumber(either(valueNamed(summary.values, name), last));
    };
    QJsonObject object{
        {QStringLiteral("run"), static_cast<qint64>(run.id)},
        {QStringLiteral("id"), run.uid},
        {QStringLiteral("name"), run.name},
        {QStringLiteral("state"), nameOf(outcome.status)},
        {QStringLiteral("steps"), static_cast<qint64>(outcome.summary ? summary.steps : now.step)},
        {QStringLiteral("epochs"), jsonNumber(outcome.summary ? summary.epochs : now.epoch)},
        {QStringLiteral("ranks"), run.worldSize},
        {QStringLiteral("train_loss"), figure(spec::metric::kTrainLoss, now.trainLoss)},
        {QStringLiteral("val_loss"), figure(spec::metric::kValidationLoss, now.validationLoss)},
        {QStringLiteral("val_accuracy"),
         figure(spec::metric::kValidationAccuracy, now.validationAccuracy)},
        {QStringLiteral("samples_per_second"),
         figure(spec::metric::kSamplesPerSecond, now.samplesPerSecond)},
        {QStringLiteral("seconds"), jsonNumber(outcome.summary ? summary.seconds : now.seconds)}};
    // Perplexity, errors and whatever else this model's validation has.
    for (const auto& [name, value] : now.validated)
        if (const QString key = QString::fromStdString(name); !object.contains(key))
            object[key] = figure(name.c_str(), value);
    if (outcome.failure)
        object[QStringLiteral("failure")] = QString::fromStdString(outcome.failure->sentence());
    return jsonText(object);
}

} // namespace trainyard::app

#include "moc_train_command.cpp"
