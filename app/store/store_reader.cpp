// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See store_reader.h.
#include "app/store/store_reader.h"

#include "app/store/chunk_codec.h"
#include "app/store/point_tails.h"
#include "app/store/sqlite.h"
#include "app/store/store_columns.h"
#include "app/store/store_files.h"
#include "app/store/store_json.h"
#include "app/store/store_schema.h"

#include <algorithm>

namespace trainyard::app {

namespace {

// Points and log of a deleted run leave their file piece by piece; readers see none of them from
// the moment the run is gone from the catalog.
#define TRAINYARD_STILL_THERE "EXISTS (SELECT 1 FROM main.run WHERE id = ?1) "

/// Readers hardly ever wait in write-ahead mode; the cases left are a file being recovered or
/// emptied.
constexpr std::chrono::milliseconds kReaderPatience{2000};

void decodeOrThrow(std::string_view chunk, Points& points) {
    if (!decodeChunk(chunk, points))
        throw SqlError(SqlProblem::Damaged, "a chunk of points is not readable");
}

LogLine readLogLine(const Query& row) {
    LogLine line;
    line.id = row.integer(0);
    line.utcUs = row.integer(1);
    line.level = static_cast<spec::LogLevel>(row.integer(2));
    line.rank = static_cast<std::int32_t>(row.integer(3));
    line.node = row.text(4);
    line.text = Message(std::string(row.bytes(5)), argumentsFromText(row.bytes(6)));
    return line;
}

} // namespace

Result<std::unique_ptr<StoreReader>> StoreReader::open(const QString& folder) {
    try {
        return std::unique_ptr<StoreReader>(
            new StoreReader(openForReading(folder, kReaderPatience), folder));
    } catch (const SqlError& error) {
        return storeError(error, folder);
    }
}

StoreReader::StoreReader(std::unique_ptr<Connection> connection, QString folder)
    : m_connection(std::move(connection)), m_folder(std::move(folder)) {
    // Large enough for the catalog of ten thousand runs, so that listing them again reads no file.
    m_connection->execute("PRAGMA main.cache_size = -16000; PRAGMA points.cache_size = -8000;");
}

StoreReader::~StoreReader() = default;

template <class Work>
auto StoreReader::guarded(Work work) -> decltype(work()) {
    try {
        return work();
    } catch (const SqlError& error) {
        return storeError(error, m_folder);
    }
}

std::vector<RunRecord> StoreReader::readRuns(const char* sql) {
    std::vector<RunRecord> runs;
    Query rows = m_connection->query(sql);
    while (rows.next())
        runs.push_back(readRunRecord(rows));
    return runs;
}

Result<std::vector<RunRecord>> StoreReader::runs() {
    return guarded([&]() -> Result<std::vector<RunRecord>> { return readRuns(kSelectRuns); });
}

Result<std::optional<RunRecord>> StoreReader::run(RunId run) {
    return guarded([&]() -> Result<std::optional<RunRecord>> {
        Query rows = m_connection->query(kSelectRun, number(run));
        return rows.next() ? std::optional(readRunRecord(rows)) : std::nullopt;
    });
}

Result<std::optional<RunRecord>> StoreReader::runByUid(const QString& uid) {
    return guarded([&]() -> Result<std::optional<RunRecord>> {
        Query rows = m_connection->query(kSelectRunByUid, uid);
        return rows.next() ? std::optional(readRunRecord(rows)) : std::nullopt;
    });
}

Result<bool> StoreReader::wasDeleted(const QString& uid) {
    return guarded([&]() -> Result<bool> {
        return m_connection->query("SELECT 1 FROM main.deleted_run WHERE uid = ?", uid).next();
    });
}

Result<std::int64_t> StoreReader::countNamed(const QString& name) {
    return guarded([&]() -> Result<std::int64_t> {
        Query rows = m_connection->query("SELECT count(*) FROM main.run WHERE name = ?", name);
        rows.next();
        return rows.integer(0);
    });
}

Result<QByteArray> StoreReader::configuration(RunId run) {
    return guarded([&]() -> Result<QByteArray> {
        Query rows =
            m_connection->query("SELECT json FROM main.run_config WHERE run = ?", number(run));
        if (!rows.next())
            return QByteArray();
        const std::string_view json = rows.bytes(0);
        return QByteArray(json.data(), static_cast<qsizetype>(json.size()));
    });
}

Result<std::vector<spec::RankInfo>> StoreReader::ranks(RunId run) {
    return guarded([&]() -> Result<std::vector<spec::RankInfo>> {
        std::vector<spec::RankInfo> ranks;
        Query rows = m_connection->query(
            "SELECT rank, pid, device, threads FROM main.rank WHERE run = ? ORDER BY rank",
            number(run));
        while (rows.next())
            ranks.push_back({.rank = static_cast<std::int32_t>(rows.integer(0)),
                             .pid = rows.integer(1),
                             .device = std::string(rows.bytes(2)),
                             .threads = static_cast<std::int32_t>(rows.integer(3))});
        return ranks;
    });
}

Result<std::vector<RunEvent>> StoreReader::events(RunId run) {
    return guarded([&]() -> Result<std::vector<RunEvent>> {
        std::vector<RunEvent> events;
        Query rows = m_connection->query(
            "SELECT time_us, node, state, body FROM main.event WHERE run = ? ORDER BY id",
            number(run));
        while (rows.next()) {
            RunEvent event;
            event.utcUs = rows.integer(0);
            event.node = rows.text(1);
            const QJsonObject body = objectFromText(rows.bytes(3));
            if (rows.isNull(2)) {
                event.failure = failureFromJson(body);
            } else {
                if (const auto state = spec::runStateFromName(rows.bytes(2)); state)
                    event.state = *state;
                event.reason = messageFromJson(body);
            }
            events.push_back(std::move(event));
        }
        return events;
    });
}

Result<std::vector<spec::NamedValue>> StoreReader::finalValues(RunId run) {
    return guarded([&]() -> Result<std::vector<spec::NamedValue>> {
        std::vector<spec::NamedValue> values;
        Query rows = m_connection->query("SELECT m.name, f.value FROM main.final_value f "
                                         "JOIN main.metric m ON m.id = f.metric WHERE f.run = ? "
                                         "ORDER BY m.name",
                                         number(run));
        while (rows.next())
            values.emplace_back(std::string(rows.bytes(0)), rows.real(1));
        return values;
    });
}

Result<std::optional<ConfusionTable>> StoreReader::confusion(RunId run, Validation validation) {
    return guarded([&]() -> Result<std::optional<ConfusionTable>> {
        if (readVersion(*m_connection) < kConfusionVersion)
            return std::optional<ConfusionTable>();
        Query rows =
            m_connection->query("SELECT body FROM main.confusion WHERE run = ? AND best = ?",
                                number(run), validation == Validation::Best ? 1 : 0);
        if (!rows.next())
            return std::optional<ConfusionTable>();
        Result<spec::Event> event = spec::decode(spec::EventType::Confusion, rows.bytes(0));
        if (!event)
            throw SqlError(SqlProblem::Damaged, "a confusion table is not readable");
        return ConfusionTable::from(std::get<spec::Confusion>(std::move(event).value()));
    });
}

// ---- series
// --------------------------------------------------------------------------------------

Result<std::vector<SeriesInfo>> StoreReader::seriesOf(RunId run) {
    return guarded([&]() -> Result<std::vector<SeriesInfo>> {
        std::vector<SeriesInfo> list;
        Query rows = m_connection->query(kSelectSeriesOfRun, number(run));
        while (rows.next())
            list.push_back({run, rows.text(kSeriesMetricName), readSummary(rows)});
        return list;
    });
}

Result<std::vector<SeriesInfo>> StoreReader::seriesNamed(const QString& metric) {
    return guarded([&]() -> Result<std::vector<SeriesInfo>> {
        std::vector<SeriesInfo> list;
        Query rows = m_connection->query(kSelectSeriesOfMetric, metric);
        while (rows.next())
            list.push_back({RunId{rows.integer(kSeriesRun)}, metric, readSummary(rows)});
        return list;
    });
}

std::int64_t StoreReader::seriesId(RunId run, int kind, const QString& name, int rank,
                                   const QString& device) {
    Query rows = m_connection->query("SELECT id FROM points.series WHERE run = ?1 AND kind = ?2 "
                                     "AND name = ?3 AND rank = ?4 AND device = ?5 "
                                     "AND " TRAINYARD_STILL_THERE,
                                     number(run), kind, name, rank, device);
    return rows.next() ? rows.integer(0) : 0;
}

Points StoreReader::readPoints(std::int64_t series, std::int64_t first) {
    Points points;
    Query rows = m_connection->query(
        "SELECT first, data FROM points.chunk WHERE series = ?1 AND first >= coalesce((SELECT "
        "max(first) FROM points.chunk WHERE series = ?1 AND first <= ?2), 0) ORDER BY first",
        series, first);
    bool atStart = true;
    while (rows.next()) {
        if (atStart)
            points.first = rows.integer(0);
        atStart = false;
        decodeOrThrow(rows.bytes(1), points);
    }
    // The first chunk may begin before the point that was asked for.
    const std::int64_t surplus =
        std::clamp<std::int64_t>(first - points.first, 0, static_cast<std::int64_t>(points.size()));
    points.steps.erase(points.steps.begin(), points.steps.begin() + surplus);
    points.values.erase(points.values.begin(), points.values.begin() + surplus);
    points.first = first;
    return points;
}

Result<Points> StoreReader::points(RunId run, const QString& metric, std::int64_t first) {
    return guarded([&]() -> Result<Points> {
        return readPoints(
            seriesId(run, static_cast<int>(SeriesKind::Metric), metric, -1, QString()), first);
    });
}

Result<Points> StoreReader::pointsBetween(RunId run, const QString& metric, std::int64_t lowest,
                                          std::int64_t highest) {
    return guarded([&]() -> Result<Points> {
        Points all;
        Query rows = m_connection->query(
            "SELECT data FROM points.chunk WHERE series = ? AND step1 >= ? AND step0 <= ? ORDER BY "
            "first",
            seriesId(run, static_cast<int>(SeriesKind::Metric), metric, -1, QString()), lowest,
            highest);
        while (rows.next())
            decodeOrThrow(rows.bytes(0), all);
        Points inside;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all.steps[i] < lowest || all.steps[i] > highest)
                continue;
            inside.steps.push_back(all.steps[i]);
            inside.values.push_back(all.values[i]);
        }
        return inside;
    });
}

