// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A run as a file for other programs.
// Rules: the same bytes in every locale; every point that counts is a row, nothing is thinned; a
// number reads back as the same double. CSV writes NaN, Infinity and -Infinity as such and leaves a
// cell empty where nothing was logged. JSON has no such numbers, so there they are the strings
// "NaN", "Infinity" and "-Infinity".
#pragma once

#include "app/store/store_reader.h"

#include <QIODevice>
#include <QJsonArray>
#include <QJsonObject>

namespace trainyard::app {

/// step, epoch, samples, time_utc and a column for each metric; one row for each step.
Result<void> exportCsv(StoreReader& reader, RunId run, QIODevice& out);

/// Everything known of the run: record, configuration, final values, events, the confusion tables
/// where it has any, where the time of a step goes, and each metric with its steps and values; what
/// a later attempt has superseded under "superseded"; then the samples of each rank's device.
Result<void> exportJson(StoreReader& reader, RunId run, QIODevice& out);

/// {"newest", "best"}: {"step", "epoch", "classes": names, "counts": a row for each label, a column
/// for each prediction}. Empty where the run has no table.
Result<QJsonObject> confusionAsJson(StoreReader& reader, RunId run);

/// [{"rank", "device", "step_time", "step_data", ...}]: seconds a step, means over the run.
Result<QJsonArray> stepSplitsAsJson(StoreReader& reader, RunId run);

/// One row for each label, one column for each prediction, both with their names.
Result<void> exportConfusionCsv(const ConfusionTable& table, QIODevice& out);

/// A file name for the run that no other run of the store has: "baseline-20260729-105607-3f9a1c7e".
QString exportBaseName(const RunRecord& run);

} // namespace trainyard::app
