// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of the catalog as values: the column lists and the code that reads them, side by side, for
// the writer and the readers. Private to app/store.
#pragma once

#include "app/store/run_record.h"
#include "app/store/sqlite.h"

#include <cstdint>
#include <optional>

namespace trainyard::app {

/// As it is bound to a statement.
inline std::int64_t number(RunId run) {
    return static_cast<std::int64_t>(run);
}

// Names of the axes in points.db.
inline constexpr const char* kEpochAxis = "epoch";
inline constexpr const char* kSamplesAxis = "samples";
inline constexpr const char* kTimeAxis = "time_us";

#define TRAINYARD_RUN_COLUMNS                                                                      \
    "SELECT id, uid, name, host, state, archived, created_us, started_us, ended_us, seconds, "     \
    "world_size, attempt, steps_total, steps_per_epoch, epochs_total, train_samples, "             \
    "validation_samples, plan_hash, last_step, epoch, samples, failure FROM main.run "
inline constexpr const char* kSelectRun = TRAINYARD_RUN_COLUMNS "WHERE id = ?";
inline constexpr const char* kSelectRunByUid = TRAINYARD_RUN_COLUMNS "WHERE uid = ?";
inline constexpr const char* kSelectRuns = TRAINYARD_RUN_COLUMNS "ORDER BY id DESC";
inline constexpr const char* kSelectRunsChanged =
    TRAINYARD_RUN_COLUMNS "WHERE revision > ? ORDER BY id";
#undef TRAINYARD_RUN_COLUMNS
RunRecord readRunRecord(const Query& row);

#define TRAINYARD_SERIES_COLUMNS                                                                   \
    "SELECT s.metric, m.name, s.run, s.reported, s.count, s.not_finite, s.last_step, s.last, "     \
    "s.lo, s.lo_step, s.hi, s.hi_step, s.spark FROM main.series s "                                \
    "JOIN main.metric m ON m.id = s.metric "
inline constexpr const char* kSelectSeriesOfRun =
    TRAINYARD_SERIES_COLUMNS "WHERE s.run = ? ORDER BY m.name";
inline constexpr const char* kSelectSeriesOfMetric =
    TRAINYARD_SERIES_COLUMNS "WHERE m.name = ? ORDER BY s.run";
#undef TRAINYARD_SERIES_COLUMNS
inline constexpr int kSeriesMetricId = 0;
inline constexpr int kSeriesMetricName = 1;
inline constexpr int kSeriesRun = 2;
SeriesSummary readSummary(const Query& row);

/// Offset and sequence in the columns from `first` on.
JournalPosition readPosition(const Query& row, int first);

/// When a run was and for how long, from clocks that disagree: the studio's says when it was
/// recorded, each node's only how long something took. Nothing ends before it starts or starts
/// before it is made.
class RunTimes {
public:
    RunTimes(std::int64_t createdUs, std::optional<double> summarySeconds)
        : m_createdUs(createdUs), m_summarySeconds(summarySeconds) {}
    void addNode(std::int64_t firstUs, std::int64_t lastUs);

    std::optional<std::int64_t> startedUs() const;
    std::optional<std::int64_t> endedUs(RunStatus status) const;
    double seconds() const;

private:
    std::int64_t m_createdUs;
    std::optional<double> m_summarySeconds;
    std::optional<std::int64_t> m_firstUs;
    std::int64_t m_longestUs = 0;
};

} // namespace trainyard::app
