// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/experiment_file.h"

#include "app/samples/samples.h"

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>

namespace trainyard::app {

namespace {

constexpr qint64 kMostBytes = 64 << 20;

using Settings = std::vector<std::pair<std::string, std::string>>;

Message cureForMissing(const QString& path) {
    for (const Sample& sample : samples())
        if (sample.name == path)
            return {"That is the name of a sample: trainyard samples write %1 %1.json",
                    {path.toStdString()}};
    return {"Check the path, or begin with a sample: trainyard samples list"};
}

Result<QByteArray> readExperiment(const QString& path) {
    QFile file(path);
    if (!file.exists())
        return Error({"There is no file %1.", {path.toStdString()}}, {}, cureForMissing(path));
    if (QFileInfo(path).isDir())
        return Error({"%1 is a folder, not an experiment file.", {path.toStdString()}});
    if (!file.open(QIODevice::ReadOnly))
        return Error(
            {"%1 cannot be read: %2.", {path.toStdString(), file.errorString().toStdString()}});
    QByteArray content = file.read(kMostBytes + 1);
    if (content.size() > kMostBytes)
        return Error(
            {"%1 is larger than 64 MiB; that is no experiment file.", {path.toStdString()}});
    return content;
}

Settings settingsOf(const Arguments& arguments, Problems& problems) {
    Settings settings;
    for (const QString& setting : arguments.values(QStringLiteral("--set"))) {
        const qsizetype equals = setting.indexOf(u'=');
        if (equals <= 0)
            problems.push_back(
                Error({"--set %1 is not of the form path=value.", {setting.toStdString()}}, {},
                      {"For example: --set training.epochs=10"}));
        else
            settings.emplace_back(setting.left(equals).toStdString(),
                                  setting.mid(equals + 1).toStdString());
    }
    if (arguments.has(QStringLiteral("--name"))) {
        // As JSON, so that a name like 12 or true stays a text.
        const QJsonArray name{arguments.value(QStringLiteral("--name"))};
        const QByteArray json = QJsonDocument(name).toJson(QJsonDocument::Compact);
        settings.emplace_back("name", json.mid(1, json.size() - 2).toStdString());
    }
    return settings;
}

} // namespace

OptionInfo setOption() {
    return {QStringLiteral("--set"), QStringLiteral("PATH=VALUE"),
            QStringLiteral("change one value of the experiment, e.g. parallel.data=2"), true};
}

spec::ParsedExperiment loadExperiment(const Arguments& arguments) {
    spec::ParsedExperiment parsed;
    const QString path = arguments.operands().first();
    const Settings settings = settingsOf(arguments, parsed.problems);
    const Result<QByteArray> content = readExperiment(path);
    if (!content.ok())
        parsed.problems.push_back(content.error());
    if (!parsed.problems.empty())
        return parsed;
    parsed = spec::parseExperiment(content->toStdString(), settings);
    spec::resolvePaths(parsed.experiment, QFileInfo(path).absolutePath().toStdString());
    return parsed;
}

} // namespace trainyard::app
