// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything that changes a store, without threads: RunStore calls it from its writer thread.
// Rules: each call is one transaction and either done or without effect on the file that failed;
// what is remembered between calls is dropped as soon as another program has written or a call has
// failed, so any number of writers of one store come to the same content.
#pragma once

#include "app/store/point_tails.h"
#include "app/store/run_ingest.h"
#include "app/store/run_record.h"
#include "app/store/sqlite.h"
#include "engine/base/result.h"

#include <QString>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainyard::app {

struct JournalKey {
    RunId run{};
    QString node;
    bool operator==(const JournalKey&) const = default;
};

/// A piece of one journal, in its order.
struct JournalSlice {
    JournalKey journal;
    std::vector<JournalFrame> frames;
};

struct IngestReport {
    bool changed = false;
    /// Journals that must be read again from their stored position: frames were missing.
    std::vector<JournalKey> gaps;
};

class StoreWriter {
public:
    StoreWriter(std::unique_ptr<Connection> connection, QString folder);

    Result<RunRecord> createRun(const NewRun& run);
    Result<void> renameRun(RunId run, const QString& name);
    Result<void> setArchived(RunId run, bool archived);
    /// The run's processes are gone without a last word. A final state that is still found in a
    /// journal has precedence.
    Result<void> markCrashed(RunId run);
    /// At once for every reader; its points go piece by piece through sweepSome().
    Result<void> deleteRun(RunId run);

    Result<IngestReport> ingest(std::span<const JournalSlice> slices);

    /// Removes a piece of what deleted runs have left; false when nothing is left.
    Result<bool> sweepSome();

private:
    template <class Change>
    Result<void> changeRun(RunId run, Change change);
    template <class Work>
    auto guarded(Work work) -> decltype(work());
    void dropStale();
    void forget();
    std::int64_t nextRevision();
    RunIngest& runIngest(RunId run);

    std::unique_ptr<Connection> m_connection;
    QString m_folder;
    PointTails m_tails;
    std::map<RunId, std::unique_ptr<RunIngest>> m_runs;
    std::int64_t m_catalogVersion = -1;
    std::int64_t m_pointsVersion = -1;
};

} // namespace trainyard::app
