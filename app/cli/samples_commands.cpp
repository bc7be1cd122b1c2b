// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/samples_commands.h"

#include "app/cli/table.h"
#include "app/samples/samples.h"

#include <QFile>
#include <QSaveFile>

#include <algorithm>

namespace trainyard::app {

CommandInfo SamplesListCommand::info() {
    return {QStringLiteral("samples list"),
            {},
            {},
            QStringLiteral("List the experiments that come with Trainyard."),
            {}};
}

void SamplesListCommand::start() {
    Table table({{QStringLiteral("name")}, {QStringLiteral("what it does")}});
    for (const Sample& sample : samples())
        table.addRow({sample.name, sample.description});
    console().printText(table.text());
    emit finished(kExitOk);
}

CommandInfo SamplesWriteCommand::info() {
    return {QStringLiteral("samples write"),
            {QStringLiteral("NAME"), QStringLiteral("FILE")},
            {{QStringLiteral("--force"), {}, QStringLiteral("replace the file if it is there")}},
            QStringLiteral("Write one of them to a file, to train it or to change it."),
            QStringLiteral("FILE - writes to the standard output.")};
}

void SamplesWriteCommand::start() {
    const QString name = m_arguments.operands()[0];
    const QString path = m_arguments.operands()[1];
    const std::vector<Sample> all = samples();
    const auto sample =
        std::find_if(all.begin(), all.end(), [&](const Sample& each) { return each.name == name; });
    if (sample == all.end()) {
        QStringList names;
        for (const Sample& each : all)
            names += each.name;
        Message cure = suggestion(name, names);
        if (cure.empty())
            cure = {"There are: %1.", {names.join(QStringLiteral(", ")).toStdString()}};
        return fail(Error({"There is no sample \"%1\".", {name.toStdString()}}, {}, cure),
                    kExitInvalid);
    }
    if (const Result<void> placed = placeData(*sample); !placed)
        return fail(placed.error());
    if (path == QLatin1StringView("-")) {
        console().printRaw(sample->json);
        return emit finished(kExitOk);
    }
    if (QFile::exists(path) && !m_arguments.has(QStringLiteral("--force")))
        return fail(Error({"%1 is there already.", {path.toStdString()}}, {},
                          {"Name another file, or add --force to replace it."}));
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(sample->json) != sample->json.size() ||
        !file.commit())
        return fail(Error(
            {"%1 cannot be written: %2.", {path.toStdString(), file.errorString().toStdString()}}));
    console().print(u"Wrote " + path);
    emit finished(kExitOk);
}

} // namespace trainyard::app

#include "moc_samples_commands.cpp"
