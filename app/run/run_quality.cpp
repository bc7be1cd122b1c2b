// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/run/run_quality.h"

#include "app/base/format.h"
#include "engine/spec/event.h"

#include <QCoreApplication>

namespace trainyard::app {

namespace {

struct Known {
    const char* metric;
    const char* text;
    bool share = false; ///< of one, shown as percent
};

constexpr Known kKnown[] = {
    {spec::metric::kTrainLoss, QT_TRANSLATE_NOOP("Metrics", "training loss")},
    {spec::metric::kTrainAccuracy, QT_TRANSLATE_NOOP("Metrics", "training accuracy"), true},
    {spec::metric::kValidationLoss, QT_TRANSLATE_NOOP("Metrics", "loss")},
    {spec::metric::kValidationAccuracy, QT_TRANSLATE_NOOP("Metrics", "accuracy"), true},
    {spec::metric::kValidationTop5, QT_TRANSLATE_NOOP("Metrics", "top-5 accuracy"), true},
    {spec::metric::kValidationPerplexity, QT_TRANSLATE_NOOP("Metrics", "perplexity")},
    {spec::metric::kValidationMae, QT_TRANSLATE_NOOP("Metrics", "mean absolute error")},
    {spec::metric::kValidationR2, QT_TRANSLATE_NOOP("Metrics", "R²")},
};

const Known* find(const QString& metric) {
    for (const Known& known : kKnown)
        if (metric == QLatin1StringView(known.metric))
            return &known;
    return nullptr;
}

} // namespace

std::optional<std::pair<std::string, double>> qualityOf(const MetricValues& values) {
    for (const char* metric : {spec::metric::kValidationPerplexity,
                               spec::metric::kValidationAccuracy, spec::metric::kValidationMae})
        if (const auto found = values.find(metric); found != values.end())
            return *found;
    return std::nullopt;
}

QString metricText(const QString& metric) {
    const Known* known = find(metric);
    return known ? QCoreApplication::translate("Metrics", known->text) : metric;
}

QString metricValueText(const QString& metric, double value, const QLocale& locale) {
    const Known* known = find(metric);
    return known && known->share ? formatPercent(value, 2, locale) : formatValue(value, 4, locale);
}

} // namespace trainyard::app
