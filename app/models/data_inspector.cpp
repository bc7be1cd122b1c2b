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
