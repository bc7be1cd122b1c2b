// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the commands on runs do; how runs read is in run_text.cpp.
#include "app/cli/runs_commands.h"

#include "app/cli/json_values.h"
#include "app/cli/run_text.h"
#include "app/store/run_export.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QSaveFile>

namespace trainyard::app {

void RunsCommand::start() {
    Result<Workspace> workspace = openWorkspace(
        storeFolderOf(m_arguments),
        m_arguments.has(QStringLiteral("--store")) ? IfMissing::Refuse : IfMissing::Make);
    if (!workspace.ok())
        return fail(workspace.error());
    m_workspace = std::move(*workspace);
    catchUp([this] { work(); });
}

void RunsCommand::catchUp(std::function<void()> then) {
    connect(
        m_workspace.follower.get(), &RunFollower::caughtUp, this,
        [this, then = std::move(then)](const Problems& problems) {
            for (const Error& problem : problems)
                console().printError(u"note: " + QString::fromStdString(problem.sentence()));
            if (const std::optional<Error> problem = store().problem())
                console().printError(u"note: " + QString::fromStdString(problem->sentence()));
            then();
        },
        Qt::SingleShotConnection);
    m_workspace.follower->catchUp();
}

std::optional<RunRecord> RunsCommand::namedRun() {
    const Result<RunRecord> run = findRun(store().reader(), m_arguments.operands().first());
    if (run.ok())
        return *run;
    fail(run.error());
    return std::nullopt;
}

CommandInfo RunsListCommand::info() {
    return {
        QStringLiteral("runs list"),
        {},
        {storeOption(), {QStringLiteral("--json"), {}, QStringLiteral("the list for programs")}},
        QStringLiteral("List all runs, the newest first."),
        {}};
}

void RunsListCommand::work() {
    const Result<std::vector<RunRecord>> runs = store().reader().runs();
    if (!runs.ok())
        return fail(runs.error());
    const RunFigures figures(store().reader());
    if (arguments().has(QStringLiteral("--json"))) {
        QJsonArray list;
        for (const RunRecord& run : *runs)
            list.append(runAsJson(run, figures));
        console().printRaw(QJsonDocument(list).toJson());
    } else if (runs->empty()) {
        console().print(QStringLiteral("No runs yet."));
    } else {
        console().printText(runTable(*runs, figures));
    }
    emit finished(kExitOk);
}

CommandInfo RunsShowCommand::info() {
    return {QStringLiteral("runs show"),
            {QStringLiteral("RUN")},
            {storeOption(),
             {QStringLiteral("--json"), {}, QStringLiteral("the same for programs")},
             {QStringLiteral("--experiment"),
              {},
              QStringLiteral("print the experiment that was trained, as a file")}},
            QStringLiteral("Show one run: its figures, how it ended, the end of its log."),
            QStringLiteral("RUN is a number (12 or #12), an id, or a name that only one run has.")};
}

void RunsShowCommand::work() {
    const std::optional<RunRecord> run = namedRun();
    if (!run)
        return;
    if (arguments().has(QStringLiteral("--experiment"))) {
        const Result<QByteArray> experiment = store().reader().configuration(run->id);
        if (!experiment.ok())
            return fail(experiment.error());
        console().printRaw(*experiment);
    } else if (arguments().has(QStringLiteral("--json"))) {
        console().printRaw(jsonText(runAsJson(*run, RunFigures(store().reader()))));
    } else {
        const Result<QString> text = runText(store().reader(), *run);
        if (!text.ok())
            return fail(text.error());
        console().printText(*text);
    }
    emit finished(kExitOk);
}

CommandInfo RunsExportCommand::info() {
    return {QStringLiteral("runs export"),
            {QStringLiteral("RUN")},
            {storeOption(),
             {QStringLiteral("--out"), QStringLiteral("FILE"),
              QStringLiteral("the file to write, .csv or .json")}},
            QStringLiteral("Write every point of a run to a file."),
            QStringLiteral("CSV has a row for each step; JSON has everything known of the run.")};
}

void RunsExportCommand::work() {
    const QString path = arguments().value(QStringLiteral("--out"));
    const bool csv = path.endsWith(QLatin1StringView(".csv"), Qt::CaseInsensitive);
    if (!csv && !path.endsWith(QLatin1StringView(".json"), Qt::CaseInsensitive))
        return fail(Error({path.isEmpty() ? "The file to write is missing."
                                          : "%1 is neither a .csv nor a .json file.",
                           {path.toStdString()}},
                          {}, {"Add --out FILE.csv or --out FILE.json."}),
                    kExitInvalid);
    const std::optional<RunRecord> run = namedRun();
    if (!run)
        return;
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        return fail(Error(
            {"%1 cannot be written: %2.", {path.toStdString(), file.errorString().toStdString()}}));
    const Result<void> written = csv ? exportCsv(store().reader(), run->id, file)
                                     : exportJson(store().reader(), run->id, file);
    if (!written.ok())
        return fail(written.error());
    if (!file.commit())
        return fail(Error(
            {"%1 cannot be written: %2.", {path.toStdString(), file.errorString().toStdString()}}));
    console().print(u"Wrote run " + numberOf(*run) + u" to " + path);
    emit finished(kExitOk);
}

CommandInfo RunsStopCommand::info() {
    return {QStringLiteral("runs stop"),
            {QStringLiteral("RUN")},
            {storeOption()},
            QStringLiteral("Ask a run to end after its current step."),
            {}};
}

void RunsStopCommand::work() {
    const std::optional<RunRecord> run = namedRun();
    if (!run)
        return;
    if (isFinal(run->status))
        return fail(Error({"Run %1 is not running: it is %2.",
                           {numberOf(*run).toStdString(), nameOf(run->status).toStdString()}}));
    launcher().stop(run->uid, this, [this, id = run->id](const Result<QJsonObject>& reply) {
        if (!reply.ok())
            return fail(reply.error());
        catchUp([this, id] {
            const Result<std::optional<RunRecord>> now = store().reader().run(id);
            if (now.ok() && *now)
                console().print(u"Run " + numberOf(**now) + u" is " + nameOf((*now)->status) +
                                u" after step " + QString::number((*now)->lastStep));
            emit finished(kExitOk);
        });
    });
}

CommandInfo RunsDeleteCommand::info() {
    return {QStringLiteral("runs delete"),
            {QStringLiteral("RUN")},
            {storeOption(),
             {QStringLiteral("--force"), {}, QStringLiteral("stop the run first if it runs")}},
            QStringLiteral("Delete a run with all its points."),
            {}};
}

void RunsDeleteCommand::work() {
    const std::optional<RunRecord> run = namedRun();
    if (!run)
        return;
    if (isFinal(run->status))
        return remove(*run);
    if (!arguments().has(QStringLiteral("--force")))
        return fail(Error(
            {"Run %1 is %2.", {numberOf(*run).toStdString(), nameOf(run->status).toStdString()}},
            {},
            {"Stop it first (trainyard runs stop %1), or add --force.",
             {std::to_string(static_cast<std::int64_t>(run->id))}}));
    // A run that the machine does not know needs no stop; one that cannot be stopped cannot be
    // removed.
    launcher().stop(run->uid, this,
                    [this, run = *run](const Result<QJsonObject>&) { remove(run); });
}

void RunsDeleteCommand::remove(const RunRecord& run) {
    // The journal goes first: a studio that is open must not read it into the store again.
    launcher().remove(run.uid, this, [this, run](const Result<QJsonObject>& reply) {
        if (!reply.ok())
            return fail(reply.error());
        const Result<void> deleted = store().deleteRun(run.id);
        if (!deleted.ok())
            return fail(deleted.error());
        console().print(u"Deleted run " + numberOf(run) + u' ' + run.name);
        emit finished(kExitOk);
    });
}

} // namespace trainyard::app
