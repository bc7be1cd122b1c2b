// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/run_text.h"

#include "app/base/format.h"
#include "app/cli/console.h"
#include "app/cli/json_values.h"
#include "app/cli/table.h"
#include "app/cli/workspace.h"
#include "app/run/run_quality.h"
#include "app/store/step_splits.h"
#include "engine/plan/balance_sentence.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace trainyard::app {

namespace {

/// Only some models have these: they are left out of a run's JSON where they were not measured.
constexpr std::array kSomeMetrics = {spec::metric::kValidationTop5,
                                     spec::metric::kValidationPerplexity,
                                     spec::metric::kValidationMae, spec::metric::kValidationR2};
constexpr std::array kMetrics = {
    spec::metric::kTrainLoss,          spec::metric::kValidationLoss,
    spec::metric::kValidationAccuracy, spec::metric::kSamplesPerSecond,
    spec::metric::kValidationTop5,     spec::metric::kValidationPerplexity,
    spec::metric::kValidationMae,      spec::metric::kValidationR2};
constexpr int kLongestName = 40;
constexpr int kLogLines = 10;
constexpr int kFirstLines = 100; ///< of the log, where a run says how it begins
constexpr int kClassesShown = 20;
/// By spec::metric::kStepParts.
constexpr std::array kPartNames = {"data",          "forward",   "backward",
                                   "communication", "optimizer", "waiting"};
static_assert(kPartNames.size() == spec::metric::kStepParts.size());

QString valueText(std::optional<double> number) {
    return formatValue(number, 4, QLocale::c());
}

QString stepsText(const RunRecord& run) {
    const QString steps = QString::number(run.lastStep);
    return run.stepsTotal > 0 ? steps + u'/' + QString::number(run.stepsTotal) : steps;
}

/// How the ranks came to share the work, where they measured it; empty: they did not.
QString balanceText(StoreReader& reader, RunId run) {
    const Result<std::vector<LogLine>> lines = reader.log(run, 0, kFirstLines);
    if (lines.ok())
        for (const LogLine& line : *lines)
            if (plan::isBalanceSentence(line.text))
                return visibleText(QString::fromStdString(line.text.text()));
    return {};
}

QString logText(StoreReader& reader, RunId run) {
    const Result<std::vector<LogLine>> lines = reader.logTail(run, kLogLines);
    if (!lines.ok() || lines->empty())
        return {};
    QString text = QStringLiteral("\nEnd of the log\n");
    for (const LogLine& line : *lines)
        text += u"  " + formatTimeOfDay(line.utcUs) + u"  " +
                (line.rank < 0 ? QString() : u"rank " + QString::number(line.rank) + u": ") +
                visibleText(QString::fromStdString(line.text.text())) + u'\n';
    return text;
}

Result<QString> metricsText(StoreReader& reader, RunId run) {
    const Result<std::vector<SeriesInfo>> series = reader.seriesOf(run);
    if (!series.ok())
        return series.error();
    if (series->empty())
        return QString();
    Table table({{QStringLiteral("metric")},
                 {QStringLiteral("last"), Qt::AlignRight},
                 {QStringLiteral("best"), Qt::AlignRight},
                 {QStringLiteral("at step"), Qt::AlignRight},
                 {QStringLiteral("points"), Qt::AlignRight}});
    for (const SeriesInfo& info : *series) {
        const std::optional<BestValue> best = bestOf(info.metric, info.summary);
        table.addRow({info.metric, valueText(info.summary.last),
                      best ? valueText(best->value) : unknownText(),
                      best ? QString::number(best->step) : unknownText(),
                      QString::number(info.summary.count)});
    }
    return QString(u'\n' + table.text() + u'\n');
}

QString percent(std::optional<double> share) {
    return share ? formatPercent(*share, 1, QLocale::c()) : unknownText();
}

QString partText(double seconds, const StepSplit& split) {
    return formatPercent(seconds / split.step, 1, QLocale::c());
}

/// Where the time of a step goes, a row for each rank.
Result<QString> splitText(StoreReader& reader, RunId run) {
    const Result<std::vector<StepSplit>> splits = stepSplits(reader, run);
    if (!splits.ok())
        return splits.error();
    if (splits->empty())
        return QString();
    std::vector<TableColumn> columns{{QStringLiteral("rank"), Qt::AlignRight},
                                     {QStringLiteral("step, ms"), Qt::AlignRight}};
    for (const char* name : kPartNames)
        columns.push_back({QString::fromLatin1(name), Qt::AlignRight});
    columns.push_back({QStringLiteral("all communication"), Qt::AlignRight});
    Table table(columns);
    for (const StepSplit& split : *splits) {
        QStringList row{QString::number(split.rank), valueText(split.step * 1e3)};
        for (const double part : split.parts)
            row << partText(part, split);
        row << partText(split.communication, split); // what hides behind computing, too
        table.addRow(row);
    }
    return QString(QStringLiteral("\nWhere a step goes\n") + table.text() + u'\n');
}

/// What the newest validation says of each class; the least found ones where there are many.
Result<QString> classesText(StoreReader& reader, RunId run) {
    const Result<std::optional<ConfusionTable>> table = reader.confusion(run, Validation::Newest);
    if (!table.ok())
        return table.error();
    if (!table->has_value())
        return QString();
    const ConfusionTable& confusion = **table;
    std::vector<int> order(static_cast<std::size_t>(confusion.classes()));
    std::iota(order.begin(), order.end(), 0);
    QString heading = QStringLiteral("\nValidation at step %1, by class").arg(confusion.step());
    if (confusion.classes() > kClassesShown) {
        std::ranges::stable_sort(order, {},
                                 [&](int each) { return confusion.recall(each).value_or(2); });
        order.resize(kClassesShown);
        heading += QStringLiteral(": the %1 of %2 that are found least")
                       .arg(kClassesShown)
                       .arg(confusion.classes());
    }
    Table rows({{QStringLiteral("class"), Qt::AlignLeft, kLongestName},
                {QStringLiteral("samples"), Qt::AlignRight},
                {QStringLiteral("recall"), Qt::AlignRight},
                {QStringLiteral("precision"), Qt::AlignRight}});
    for (const int each : order)
        rows.addRow({confusion.name(each), QString::number(confusion.labelled(each)),
                     percent(confusion.recall(each)), percent(confusion.precision(each))});
    return QString(heading + u'\n' + rows.text() + u'\n');
}

/// "acc 91.20 %" where predictions are right or wrong, else the lowest loss.
QString bestText(const RunRecord& run, const RunFigures& figures) {
    constexpr std::pair<const char*, const char*> kShown[] = {
        {spec::metric::kValidationAccuracy, "acc "}, {spec::metric::kValidationLoss, "loss "}};
    for (const auto& [metric, word] : kShown)
        if (const std::optional<double> best = figures.best(run.id, metric))
            return QLatin1StringView(word) +
                   metricValueText(QString::fromUtf8(metric), *best, QLocale::c());
    return unknownText();
}

} // namespace