Result<Axes> StoreReader::axes(RunId run) {
    return guarded([&]() -> Result<Axes> {
        const auto column = [&](const char* name) {
            return liveLine(readPoints(seriesId(run, static_cast<int>(SeriesKind::Axis),
                                                QString(QLatin1StringView(name)), -1, QString()),
                                       0))
                .line;
        };
        // So that the three columns are of one moment and of one length.
        const ReadTransaction moment(*m_connection);
        Axes axes;
        Points time = column(kTimeAxis);
        axes.steps = std::move(time.steps);
        axes.utcUs = std::move(time.values);
        axes.epochs = column(kEpochAxis).values;
        axes.samples = column(kSamplesAxis).values;
        return axes;
    });
}

Result<std::vector<DeviceSeries>> StoreReader::deviceSeries(RunId run) {
    return guarded([&]() -> Result<std::vector<DeviceSeries>> {
        std::vector<DeviceSeries> list;
        Query rows = m_connection->query(
            "SELECT rank, device, name FROM points.series WHERE run = ?1 "
            "AND kind = ?2 AND " TRAINYARD_STILL_THERE "ORDER BY rank, device, name",
            number(run), static_cast<int>(SeriesKind::Device));
        while (rows.next())
            list.push_back(
                {static_cast<std::int32_t>(rows.integer(0)), rows.text(1), rows.text(2)});
        return list;
    });
}

