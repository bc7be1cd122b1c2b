// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything that is read from a store, over a connection that cannot write.
// Rule: one reader belongs to one thread at a time; a thread that reads much opens its own. Reading
// never waits for the writer. Each answer is of one moment; two calls may see two moments.
#pragma once

#include "app/store/confusion_table.h"
#include "app/store/points.h"
#include "app/store/run_record.h"
#include "engine/base/result.h"

#include <QByteArray>
#include <QString>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace trainyard::app {

class Connection;

class StoreReader {
public:
    /// The store must exist and be of a layout this version knows, as RunStore::open() makes sure.
    static Result<std::unique_ptr<StoreReader>> open(const QString& folder);
    ~StoreReader();
    StoreReader(const StoreReader&) = delete;
    StoreReader& operator=(const StoreReader&) = delete;

    /// All runs, the newest first.
    Result<std::vector<RunRecord>> runs();
    Result<std::optional<RunRecord>> run(RunId run);
    Result<std::optional<RunRecord>> runByUid(const QString& uid);
    /// True for a run that was in the store and was deleted: its journal is not to be read again.
    Result<bool> wasDeleted(const QString& uid);
    /// How many runs have this name.
    Result<std::int64_t> countNamed(const QString& name);
    /// The frozen experiment, byte for byte; empty when there is no such run.
    Result<QByteArray> configuration(RunId run);
    Result<std::vector<spec::RankInfo>> ranks(RunId run);
    Result<std::vector<RunEvent>> events(RunId run);
    /// The figures that the run itself gave at its end.
    Result<std::vector<spec::NamedValue>> finalValues(RunId run);

    /// Labels against predictions; none where the run has told no such table.
    Result<std::optional<ConfusionTable>> confusion(RunId run, Validation validation);

    /// The metrics of a run by name, or one metric of all runs by run.
    Result<std::vector<SeriesInfo>> seriesOf(RunId run);
    Result<std::vector<SeriesInfo>> seriesNamed(const QString& metric);

    /// The points of a metric in the order of their reports, from the `first`-th on; see
    /// liveLine(). A metric that was never logged has none.
    Result<Points> points(RunId run, const QString& metric, std::int64_t first = 0);
    /// The same, steps from `lowest` to `highest` only. `first` of the answer is 0.
    Result<Points> pointsBetween(RunId run, const QString& metric, std::int64_t lowest,
                                 std::int64_t highest);
    /// Only rows that count.
    Result<Axes> axes(RunId run);
    Result<std::vector<DeviceSeries>> deviceSeries(RunId run);
    /// `steps` of the answer are UTC microseconds.
    Result<Points> devicePoints(RunId run, const DeviceSeries& series, std::int64_t first = 0);

    /// Up to `limit` lines after the one called `afterId`, oldest first.
    Result<std::vector<LogLine>> log(RunId run, std::int64_t afterId = 0, int limit = 100'000);
    /// The last `limit` lines, oldest first.
    Result<std::vector<LogLine>> logTail(RunId run, int limit);

    /// What both files have of a journal; zeros at the start.
    Result<JournalPosition> position(RunId run, const QString& node);

    /// What was made, changed or deleted after `revision`; 0 gives everything.
    Result<StoreChanges> changesSince(std::int64_t revision);
    /// True when anybody has committed since the last call. Cheap enough for a timer.
    Result<bool> hasChanged();

private:
    StoreReader(std::unique_ptr<Connection> connection, QString folder);
    template <class Work>
    auto guarded(Work work) -> decltype(work());
    std::vector<RunRecord> readRuns(const char* sql);
    std::int64_t seriesId(RunId run, int kind, const QString& name, int rank,
                          const QString& device);
    Points readPoints(std::int64_t series, std::int64_t first);

    std::unique_ptr<Connection> m_connection;
    QString m_folder;
    std::int64_t m_version = -1;
};

} // namespace trainyard::app
