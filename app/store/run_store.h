// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The run store as the rest of the program sees it: one writer thread, and a reader for the thread
// that owns the store. Any number of programs may have the same store open. Threads: ingest() and
// flush() may be called from any thread; everything else belongs to the owner's, which must run an
// event loop to hear the signals. The signals carry nothing: ask the reader what is new
// (StoreReader::changesSince), which also tells what other programs did.
#pragma once

#include "app/store/store_reader.h"
#include "app/store/store_writer.h"
#include "engine/base/result.h"

#include <QObject>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <vector>

class QTimer;

namespace trainyard::app {

struct OpenedStore;

class RunStore : public QObject {
    Q_OBJECT
public:
    struct Options {
        /// Points are committed at most this often while they trickle in.
        std::chrono::milliseconds commitInterval{100};
        /// How long a command waits for another program before it is an error.
        std::chrono::milliseconds busyTimeout{5000};
        /// How soon a write that failed (a full disk) is tried again.
        std::chrono::milliseconds retryInterval{1000};
        /// Bytes of frames that wait at most; beyond it they are dropped, to be read again later.
        std::size_t mostWaiting = 64u << 20;
    };

    /// Makes the store where there is none. Refuses, without a change, what it must not touch.
    static Result<std::unique_ptr<RunStore>> open(const QString& folder, const Options& options);
    static Result<std::unique_ptr<RunStore>> open(const QString& folder) {
        return open(folder, Options());
    }
    /// Writes what is waiting, if it can be written.
    ~RunStore() override;

    QString folder() const { return m_folder; }
    /// Why this store can only be viewed; empty when it can be changed.
    const std::optional<Error>& viewOnly() const { return m_viewOnly; }
    /// What makes the place of the store doubtful, e.g. a network file system.
    const std::optional<Error>& warning() const { return m_warning; }
    StoreReader& reader() { return *m_reader; }

    // These wait for the writer: milliseconds, at most the busy time-out.
    Result<RunRecord> createRun(const NewRun& run);
    Result<void> renameRun(RunId run, const QString& name);
    Result<void> setArchived(RunId run, bool archived);
    Result<void> markCrashed(RunId run);
    Result<void> deleteRun(RunId run);

    /// Hands over the next frames of a journal. What is stored already is skipped, so it does no
    /// harm to read a piece again, or to do so in two programs at once.
    void ingest(const JournalKey& journal, std::vector<JournalFrame> frames);
    /// Ready when everything handed over before is committed, or with the reason why it is not.
    std::future<Result<void>> flush();

    /// What keeps waiting frames from being stored now; empty when all is well.
    std::optional<Error> problem() const;
    /// Journals to be read again from StoreReader::position(); each is told once.
    std::vector<JournalKey> takeRereads();
    /// Looks at this interval whether another program has changed the store.
    void watch(std::chrono::milliseconds interval);

signals:
    void changed();
    void problemChanged();
    void rereadNeeded();

private:
    class Writer;
    RunStore(const QString& folder, OpenedStore opened, std::unique_ptr<StoreReader> reader,
             const Options& options);
    template <class T>
    Result<T> command(std::function<Result<T>(StoreWriter&)> work);

    QString m_folder;
    std::optional<Error> m_viewOnly;
    std::optional<Error> m_warning;
    std::unique_ptr<Writer> m_writer; ///< none when view-only
    /// Goes before the writer does: the last connection tidies the files up, and must be able to.
    std::unique_ptr<StoreReader> m_reader;
    QTimer* m_watch = nullptr;
};

} // namespace trainyard::app
