// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/data_inspector.h"

#include "engine/spec/experiment_json.h"

#include <QJsonArray>

namespace trainyard::app {

namespace {

std::vector<std::int64_t> wholes(const QJsonValue& array) {
    std::vector<std::int64_t> values;
    for (const QJsonValue& item : array.toArray())
        values.push_back(item.toInteger());
    return values;
}

std::vector<double> reals(const QJsonValue& array) {
    std::vector<double> values;
    for (const QJsonValue& item : array.toArray())
        values.push_back(item.toDouble());
    return values;
}

std::vector<std::string> texts(const QJsonValue& array) {
    std::vector<std::string> values;
    for (const QJsonValue& item : array.toArray())
        values.push_back(item.toString().toStdString());
    return values;
}

std::vector<Message> messages(const QJsonValue& array) {
    std::vector<Message> values;
    for (const QJsonValue& item : array.toArray())
        values.push_back(messageOf(item));
    return values;
}

PartFacts partOf(const QJsonObject& json) {
    return {.samples = json[QLatin1StringView("samples")].toInteger(),
            .sampleShape = wholes(json[QLatin1StringView("shape")]),
            .vocabulary = json[QLatin1StringView("vocabulary")].toInteger(),
            .numbers = json[QLatin1StringView("numbers")].toInteger(),
            .classes = json[QLatin1StringView("classes")].toInteger(),
            .classCounts = wholes(json[QLatin1StringView("class_counts")]),
            .classNames = texts(json[QLatin1StringView("class_names")]),
            .mean = reals(json[QLatin1StringView("mean")]),
            .deviation = reals(json[QLatin1StringView("deviation")]),
            .notes = messages(json[QLatin1StringView("notes")])};
}

std::optional<double> real(const QJsonValue& value) {
    return value.isDouble() ? std::optional(value.toDouble()) : std::nullopt;
}

DataPreview previewOf(const QJsonObject& json) {
    DataPreview preview;
    preview.text = json[QLatin1StringView("text")].toString().toStdString();
    for (const QJsonValue& each : json[QLatin1StringView("pictures")].toArray()) {
        PicturePreview picture;
        if (each[QLatin1StringView("label")].isDouble())
            picture.label = each[QLatin1StringView("label")].toInteger();
        picture.bytes =
            QByteArray::fromBase64(each[QLatin1StringView("bytes")].toString().toLatin1())
                .toStdString();
        preview.pictures.push_back(std::move(picture));
    }
    for (const QJsonValue& each : json[QLatin1StringView("columns")].toArray())
        preview.columns.push_back({.name = each[QLatin1StringView("name")].toString().toStdString(),
                                   .use = each[QLatin1StringView("use")].toString().toStdString(),
                                   .missing = each[QLatin1StringView("missing")].toInteger(),
                                   .examples = texts(each[QLatin1StringView("examples")]),
                                   .categories = texts(each[QLatin1StringView("categories")]),
                                   .mean = real(each[QLatin1StringView("mean")]),
                                   .deviation = real(each[QLatin1StringView("deviation")])});
    return preview;
}

} // namespace

DataInspector::DataInspector(ExperimentDocument& document, const LocalLauncher& launcher,
                             QObject* parent)
    : QObject(parent), m_document(document), m_launcher(launcher) {
    connect(&m_document, &ExperimentDocument::inspectionWanted, this, &DataInspector::ask);
    // What was asked before anybody listened.
    if (m_document.dataState() == ExperimentDocument::DataState::Looking)
        m_document.inspectAgain();
}

void DataInspector::ask(const DataQuestion& question) {
    m_launcher.inspect(
        questionText(question), this,
        [this, question](const Result<Inspection>& inspection) { answer(question, inspection); });
}

void DataInspector::answer(const DataQuestion& question, const Result<Inspection>& inspection) {
    if (!inspection.ok()) {
        m_document.setDataError(question, inspection.error());
        return;
    }
    m_document.setMachine(inspection->machine);
    m_document.setDataFacts(question, factsOf(*inspection));
}

DataFacts factsOf(const Inspection& inspection) {
    DataFacts facts;
    facts.problems = inspection.problems;
    facts.training = partOf(inspection.data[QLatin1StringView("train")].toObject());
    const QJsonValue validation = inspection.data[QLatin1StringView("validation")];
    if (validation.isObject())
        facts.validation = partOf(validation.toObject());
    facts.preview = previewOf(inspection.data[QLatin1StringView("preview")].toObject());
    return facts;
}

QByteArray questionText(const DataQuestion& question) {
    spec::Experiment experiment;
    experiment.data = question.data;
    experiment.training.seed = question.seed;
    if (question.modelClasses > 0) {
        experiment.model.inputShape = {1};
        experiment.model.layers = {{.id = "classes", .type = "linear", .from = {}, .values = {}}};
        experiment.model.layers.front().values["out_features"] = question.modelClasses;
    } else {
        // Ends in a picture, so that it says nothing of classes.
        experiment.model.inputShape = {1, 1, 1};
        experiment.model.layers = {{.id = "open", .type = "relu", .from = {}, .values = {}}};
    }
    return QByteArray::fromStdString(spec::toJson(experiment));
}

} // namespace trainyard::app

#include "moc_data_inspector.cpp"
