// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/predict_command.h"

#include "app/base/format.h"
#include "app/cli/json_values.h"
#include "app/cli/table.h"
#include "engine/base/number_text.h"

#include <QFileInfo>
#include <QJsonArray>

#include <algorithm>

namespace trainyard::app {

namespace {

/// More rows say nothing in a terminal; programs get all.
constexpr qsizetype kMostRows = 20;

using Key = QLatin1StringView;

QString numberText(const QJsonValue& number) {
    return formatValue(number.toDouble(), 4, QLocale::c());
}

QString countText(qsizetype number) {
    return QString::fromStdString(grouped(number));
}

QString values(const QJsonArray& numbers) {
    QStringList texts;
    for (const QJsonValue& number : numbers)
        texts += numberText(number);
    return texts.join(QStringLiteral(", "));
}

/// The file of a picture, or the number of the sample.
QString sampleName(const QJsonObject& prediction) {
    const QString input = prediction[Key("input")].toString();
    return input.isEmpty() ? QString::number(prediction[Key("sample")].toInteger())
                           : QFileInfo(input).fileName();
}

QString probability(const QJsonValue& entry) {
    return QString::number(entry[Key("probability")].toDouble(), 'f', 4);
}

/// "9 Ankle boot", or the number alone.
class ClassNames {
public:
    explicit ClassNames(const QJsonObject& answer)
        : m_names(answer[Key("class_names")].toArray()) {}
    QString of(const QJsonValue& number) const {
        const QString text = QString::number(number.toInteger());
        const QString name = m_names[number.toInt()].toString();
        return name.isEmpty() || name == text ? text : text + u' ' + name;
    }

private:
    QJsonArray m_names;
};

/// All that is likely, one below the other.
QString oneSampleText(const QJsonObject& prediction, const ClassNames& names) {
    Table table({{QStringLiteral("class")}, {QStringLiteral("probability"), Qt::AlignRight}});
    for (const QJsonValue& entry : prediction[Key("top")].toArray())
        table.addRow({names.of(entry[Key("class")]), probability(entry)});
    QString text = table.text();
    if (prediction.contains(Key("label")))
        text += u"\nThe label is " + names.of(prediction[Key("label")]) + u'.';
    return text;
}

QString classTable(const QJsonArray& predictions, const ClassNames& names) {
    const bool labels = predictions.first().toObject().contains(Key("label"));
    std::vector<TableColumn> columns{{QStringLiteral("sample"), Qt::AlignRight}};
    if (labels)
        columns.push_back({QStringLiteral("label")});
    columns.push_back({QStringLiteral("predicted")});
    columns.push_back({QStringLiteral("probability"), Qt::AlignRight});
    columns.push_back({QStringLiteral("else")});
    Table table(std::move(columns));
    for (qsizetype i = 0; i < std::min(predictions.size(), kMostRows); ++i) {
        const QJsonObject prediction = predictions[i].toObject();
        const QJsonArray top = prediction[Key("top")].toArray();
        QStringList cells{sampleName(prediction)};
        if (labels)
            cells += names.of(prediction[Key("label")]);
        cells += names.of(top[0][Key("class")]);
        cells += probability(top[0]);
        cells += top.size() > 1 ? names.of(top[1][Key("class")]) + u"  " + probability(top[1])
                                : QString();
        table.addRow(cells);
    }
    return table.text();
}

QString numberTable(const QJsonArray& predictions) {
    const bool targets = predictions.first().toObject().contains(Key("targets"));
    std::vector<TableColumn> columns{{QStringLiteral("sample"), Qt::AlignRight}};
    if (targets)
        columns.push_back({QStringLiteral("target"), Qt::AlignRight});
    columns.push_back({QStringLiteral("predicted"), Qt::AlignRight});
    Table table(std::move(columns));
    for (qsizetype i = 0; i < std::min(predictions.size(), kMostRows); ++i) {
        const QJsonObject prediction = predictions[i].toObject();
        QStringList cells{sampleName(prediction)};
        if (targets)
            cells += values(prediction[Key("targets")].toArray());
        cells += values(prediction[Key("values")].toArray());
        table.addRow(cells);
    }
    return table.text();
}

} // namespace

CommandInfo PredictCommand::info() {
    return {
        QStringLiteral("predict"),
        {QStringLiteral("RUN"), QStringLiteral("[INPUT]...")},
        {storeOption(),
         {QStringLiteral("--validation"),
          {},
          QStringLiteral("instead of INPUT: the samples the run was validated on")},
         {QStringLiteral("--labels"), QStringLiteral("FILE"),
          QStringLiteral("the right answers for INPUT, an IDX file")},
         {QStringLiteral("--sample"), QStringLiteral("N"),
          QStringLiteral("only this sample of INPUT, counted from 0"), true},
         {QStringLiteral("--top"), QStringLiteral("N"),
          QStringLiteral("so many classes for each sample; 5 if not given")},
         {QStringLiteral("--tokens"), QStringLiteral("N"),
          QStringLiteral("how many tokens a sequence goes on for; 200 if not given")},
         {QStringLiteral("--temperature"), QStringLiteral("X"),
          QStringLiteral("below 1 likelier tokens, above 1 bolder ones; 1 if not given")},
         {QStringLiteral("--top-k"), QStringLiteral("N"),
          QStringLiteral("draw from the N most likely tokens only")},
         {QStringLiteral("--seed"), QStringLiteral("N"),
          QStringLiteral("another seed draws other tokens; 1 if not given")},
         {QStringLiteral("--json"), {}, QStringLiteral("all predictions for programs")}},
        QStringLiteral("Ask the model of a run about new inputs."),
        QStringLiteral(
            "INPUT is pictures (JPEG, PNG, or an IDX file of many), a CSV file for a model of\n"
            "tables, or rows: 5.1,3.5,1.4,0.2 (behind -- where the first is negative). It is\n"
            "normalised as the training data was. A model of texts goes on with INPUT, a text.\n"
            "RUN must have finished or have been stopped.")};
}

Result<QJsonObject> PredictCommand::request() const {
    const QStringList inputs = arguments().operands().mid(1);
    const bool validation = arguments().has(QStringLiteral("--validation"));
    const QString labels = arguments().value(QStringLiteral("--labels"));
    if (inputs.isEmpty() != validation)
        return Error(validation ? Message("--validation and INPUT cannot be together.")
                                : Message("There is nothing to predict."),
                     {}, {"Name a file or give a row of numbers, or use --validation."});
    QJsonObject request{{Key("inputs"), QJsonArray::fromStringList(inputs)},
                        {Key("validation"), validation}};
    QJsonArray samples;
    for (const QString& word : arguments().values(QStringLiteral("--sample"))) {
        bool isNumber = false;
        const qlonglong number = word.toLongLong(&isNumber);
        if (!isNumber || number < 0)
            return Error({"--sample %1 is no number of a sample.", {word.toStdString()}}, {},
                         {"Samples are counted from 0."});
        samples.append(number);
    }
    request[Key("samples")] = samples;
    if (!labels.isEmpty())
        request[Key("labels")] = QFileInfo(labels).absoluteFilePath();
    for (const auto& [option, least] : {std::pair("top", 1), std::pair("tokens", 1),
                                        std::pair("top-k", 0), std::pair("seed", 0)}) {
        const QString name = QStringLiteral("--") + QString::fromUtf8(option);
        const QString word = arguments().value(name);
        bool isNumber = false;
        const qlonglong number = word.toLongLong(&isNumber);
        if (!word.isEmpty() && (!isNumber || number < least))
            return Error({"%1 %2 must be a whole number of at least %3.",
                          {name.toStdString(), word.toStdString(), std::to_string(least)}});
        if (!word.isEmpty())
            request[QString::fromUtf8(option).replace(u'-', u'_')] = number;
    }
    if (const QString word = arguments().value(QStringLiteral("--temperature")); !word.isEmpty()) {
        const std::optional<double> number = parseReal(word.toStdString());
        if (!number || !(*number >= 0))
            return Error(
                {"--temperature %1 must be a number of at least 0.", {word.toStdString()}});
        request[Key("temperature")] = *number;
    }
    return request;
}

void PredictCommand::work() {
    Result<QJsonObject> request = this->request();
    if (!request.ok())
        return fail(request.error(), kExitInvalid);
    const std::optional<RunRecord> run = namedRun();
    if (!run)
        return;
    const Result<QString> weights = weightsOf(*run);
    if (!weights.ok())
        return fail(weights.error());
    (*request)[Key("weights")] = *weights;
    launcher().predict(*request, this,
                       [this](const Result<QJsonObject>& answer) { onAnswer(answer); });
}

void PredictCommand::onAnswer(const Result<QJsonObject>& answer) {
    if (!answer.ok())
        return fail(answer.error());
    if (arguments().has(QStringLiteral("--json"))) {
        QJsonObject json = *answer;
        json.remove(Key("problems"));
        console().printRaw(jsonText(json));
    } else {
        // A text is read from its begin.
        const QString before =
            answer->contains(Key("text")) ? arguments().operands().value(1) : QString();
        console().printText(before + predictionText(*answer));
    }
    emit finished(kExitOk);
}

QString predictionText(const QJsonObject& answer) {
    if (answer.contains(Key("text")))
        return answer[Key("text")].toString();
    if (answer[Key("output")] == Key("tokens")) {
        QStringList tokens;
        for (const QJsonValue& token : answer[Key("tokens")].toArray())
            tokens += QString::number(token.toInteger());
        return tokens.join(u',');
    }
    const QJsonArray predictions = answer[Key("predictions")].toArray();
    const ClassNames names(answer);
    const bool classes = answer[Key("output")] == Key("classes");
    if (predictions.size() == 1 && classes)
        return oneSampleText(predictions.first().toObject(), names);
    QString text = classes ? classTable(predictions, names) : numberTable(predictions);
    if (predictions.size() > kMostRows)
        text +=
            u"\n... and " + countText(predictions.size() - kMostRows) + u" more; --json has all.";
    const QString samples = countText(predictions.size()) + u" samples";
    if (answer.contains(Key("accuracy")))
        text += u"\naccuracy " + numberText(answer[Key("accuracy")]) + u" over " + samples;
    if (answer.contains(Key("mean_absolute_error")))
        text += u"\nmean absolute error " + numberText(answer[Key("mean_absolute_error")]) +
                u" over " + samples;
    return text;
}

} // namespace trainyard::app

#include "moc_predict_command.cpp"
