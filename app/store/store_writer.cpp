// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See store_writer.h.
#include "app/store/store_writer.h"

#include "app/store/store_columns.h"
#include "app/store/store_files.h"

#include <QDateTime>
#include <QRandomGenerator>

#include <algorithm>
#include <chrono>

namespace trainyard::app {

namespace {

/// Runs kept in memory between commits; more are simply read again.
constexpr std::size_t kMostOpenRuns = 64;
/// Rows that a sweep removes at once: few enough not to hold up a commit of live points.
constexpr int kSweepRows = 2000;

std::int64_t nowUs() {
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

/// "20260729-105607-3f9a1c7e": sorts by time, is a good name for a folder, repeats for nobody.
QString newUid(std::int64_t createdUs) {
    const QDateTime time = QDateTime::fromMSecsSinceEpoch(createdUs / 1000, Qt::UTC);
    const quint32 random = QRandomGenerator::system()->generate();
    return time.toString(u"yyyyMMdd-hhmmss-") + QString::number(random, 16).rightJustified(8, u'0');
}

Error noSuchRun(RunId run) {
    return Error(Message("There is no run %1 in the store.", {std::to_string(number(run))}), {},
                 Message("It may have been deleted."));
}

} // namespace

StoreWriter::StoreWriter(std::unique_ptr<Connection> connection, QString folder)
    : m_connection(std::move(connection)), m_folder(std::move(folder)), m_tails(*m_connection) {}

/// Runs `work`; whatever SQLite refuses makes all memory of the files doubtful.
template <class Work>
auto StoreWriter::guarded(Work work) -> decltype(work()) {
    try {
        return work();
    } catch (const SqlError& error) {
        forget();
        return storeError(error, m_folder);
    }
}

void StoreWriter::forget() {
    m_runs.clear();
    m_tails.forget();
    m_catalogVersion = -1;
    m_pointsVersion = -1;
}

void StoreWriter::dropStale() {
    // The numbers change when another connection commits, and only then.
    const std::int64_t catalog = m_connection->integer("PRAGMA main.data_version");
    const std::int64_t points = m_connection->integer("PRAGMA points.data_version");
    if (catalog != m_catalogVersion || points != m_pointsVersion || m_runs.size() > kMostOpenRuns)
        forget();
    m_catalogVersion = catalog;
    m_pointsVersion = points;
}

std::int64_t StoreWriter::nextRevision() {
    m_connection->execute("UPDATE main.store SET revision = revision + 1");
    return m_connection->integer("SELECT revision FROM main.store");
}

RunIngest& StoreWriter::runIngest(RunId run) {
    std::unique_ptr<RunIngest>& ingest = m_runs[run];
    if (!ingest)
        ingest = std::make_unique<RunIngest>(*m_connection, m_tails, run);
    return *ingest;
}

Result<RunRecord> StoreWriter::createRun(const NewRun& run) {
    return guarded([&]() -> Result<RunRecord> {
        const std::int64_t createdUs = run.createdUtcUs.value_or(nowUs());
        const QString uid = run.uid.isEmpty() ? newUid(createdUs) : run.uid;
        Transaction transaction(*m_connection);
        {
            Query taken = m_connection->query("SELECT 1 FROM main.run WHERE uid = ?1 UNION ALL "
                                              "SELECT 1 FROM main.deleted_run WHERE uid = ?1",
                                              uid);
            if (taken.next())
                return Error(Message("The run %1 is in the store already, or was deleted from it.",
                                     {uid.toStdString()}));
        }
        m_connection
            ->query(
                "INSERT INTO main.run (uid, name, host, state, created_us, world_size, revision) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                uid, run.name, run.host, nameOf(RunStatus::Created), createdUs, run.worldSize,
                nextRevision())
            .run();
        const std::int64_t id = m_connection->lastInsertedId();
        const std::string json = run.configuration.toStdString();
        m_connection->query("INSERT INTO main.run_config (run, json) VALUES (?, ?)", id, Blob{json})
            .run();
        RunRecord record;
        {
            Query row = m_connection->query(kSelectRun, id);
            row.next();
            record = readRunRecord(row);
        }
        transaction.commit();
        return record;
    });
}

/// One transaction around a change to a run that exists.
template <class Change>
Result<void> StoreWriter::changeRun(RunId run, Change change) {
    return guarded([&]() -> Result<void> {
        Transaction transaction(*m_connection);
        dropStale();
        {
            Query row = m_connection->query("SELECT 1 FROM main.run WHERE id = ?", number(run));
            if (!row.next())
                return noSuchRun(run);
        }
        change(nextRevision());
        transaction.commit();
        return {};
    });
}

Result<void> StoreWriter::renameRun(RunId run, const QString& name) {
    return changeRun(run, [&](std::int64_t revision) {
        m_connection
            ->query("UPDATE main.run SET name = ?, revision = ? WHERE id = ?", name, revision,
                    number(run))
            .run();
    });
}

Result<void> StoreWriter::setArchived(RunId run, bool archived) {
    return changeRun(run, [&](std::int64_t revision) {
        m_connection
            ->query("UPDATE main.run SET archived = ?, revision = ? WHERE id = ?", archived ? 1 : 0,
                    revision, number(run))
            .run();
    });
}

Result<void> StoreWriter::markCrashed(RunId run) {
    return changeRun(run, [&](std::int64_t revision) {
        m_connection
            ->query("UPDATE main.run SET crashed_us = coalesce(crashed_us, ?) WHERE id = ?",
                    nowUs(), number(run))
            .run();
        m_runs.erase(run);
        m_tails.forget(run);
        runIngest(run).flush(revision);
    });
}

Result<void> StoreWriter::deleteRun(RunId run) {
    return changeRun(run, [&](std::int64_t revision) {
        m_connection
            ->query("INSERT INTO main.deleted_run (run, uid, revision) "
                    "SELECT id, uid, ? FROM main.run WHERE id = ?",
                    revision, number(run))
            .run();
        for (const char* statement :
             {"DELETE FROM main.run WHERE id = ?", "DELETE FROM main.run_config WHERE run = ?",
              "DELETE FROM main.node WHERE run = ?", "DELETE FROM main.rank WHERE run = ?",
              "DELETE FROM main.series WHERE run = ?", "DELETE FROM main.final_value WHERE run = ?",
              "DELETE FROM main.event WHERE run = ?", "DELETE FROM main.confusion WHERE run = ?"})
            m_connection->query(statement, number(run)).run();
        m_runs.erase(run);
        m_tails.forget(run);
    });
}

Result<IngestReport> StoreWriter::ingest(std::span<const JournalSlice> slices) {
    return guarded([&]() -> Result<IngestReport> {
        IngestReport report;
        std::vector<RunId> touched;
        Transaction transaction(*m_connection);
        dropStale();
        for (const JournalSlice& slice : slices) {
            const RunId run = slice.journal.run;
            RunIngest& ingest = runIngest(run);
            if (!ingest.exists()) // deleted: late frames bring nothing back
                continue;
            const std::string node = slice.journal.node.toStdString();
            bool stored = false;
            for (const JournalFrame& frame : slice.frames) {
                const RunIngest::Outcome outcome = ingest.take(node, frame);
                stored = stored || outcome == RunIngest::Outcome::Stored;
                if (outcome == RunIngest::Outcome::Gap) {
                    if (std::find(report.gaps.begin(), report.gaps.end(), slice.journal) ==
                        report.gaps.end())
                        report.gaps.push_back(slice.journal);
                    break;
                }
            }
            if (stored && std::find(touched.begin(), touched.end(), run) == touched.end())
                touched.push_back(run);
        }
        if (touched.empty())
            return report;
        const std::int64_t revision = nextRevision();
        for (RunId run : touched)
            runIngest(run).flush(revision);
        transaction.commit();
        report.changed = true;
        return report;
    });
}

Result<bool> StoreWriter::sweepSome() {
    return guarded([&]() -> Result<bool> {
        // The position of a run is the last of its rows to go, so it tells what is left to do.
        static constexpr const char* kFind =
            "SELECT run FROM points.position WHERE run NOT IN (SELECT id FROM main.run) LIMIT 1";
        {
            Query look = m_connection->query(kFind);
            if (!look.next())
                return false;
        }
        Transaction transaction(*m_connection);
        std::int64_t run = 0;
        {
            Query rows = m_connection->query(kFind);
            if (!rows.next())
                return false;
            run = rows.integer(0);
        }
        m_connection
            ->query("DELETE FROM points.chunk WHERE id IN (SELECT c.id FROM points.chunk c "
                    "JOIN points.series s ON s.id = c.series WHERE s.run = ? LIMIT ?)",
                    run, kSweepRows)
            .run();
        std::int64_t removed = m_connection->changes();
        m_connection
            ->query("DELETE FROM points.log WHERE id IN (SELECT id FROM points.log WHERE run = ? "
                    "LIMIT ?)",
                    run, kSweepRows)
            .run();
        removed += m_connection->changes();
        if (removed == 0) {
            m_connection->query("DELETE FROM points.series WHERE run = ?", run).run();
            m_connection->query("DELETE FROM points.position WHERE run = ?", run).run();
        }
        transaction.commit();
        return true;
    });
}

} // namespace trainyard::app
