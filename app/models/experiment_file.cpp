// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/experiment_file.h"

#include "engine/spec/experiment_json.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

namespace trainyard::app {

namespace {

/// An experiment is a few kilobytes; something of this size is another file chosen by mistake.
constexpr qint64 kMaxBytes = qint64{16} << 20;

/// The part of the text that a path such as "model.layers[2].kernel" names.
QJsonValue jsonAt(const QJsonValue& root, const std::string& path) {
    QJsonValue value = root;
    const QStringList words = QString::fromStdString(path)
                                  .replace(u'[', u'.')
                                  .remove(u']')
                                  .split(u'.', Qt::SkipEmptyParts);
    for (const QString& word : words) {
        bool isIndex = false;
        const int index = word.toInt(&isIndex);
        value =
            value.isArray() && isIndex ? value.toArray().at(index) : value.toObject().value(word);
    }
    return value;
}

/// A wrong value that is kept. The fields of an unknown type are not.
bool isKept(const Problems& problems, const std::string& where) {
    if (where.ends_with(".type"))
        return false;
    for (const Error& problem : problems)
        if (problem.where == where)
            return true;
    return false;
}

/// What stands in the text but has not found a place in the experiment.
Problems lostParts(const QByteArray& json, const spec::ParsedExperiment& parsed) {
    const QJsonDocument document = QJsonDocument::fromJson(json);
    const Problems values = spec::validate(parsed.experiment);
    Problems lost;
    for (const Error& problem : parsed.problems) {
        const bool there =
            document.isNull() || !jsonAt(document.object(), problem.where).isUndefined();
        if (there && !isKept(values, problem.where))
            lost.push_back(problem);
    }
    return lost;
}

Error fileError(const char* format, const QString& file, const QString& reason) {
    return {Message(format, {file.toStdString(), reason.toStdString()})};
}

} // namespace

Result<spec::Experiment> experimentFromText(const QByteArray& json, const QString& fileName) {
    spec::ParsedExperiment parsed = spec::parseExperiment(json.toStdString());
    const Problems lost = lostParts(json, parsed);
    if (lost.empty())
        return std::move(parsed.experiment);
    const Error& first = lost.front();
    const std::string name = fileName.toStdString();
    const std::string where = first.where.empty() ? "" : first.where + ": ";
    Error error(Message("%1 cannot be opened. %2%3", {name, where, first.what.text()}), {},
                first.cure);
    if (lost.size() > 1)
        error.what = Message("%1 cannot be opened. %2%3 And %4 more.",
                             {name, where, first.what.text(), std::to_string(lost.size() - 1)});
    return error;
}

Result<QByteArray> readFile(const QString& file) {
    QFile source(file);
    if (!source.open(QIODevice::ReadOnly))
        return fileError("%1 cannot be read: %2.", file, source.errorString());
    if (source.size() > kMaxBytes)
        return fileError("%1 is too large for an experiment (%2 bytes).", file,
                         QString::number(source.size()));
    QByteArray text = source.readAll();
    if (source.error() != QFileDevice::NoError)
        return fileError("%1 cannot be read: %2.", file, source.errorString());
    return text;
}

Result<void> writeFile(const QString& file, const QByteArray& text) {
    QSaveFile target(file);
    if (!target.open(QIODevice::WriteOnly) || target.write(text) != text.size() || !target.commit())
        return fileError("%1 cannot be written: %2. The old file is untouched.", file,
                         target.errorString());
    return {};
}

} // namespace trainyard::app
