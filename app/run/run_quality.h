// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How good a run's model is, whatever it predicts: classes have an accuracy, sequences a
// perplexity, numbers an error. Names of metrics are data; those that are not known here are shown
// as they are.
#pragma once

#include <QLocale>
#include <QString>

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace trainyard::app {

/// The last value of each metric.
using MetricValues = std::map<std::string, double, std::less<>>;

/// Of the validation, the one that says most beside its loss: perplexity, accuracy, mean absolute
/// error, in this order; none where nothing of it was measured.
std::optional<std::pair<std::string, double>> qualityOf(const MetricValues& values);

/// "val_mae" -> "mean absolute error"; a name that is not known comes back as it is.
QString metricText(const QString& metric);
/// "91.20 %" for shares, else four significant digits.
QString metricValueText(const QString& metric, double value, const QLocale& locale = QLocale());

} // namespace trainyard::app
