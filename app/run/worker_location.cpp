// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/run/worker_location.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

namespace trainyard::app {

QStringList workerFolders(const QString& programFolder) {
    const QDir folder(programFolder);
    QStringList folders{folder.absolutePath()};
    for (const QLatin1StringView above :
         {QLatin1StringView("../libexec/trainyard"), QLatin1StringView("../lib/trainyard"),
          QLatin1StringView("../libexec"), QLatin1StringView("../bin")})
        folders += QDir::cleanPath(folder.absoluteFilePath(above));
    return folders;
}

Result<QString> findWorker() {
    const QString named = qEnvironmentVariable("TRAINYARD_WORKER");
    if (named.isEmpty())
        return findWorker(workerFolders(QCoreApplication::applicationDirPath()));
    if (QFileInfo(named).isExecutable())
        return QFileInfo(named).absoluteFilePath();
    return Error({"$TRAINYARD_WORKER names %1, which is not a program.", {named.toStdString()}}, {},
                 {"Unset the variable, or let it name trainyard-worker."});
}

Result<QString> findWorker(const QStringList& folders) {
    for (const QString& folder : folders) {
        const QFileInfo candidate(QDir(folder).filePath(QStringLiteral("trainyard-worker")));
        if (candidate.isFile() && candidate.isExecutable())
            return candidate.absoluteFilePath();
    }
    return Error({"trainyard-worker, the program that trains, is missing. It was looked for in %1.",
                  {folders.join(QStringLiteral(", ")).toStdString()}},
                 {}, {"Install Trainyard again, or build the target trainyard-worker."});
}

} // namespace trainyard::app
