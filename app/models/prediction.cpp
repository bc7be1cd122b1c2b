// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/prediction.h"

#include "engine/spec/catalogue.h"

#include <QFileInfo>
#include <QJsonArray>

namespace trainyard::app {

namespace {

using Key = QLatin1StringView;

std::vector<double> numbersIn(const QJsonValue& array) {
    std::vector<double> numbers;
    for (const QJsonValue& number : array.toArray())
        numbers.push_back(number.toDouble());
    return numbers;
}

std::optional<double> numberIn(const QJsonValue& value) {
    return value.isDouble() ? std::optional(value.toDouble()) : std::nullopt;
}

PredictedSample sampleIn(const QJsonObject& json) {
    PredictedSample sample;
    sample.sample = json[Key("sample")].toInteger();
    sample.input = json[Key("input")].toString();
    if (json[Key("label")].isDouble())
        sample.label = json[Key("label")].toInt();
    for (const QJsonValue& entry : json[Key("top")].toArray())
        sample.top.push_back({entry[Key("class")].toInt(), entry[Key("probability")].toDouble()});
    sample.values = numbersIn(json[Key("values")]);
    sample.targets = numbersIn(json[Key("targets")]);
    return sample;
}

QString tokenList(const QJsonArray& tokens) {
    QStringList words;
    for (const QJsonValue& token : tokens)
        words << QString::number(token.toInteger());
    return words.join(u", ");
}

} // namespace

PredictionInput predictionInputOf(const spec::Experiment& experiment) {
    if (experiment.data.format == "text")
        return PredictionInput::Text;
    if (experiment.data.format == "tokens")
        return PredictionInput::Tokens;
    const spec::TypeInfo* format = spec::findType(spec::Kind::DataFormat, experiment.data.format);
    const bool pictures = format && format->pictures && experiment.model.inputShape.size() == 3;
    return pictures ? PredictionInput::Pictures : PredictionInput::Rows;
}

bool canPredict(const LocalLauncher& launcher, const RunRecord& run) {
    return (run.status == RunStatus::Finished || run.status == RunStatus::Stopped) &&
           QFileInfo(launcher.weightsFile(run.uid)).isFile();
}

QString Prediction::className(int index) const {
    const QString number = QString::number(index);
    const auto at = static_cast<std::size_t>(index);
    if (at >= classNames.size() || classNames[at].isEmpty() || classNames[at] == number)
        return number;
    return number + u' ' + classNames[at].simplified();
}

Prediction predictionFromJson(const QJsonObject& answer) {
    Prediction prediction;
    prediction.classes = answer[Key("output")] == Key("classes");
    for (const QJsonValue& name : answer[Key("class_names")].toArray())
        prediction.classNames.push_back(name.toString());
    for (const QJsonValue& each : answer[Key("predictions")].toArray())
        prediction.samples.push_back(sampleIn(each.toObject()));
    prediction.accuracy = numberIn(answer[Key("accuracy")]);
    prediction.meanAbsoluteError = numberIn(answer[Key("mean_absolute_error")]);
    prediction.text = answer.contains(Key("text")) ? answer[Key("text")].toString()
                                                   : tokenList(answer[Key("tokens")].toArray());
    return prediction;
}

PredictionJob::PredictionJob(const LocalLauncher& launcher, QObject* parent)
    : QObject(parent), m_launcher(launcher) {}

void PredictionJob::askAbout(const RunRecord& run, const QStringList& inputs) {
    ask(run, {{Key("inputs"), QJsonArray::fromStringList(inputs)}});
}

void PredictionJob::goOnWith(const RunRecord& run, const QString& prompt,
                             const TextSampling& sampling) {
    ask(run, {{Key("inputs"), QJsonArray{prompt}},
              {Key("tokens"), sampling.tokens},
              {Key("temperature"), sampling.temperature},
              {Key("top_k"), sampling.topK},
              {Key("seed"), sampling.seed}});
}

void PredictionJob::ask(const RunRecord& run, QJsonObject request) {
    request[Key("weights")] = m_launcher.weightsFile(run.uid);
    m_prediction = {};
    m_textSoFar.clear();
    m_error.reset();
    m_question = std::make_unique<QObject>();
    m_launcher.predict(
        request, m_question.get(), [this](const Result<QJsonObject>& answer) { take(answer); },
        [this](const QString& piece) {
            m_textSoFar += piece;
            emit grown(piece);
        });
    setState(State::Running);
}

void PredictionJob::cancel() {
    m_question.reset();
    m_prediction = {};
    m_error.reset();
    setState(State::Idle);
}

void PredictionJob::take(const Result<QJsonObject>& answer) {
    // Still inside the question's worker: it goes when the event loop is back.
    m_question.release()->deleteLater();
    if (answer.ok())
        m_prediction = predictionFromJson(*answer);
    else
        m_error = answer.error();
    setState(answer.ok() ? State::Done : State::Failed);
}

void PredictionJob::setState(State state) {
    m_state = state;
    emit changed();
}

} // namespace trainyard::app

#include "moc_prediction.cpp"
