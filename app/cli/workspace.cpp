// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/workspace.h"

#include "app/base/folders.h"
#include "app/run/worker_location.h"

#include <QDir>

namespace trainyard::app {

OptionInfo storeOption() {
    return {QStringLiteral("--store"), QStringLiteral("DIR"),
            QStringLiteral("the run store; else $TRAINYARD_STORE, else your own")};
}

QString storeFolderOf(const Arguments& arguments) {
    QString folder = arguments.value(QStringLiteral("--store"));
    if (folder.isEmpty())
        folder = qEnvironmentVariable("TRAINYARD_STORE");
    if (folder.isEmpty())
        folder = defaultStoreFolder();
    return QDir::cleanPath(QDir::current().absoluteFilePath(folder));
}

Result<Workspace> openWorkspace(const QString& storeFolder, IfMissing ifMissing) {
    if (ifMissing == IfMissing::Refuse && !QDir(storeFolder).exists())
        return Error({"There is no run store in %1.", {storeFolder.toStdString()}}, {},
                     {"Train something, or name another one with --store."});
    const Result<QString> worker = findWorker();
    if (!worker.ok())
        return worker.error();
    Result<std::unique_ptr<RunStore>> store = RunStore::open(storeFolder);
    if (!store.ok())
        return store.error();
    Workspace workspace;
    workspace.store = std::move(*store);
    workspace.launcher = std::make_unique<LocalLauncher>(*worker, storeFolder);
    workspace.follower = std::make_unique<RunFollower>(*workspace.store, *workspace.launcher,
                                                       RunController::Options());
    return workspace;
}

QString numberOf(const RunRecord& run) {
    return u'#' + QString::number(static_cast<std::int64_t>(run.id));
}

Result<RunRecord> findRun(StoreReader& reader, const QString& word) {
    bool isNumber = false;
    const qlonglong number = (word.startsWith(u'#') ? word.mid(1) : word).toLongLong(&isNumber);
    const Result<std::vector<RunRecord>> runs = reader.runs();
    if (!runs.ok())
        return runs.error();
    std::vector<const RunRecord*> named;
    QStringList names;
    for (const RunRecord& run : *runs) {
        if ((isNumber && static_cast<qlonglong>(run.id) == number) || run.uid == word)
            return run;
        if (run.name == word)
            named.push_back(&run);
        names += run.name;
    }
    if (named.size() == 1)
        return *named.front();
    if (named.empty()) {
        Message cure = suggestion(word, names);
        if (cure.empty())
            cure = {"\"trainyard runs list\" shows what there is."};
        return Error({"There is no run \"%1\".", {word.toStdString()}}, {}, std::move(cure));
    }
    QStringList numbers;
    for (const RunRecord* run : named)
        numbers += numberOf(*run);
    return Error({"%1 runs are called \"%2\": %3.",
                  {std::to_string(named.size()), word.toStdString(),
                   numbers.join(QStringLiteral(", ")).toStdString()}},
                 {}, {"Name one by its number."});
}

} // namespace trainyard::app