RunFigures::RunFigures(StoreReader& reader) {
    for (const char* metric : kMetrics) {
        const Result<std::vector<SeriesInfo>> series =
            reader.seriesNamed(QString::fromUtf8(metric));
        if (!series.ok())
            continue; // shown as not known
        for (const SeriesInfo& info : *series)
            m_series[{info.run, info.metric}] = info.summary;
    }
}

std::optional<double> RunFigures::last(RunId run, const char* metric) const {
    const auto found = m_series.find({run, QString::fromUtf8(metric)});
    if (found == m_series.end() || found->second.count == 0)
        return std::nullopt;
    return found->second.last;
}

std::optional<double> RunFigures::best(RunId run, const char* metric) const {
    const auto found = m_series.find({run, QString::fromUtf8(metric)});
    if (found == m_series.end())
        return std::nullopt;
    const std::optional<BestValue> best = bestOf(found->first.second, found->second);
    return best ? std::optional(best->value) : std::nullopt;
}

QString runTable(const std::vector<RunRecord>& runs, const RunFigures& figures) {
    Table table({{QStringLiteral("run"), Qt::AlignRight},
                 {QStringLiteral("name"), Qt::AlignLeft, kLongestName},
                 {QStringLiteral("state")},
                 {QStringLiteral("created")},
                 {QStringLiteral("took"), Qt::AlignRight},
                 {QStringLiteral("ranks"), Qt::AlignRight},
                 {QStringLiteral("steps"), Qt::AlignRight},
                 {QStringLiteral("loss"), Qt::AlignRight},
                 {QStringLiteral("val loss"), Qt::AlignRight},
                 {QStringLiteral("best"), Qt::AlignRight}});
    for (const RunRecord& run : runs) {
        table.addRow({numberOf(run), run.name, nameOf(run.status), formatDateTime(run.createdUtcUs),
                      formatDuration(run.seconds, QLocale::c()), QString::number(run.worldSize),
                      stepsText(run), valueText(figures.last(run.id, spec::metric::kTrainLoss)),
                      valueText(figures.last(run.id, spec::metric::kValidationLoss)),
                      bestText(run, figures)});
    }
    return table.text();
}

