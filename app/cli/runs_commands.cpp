// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the commands on runs do; how runs read is in run_text.cpp.
#include "app/cli/runs_commands.h"

#include "app/cli/json_values.h"
#include "app/cli/run_text.h"
#include "app/store/run_export.h"

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QSaveFile>

namespace trainyard::app {

namespace {

/// Weights may be larger than memory.
constexpr qint64 kCopyBytes = 1 << 20;

Error cannotRead(const QFile& file) {
    return Error({"%1 cannot be read: %2.",
                  {file.fileName().toStdString(), file.errorString().toStdString()}});
}

Error cannotWrite(const QSaveFile& file) {
    return Error({"%1 cannot be written: %2.",
                  {file.fileName().toStdString(), file.errorString().toStdString()}});
}

} // namespace

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
        const Result<QJsonObject> confusion = confusionAsJson(store().reader(), run->id);
        if (!confusion.ok())
            return fail(confusion.error());
        QJsonObject json = runAsJson(*run, RunFigures(store().reader()));
        if (!confusion->isEmpty())
            json[QStringLiteral("confusion")] = *confusion;
        const Result<QJsonArray> splits = stepSplitsAsJson(store().reader(), run->id);
        if (!splits.ok())
            return fail(splits.error());
        if (!splits->isEmpty())
            json[QStringLiteral("step_split")] = *splits;
        console().printRaw(jsonText(json));
    } else {
        const Result<QString> text = runText(store().reader(), *run);
        if (!text.ok())
            return fail(text.error());
        console().printText(*text);
    }
    emit finished(kExitOk);
}

Result<QString> RunsCommand::weightsOf(const RunRecord& run) const {
    const QString path = m_workspace.launcher->weightsFile(run.uid);
    if (QFileInfo(path).isFile())
        return path;
    const std::string number = numberOf(run).toStdString();
    const std::string status = nameOf(run.status).toStdString();
    if (!isFinal(run.status))
        return Error({"Run %1 has no weights yet: it is %2.", {number, status}}, {},
                     {"They are written when it ends. To end it now: trainyard runs stop %1",
                      {std::to_string(static_cast<std::int64_t>(run.id))}});
    if (run.status != RunStatus::Finished && run.status != RunStatus::Stopped)
        return Error({"Run %1 has no weights: it %2.",
                      {number, run.status == RunStatus::Failed ? "failed" : status}},
                     {}, {"Weights are written by runs that finish or are stopped."});
    return Error({"Run %1 has no weights in %2.", {number, path.toStdString()}}, {},
                 {"Its log says whether they could not be written (trainyard runs show %1); train "
                  "it again to have them.",
                  {std::to_string(static_cast<std::int64_t>(run.id))}});
}

CommandInfo RunsExportCommand::info() {
    return {QStringLiteral("runs export"),
            {QStringLiteral("RUN")},
            {storeOption(),
             {QStringLiteral("--out"), QStringLiteral("FILE"),
              QStringLiteral("every point of the run, as .csv or .json")},
             {QStringLiteral("--weights"), QStringLiteral("FILE"),
              QStringLiteral("the final weights, as .safetensors")},
             {QStringLiteral("--confusion"), QStringLiteral("FILE"),
              QStringLiteral("labels against predictions of the newest validation, as .csv")}},
            QStringLiteral("Write every point of a run, or its weights, to a file."),
            QStringLiteral("CSV has a row for each step; JSON has everything known of the run. "
                           "The weights have the names\nof the layers and can be read by other "
                           "tools. The confusion matrix has a row for each label and a\ncolumn for "
                           "each prediction; JSON has that of the best validation, too.")};
}