Result<Points> StoreReader::devicePoints(RunId run, const DeviceSeries& series,
                                         std::int64_t first) {
    return guarded([&]() -> Result<Points> {
        return readPoints(seriesId(run, static_cast<int>(SeriesKind::Device), series.metric,
                                   series.rank, series.device),
                          first);
    });
}

// ---- log, positions, changes
// ---------------------------------------------------------------------

Result<std::vector<LogLine>> StoreReader::log(RunId run, std::int64_t afterId, int limit) {
    return guarded([&]() -> Result<std::vector<LogLine>> {
        std::vector<LogLine> lines;
        Query rows = m_connection->query(
            "SELECT id, time_us, level, rank, node, format, arguments FROM points.log "
            "WHERE run = ?1 AND id > ?2 AND " TRAINYARD_STILL_THERE "ORDER BY id LIMIT ?3",
            number(run), afterId, limit);
        while (rows.next())
            lines.push_back(readLogLine(rows));
        return lines;
    });
}

Result<std::vector<LogLine>> StoreReader::logTail(RunId run, int limit) {
    return guarded([&]() -> Result<std::vector<LogLine>> {
        std::vector<LogLine> lines;
        Query rows = m_connection->query(
            "SELECT id, time_us, level, rank, node, format, arguments FROM points.log "
            "WHERE run = ?1 AND " TRAINYARD_STILL_THERE "ORDER BY id DESC LIMIT ?2",
            number(run), limit);
        while (rows.next())
            lines.push_back(readLogLine(rows));
        std::reverse(lines.begin(), lines.end());
        return lines;
    });
}

Result<JournalPosition> StoreReader::position(RunId run, const QString& node) {
    return guarded([&]() -> Result<JournalPosition> {
        const auto read = [&](const char* sql) {
            Query rows = m_connection->query(sql, number(run), node);
            return rows.next() ? readPosition(rows, 0) : JournalPosition{};
        };
        const JournalPosition catalog =
            read("SELECT offset, sequence FROM main.node WHERE run = ? AND node = ?");
        const JournalPosition points =
            read("SELECT offset, sequence FROM points.position WHERE run = ? AND node = ?");
        return catalog.sequence < points.sequence ? catalog : points;
    });
}

Result<StoreChanges> StoreReader::changesSince(std::int64_t revision) {
    return guarded([&]() -> Result<StoreChanges> {
        StoreChanges changes;
        // First the number: what is committed between the statements is told again the next time.
        changes.revision = m_connection->integer("SELECT revision FROM main.store");
        {
            Query rows = m_connection->query(kSelectRunsChanged, revision);
            while (rows.next())
                changes.changed.push_back(readRunRecord(rows));
        }
        Query rows = m_connection->query(
            "SELECT run FROM main.deleted_run WHERE revision > ? ORDER BY run", revision);
        while (rows.next())
            changes.deleted.push_back(RunId{rows.integer(0)});
        return changes;
    });
}

Result<bool> StoreReader::hasChanged() {
    return guarded([&]() -> Result<bool> {
        const std::int64_t version = m_connection->integer("PRAGMA main.data_version");
        const bool changed = version != m_version;
        m_version = version;
        return changed;
    });
}

} // namespace trainyard::app