QJsonObject runAsJson(const RunRecord& run, const RunFigures& figures) {
    const auto last = [&](const char* metric) {
        return jsonNumber(figures.last(run.id, metric));
    };
    const auto time = [](std::optional<std::int64_t> utcUs) {
        return utcUs ? QJsonValue(QString::fromLatin1(plainUtcTime(*utcUs))) : QJsonValue::Null;
    };
    QJsonObject object{
        {QStringLiteral("run"), static_cast<qint64>(run.id)},
        {QStringLiteral("id"), run.uid},
        {QStringLiteral("name"), run.name},
        {QStringLiteral("host"), run.host},
        {QStringLiteral("state"), nameOf(run.status)},
        {QStringLiteral("created"), time(run.createdUtcUs)},
        {QStringLiteral("started"), time(run.startedUtcUs)},
        {QStringLiteral("ended"), time(run.endedUtcUs)},
        {QStringLiteral("seconds"), run.seconds},
        {QStringLiteral("ranks"), run.worldSize},
        {QStringLiteral("steps"), static_cast<qint64>(run.lastStep)},
        {QStringLiteral("steps_total"), static_cast<qint64>(run.stepsTotal)},
        {QStringLiteral("epochs"), run.epoch},
        {QStringLiteral("train_loss"), last(spec::metric::kTrainLoss)},
        {QStringLiteral("val_loss"), last(spec::metric::kValidationLoss)},
        {QStringLiteral("val_accuracy"), last(spec::metric::kValidationAccuracy)},
        {QStringLiteral("best_val_accuracy"),
         jsonNumber(figures.best(run.id, spec::metric::kValidationAccuracy))},
        {QStringLiteral("samples_per_second"), last(spec::metric::kSamplesPerSecond)}};
    for (const char* metric : kSomeMetrics)
        if (const auto value = figures.last(run.id, metric))
            object[QString::fromUtf8(metric)] = jsonNumber(value);
    if (run.failure)
        object[QStringLiteral("failure")] = QString::fromStdString(run.failure->sentence());
    return object;
}

Result<QString> runText(StoreReader& reader, const RunRecord& run) {
    const Result<QString> metrics = metricsText(reader, run.id);
    const Result<QString> split = splitText(reader, run.id);
    const Result<QString> classes = classesText(reader, run.id);
    if (!split.ok())
        return split.error();
    if (!metrics.ok())
        return metrics.error();
    if (!classes.ok())
        return classes.error();
    QString text =
        u"Run " + numberOf(run) + u' ' + visibleText(run.name) + u" (" + run.uid + u")\n";
    const auto line = [&](QLatin1StringView label, const QString& content) {
        text += u"  " + QString(label).leftJustified(10) + content + u'\n';
    };
    line(QLatin1StringView("state"), nameOf(run.status));
    line(QLatin1StringView("created"), formatDateTime(run.createdUtcUs));
    line(QLatin1StringView("took"), formatDuration(run.seconds, QLocale::c()));
    line(QLatin1StringView("ranks"), QString::number(run.worldSize) + u" on " + run.host);
    if (const QString balance = balanceText(reader, run.id); !balance.isEmpty())
        line(QLatin1StringView("balance"), balance);
    line(QLatin1StringView("steps"), stepsText(run));
    if (run.trainSamples > 0)
        line(QLatin1StringView("samples"), QString::number(run.trainSamples) + u" training, " +
                                               QString::number(run.validationSamples) +
                                               u" validation");
    if (run.failure)
        line(QLatin1StringView("failure"),
             visibleText(QString::fromStdString(run.failure->sentence())));
    return QString(text + *metrics + *split + *classes + logText(reader, run.id));
}

} // namespace trainyard::app