void RunsExportCommand::work() {
    const QString path = arguments().value(QStringLiteral("--out"));
    const QString weights = arguments().value(QStringLiteral("--weights"));
    const auto endsWith = [](const QString& name, QLatin1StringView ending) {
        return name.endsWith(ending, Qt::CaseInsensitive);
    };
    if (!path.isEmpty() && !endsWith(path, QLatin1StringView(".csv")) &&
        !endsWith(path, QLatin1StringView(".json")))
        return fail(Error({"%1 is neither a .csv nor a .json file.", {path.toStdString()}}, {},
                          {"Add --out FILE.csv or --out FILE.json."}),
                    kExitInvalid);
    const QString confusion = arguments().value(QStringLiteral("--confusion"));
    if (path.isEmpty() && weights.isEmpty() && confusion.isEmpty())
        return fail(Error({"The file to write is missing."}, {},
                          {"Add --out FILE.csv, --out FILE.json, --weights FILE.safetensors or "
                           "--confusion FILE.csv."}),
                    kExitInvalid);
    const std::optional<RunRecord> run = namedRun();
    if (!run)
        return;
    Result<void> written;
    if (!path.isEmpty())
        written = exportPoints(*run, path);
    if (written.ok() && !weights.isEmpty())
        written = exportWeights(*run, weights);
    if (written.ok() && !confusion.isEmpty())
        written = exportConfusion(*run, confusion);
    if (!written.ok())
        return fail(written.error());
    emit finished(kExitOk);
}

Result<void> RunsExportCommand::exportPoints(const RunRecord& run, const QString& path) {
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        return cannotWrite(file);
    const Result<void> written = path.endsWith(QLatin1StringView(".csv"), Qt::CaseInsensitive)
                                     ? exportCsv(store().reader(), run.id, file)
                                     : exportJson(store().reader(), run.id, file);
    if (!written.ok())
        return written;
    if (!file.commit())
        return cannotWrite(file);
    console().print(u"Wrote run " + numberOf(run) + u" to " + path);
    return {};
}

Result<void> RunsExportCommand::exportConfusion(const RunRecord& run, const QString& path) {
    const Result<std::optional<ConfusionTable>> table =
        store().reader().confusion(run.id, Validation::Newest);
    if (!table.ok())
        return table.error();
    if (!table->has_value())
        return Error({"Run %1 has no confusion matrix.", {numberOf(run).toStdString()}}, {},
                     {"It is counted at each validation of a model that tells up to 100 classes "
                      "apart."});
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        return cannotWrite(file);
    if (const Result<void> written = exportConfusionCsv(**table, file); !written.ok())
        return written;
    if (!file.commit())
        return cannotWrite(file);
    console().print(u"Wrote the confusion matrix of run " + numberOf(run) + u" to " + path);
    return {};
}

Result<void> RunsExportCommand::exportWeights(const RunRecord& run, const QString& path) {
    const Result<QString> weights = weightsOf(run);
    if (!weights.ok())
        return weights.error();
    QFile from(*weights);
    QSaveFile to(path);
    if (!from.open(QIODevice::ReadOnly))
        return Error(
            {"%1 cannot be read: %2.", {weights->toStdString(), from.errorString().toStdString()}});
    if (!to.open(QIODevice::WriteOnly))
        return cannotWrite(to);
    while (!from.atEnd()) {
        const QByteArray bytes = from.read(kCopyBytes);
        if (bytes.isEmpty())
            return cannotRead(from);
        if (to.write(bytes) != bytes.size())
            return cannotWrite(to);
    }
    if (!to.commit())
        return cannotWrite(to);
    console().print(u"Wrote the weights of run " + numberOf(run) + u" to " + path);
    return {};
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

CommandInfo RunsTraceCommand::info() {
    return {
        QStringLiteral("runs trace"),
        {QStringLiteral("RUN")},
        {storeOption(),
         {QStringLiteral("--out"), QStringLiteral("FILE"), QStringLiteral("the trace, as .json")}},
        QStringLiteral("Write what each rank did, instruction by instruction, as a Chrome trace."),
        QStringLiteral("It has all of five steps (10 to 14, counted from 0) and the last 256 "
                       "instructions of each rank, of a\nrun that failed those before its end. "
                       "Open it in chrome://tracing or Perfetto.")};
}

void RunsTraceCommand::work() {
    const QString path = arguments().value(QStringLiteral("--out"));
    if (path.isEmpty())
        return fail(Error({"The file to write is missing."}, {}, {"Add --out FILE.json."}),
                    kExitInvalid);
    const std::optional<RunRecord> run = namedRun();
    if (!run)
        return;
    launcher().trace(
        run->uid, path, this, [this, run = *run, path](const Result<QJsonObject>& reply) {
            if (!reply.ok())
                return fail(reply.error());
            const qint64 count = (*reply)[QLatin1StringView("instructions")].toInteger();
            console().print(u"Wrote " + QString::number(count) + u" instructions of run " +
                            numberOf(run) + u" to " + path);
            emit finished(kExitOk);
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

#include "moc_runs_commands.cpp"
