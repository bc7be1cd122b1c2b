// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See store_schema.h. In all tables: *_us is UTC microseconds; a REAL that is NULL is NaN, because
// SQLite stores no NaN.
#include "app/store/store_schema.h"

#include <string>

namespace trainyard::app {

namespace {

constexpr std::int32_t kCatalogId = 0x54594341; // "TYCA"
constexpr std::int32_t kPointsId = 0x5459504F;  // "TYPO"

constexpr const char* kCatalog1 = R"sql(
-- One row: counts every change, so that readers find out what is new.
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL
);
INSERT INTO store VALUES (1, 0);

-- AUTOINCREMENT: the number of a deleted run is never given to another.
CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    host TEXT NOT NULL,
    state TEXT NOT NULL,
    archived INTEGER NOT NULL DEFAULT 0,
    created_us INTEGER NOT NULL,
    crashed_us INTEGER,
    started_us INTEGER,
    ended_us INTEGER,
    seconds REAL NOT NULL DEFAULT 0,
    summary_seconds REAL,
    world_size INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 1,
    steps_total INTEGER NOT NULL DEFAULT 0,
    steps_per_epoch INTEGER NOT NULL DEFAULT 0,
    epochs_total INTEGER NOT NULL DEFAULT 0,
    train_samples INTEGER NOT NULL DEFAULT 0,
    validation_samples INTEGER NOT NULL DEFAULT 0,
    plan_hash INTEGER NOT NULL DEFAULT 0,
    last_step INTEGER NOT NULL DEFAULT 0,
    epoch REAL NOT NULL DEFAULT 0,
    samples INTEGER NOT NULL DEFAULT 0,
    failure_us INTEGER,
    failure TEXT,
    revision INTEGER NOT NULL
);
CREATE INDEX run_by_revision ON run (revision);
CREATE INDEX run_by_name ON run (name);

-- Apart from run, so that listing runs does not read them.
CREATE TABLE run_config (
    run INTEGER PRIMARY KEY,
    json BLOB NOT NULL
);

CREATE TABLE deleted_run (
    run INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL
);
CREATE INDEX deleted_run_by_revision ON deleted_run (revision);

-- Per node of a run: how far its journal is in this file, and what it said last.
CREATE TABLE node (
    run INTEGER NOT NULL,
    node TEXT NOT NULL,
    offset INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    first_us INTEGER,
    last_us INTEGER,
    state TEXT,
    PRIMARY KEY (run, node)
) WITHOUT ROWID;

CREATE TABLE rank (
    run INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    node TEXT NOT NULL,
    pid INTEGER NOT NULL,
    device TEXT NOT NULL,
    threads INTEGER NOT NULL,
    PRIMARY KEY (run, rank)
) WITHOUT ROWID;

CREATE TABLE metric (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- Summaries, one metric of all runs side by side: that is what the history reads.
CREATE TABLE series (
    metric INTEGER NOT NULL,
    run INTEGER NOT NULL,
    reported INTEGER NOT NULL,
    count INTEGER NOT NULL,
    not_finite INTEGER NOT NULL,
    last_step INTEGER NOT NULL,
    last REAL,
    lo REAL,
    lo_step INTEGER NOT NULL,
    hi REAL,
    hi_step INTEGER NOT NULL,
    spark BLOB NOT NULL,
    PRIMARY KEY (metric, run)
) WITHOUT ROWID;
CREATE INDEX series_by_run ON series (run);

-- What the run itself gave as its final figures.
CREATE TABLE final_value (
    run INTEGER NOT NULL,
    metric INTEGER NOT NULL,
    value REAL,
    PRIMARY KEY (run, metric)
) WITHOUT ROWID;

-- Changes of state (body: the reason) and failures (state NULL; body: the failure), as JSON.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    node TEXT NOT NULL,
    time_us INTEGER NOT NULL,
    state TEXT,
    body TEXT NOT NULL
);
CREATE INDEX event_by_run ON event (run);
)sql";

constexpr const char* kCatalog2 = R"sql(
-- best 0: of the newest validation, 1: of the best one. body: the event as spec::encode() writes it.
CREATE TABLE confusion (
    run INTEGER NOT NULL,
    best INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (run, best)
) WITHOUT ROWID;
)sql";

constexpr const char* kPoints1 = R"sql(
CREATE TABLE position (
    run INTEGER NOT NULL,
    node TEXT NOT NULL,
    offset INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (run, node)
) WITHOUT ROWID;

-- kind 0: a metric over steps; 1: an axis of the run over steps (epoch, samples, time_us);
-- 2: a sample of a device over UTC microseconds.
CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    rank INTEGER NOT NULL,
    device TEXT NOT NULL,
    UNIQUE (run, kind, name, rank, device)
);

-- first: how many points of the series lie before the chunk. Blocks of 1,024 points are one chunk
-- each; the block that still grows lies in chunks of up to 128, so a commit rewrites little.
-- The bytes come last, so that the heads are read without them.
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    series INTEGER NOT NULL,
    first INTEGER NOT NULL,
    n INTEGER NOT NULL,
    step0 INTEGER NOT NULL,
    step1 INTEGER NOT NULL,
    lo REAL,
    hi REAL,
    not_finite INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (series, first)
);

CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    node TEXT NOT NULL,
    time_us INTEGER NOT NULL,
    level INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    format TEXT NOT NULL,
    arguments TEXT NOT NULL
);
CREATE INDEX log_by_run ON log (run);
)sql";

constexpr const char* kCatalogSteps[] = {kCatalog1, kCatalog2};
constexpr const char* kPointsSteps[] = {kPoints1};

} // namespace

const Layout& catalogLayout() {
    static const Layout layout{kCatalogId, kCatalogSteps};
    return layout;
}

const Layout& pointsLayout() {
    static const Layout layout{kPointsId, kPointsSteps};
    return layout;
}

std::int64_t readVersion(Connection& connection) {
    return connection.integer("PRAGMA user_version");
}

bool isForeign(Connection& connection, const Layout& layout) {
    // In this order: another program may be making the file. Tables and id appear together, so an
    // id read after tables were seen is the one that belongs to them.
    const bool empty = connection.integer("SELECT count(*) FROM sqlite_schema") == 0;
    const std::int64_t id = connection.integer("PRAGMA application_id");
    return id != layout.applicationId && (id != 0 || !empty);
}

void migrate(Connection& connection, const Layout& layout) {
    const std::int64_t version = readVersion(connection);
    if (version == layout.newest())
        return;
    for (std::int64_t step = version; step < layout.newest(); ++step)
        connection.execute(layout.steps[static_cast<std::size_t>(step)]);
    const std::string id = std::to_string(layout.applicationId);
    connection.execute(("PRAGMA application_id = " + id).c_str());
    connection.execute(("PRAGMA user_version = " + std::to_string(layout.newest())).c_str());
}

} // namespace trainyard::app
