// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The files of a store: where they lie, how they are opened, how an older layout becomes today's.
//   catalog.db  runs, configurations, summaries: small, so that ten thousand runs open cold in no
//   time points.db   metric points, device samples, log lines: large
// Rule: SQLite commits each file as a whole but not the two together, so each file keeps its own
// journal positions and is right by itself; what one file lacks after a crash is read again.
#pragma once

#include "app/store/sqlite.h"
#include "engine/base/result.h"

#include <QString>

#include <chrono>
#include <memory>
#include <optional>

namespace trainyard::app {

QString catalogFile(const QString& folder);
QString pointsFile(const QString& folder);

/// An SqlError as a sentence with its cure. `folder` is the store's.
Error storeError(const SqlError& error, const QString& folder);

struct OpenedStore {
    std::unique_ptr<Connection> writer; ///< empty: the store can only be viewed
    std::optional<Error> viewOnly;      ///< why
    std::optional<Error> warning;       ///< what makes the place doubtful
};

/// Makes the folder and the files where they are missing and brings the layout up to date, once,
/// however many programs do so at the same moment. Touches nothing that a newer Trainyard or
/// another program made.
Result<OpenedStore> openStoreFiles(const QString& folder, std::chrono::milliseconds busyTimeout);

/// A connection that only reads, to files that openStoreFiles() has accepted. Throws SqlError.
std::unique_ptr<Connection> openForReading(const QString& folder,
                                           std::chrono::milliseconds busyTimeout);

/// The name of a network file system by the number statfs() gives; empty for a local one.
QString networkFileSystemName(std::int64_t statfsType);

/// "trainyard-studio (process 4711)", the other process that holds the write lock now; empty if
/// unknown.
QString describeLockHolder(const QString& folder);

} // namespace trainyard::app
