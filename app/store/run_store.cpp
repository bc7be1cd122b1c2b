// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The writer thread. It sleeps until there is something to do, then:
//
//   commands (someone waits for them)      at once, one transaction each
//   frames                                 all that wait in one transaction, at most every
//   commitInterval a failed transaction                   frames stay, problem() is set, tried
//   again after retryInterval nothing else                           a piece of what deleted runs
//   left behind is removed
//
// Wakes of the owner's thread carry no payload; flags tell what to announce.
#include "app/store/run_store.h"

#include "app/store/store_files.h"

#include <QTimer>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace trainyard::app {

namespace {

using Clock = std::chrono::steady_clock;

/// Bytes of frames in one transaction: short enough for other programs and commands to come
/// between.
constexpr std::size_t kMostPerTransaction = 4u << 20;

std::size_t bytesOf(const JournalSlice& slice) {
    std::size_t bytes = 0;
    for (const JournalFrame& frame : slice.frames)
        bytes += sizeof frame + frame.frame.payload.size();
    return bytes;
}

Error viewOnlyError(const QString& folder) {
    return Error(Message("The run store %1 can only be viewed.", {folder.toStdString()}), {},
                 Message("Choose another store folder to train and to change runs."));
}

} // namespace

class RunStore::Writer {
public:
    Writer(RunStore& store, std::unique_ptr<Connection> connection, const Options& options)
        : m_store(store), m_options(options), m_writer(std::move(connection), store.folder()),
          m_thread([this] { loop(); }) {}

    ~Writer() {
        {
            const std::lock_guard lock(m_mutex);
            m_stop = true;
        }
        m_wake.notify_all();
        m_thread.join();
    }

    void addCommand(std::function<void(StoreWriter&)> command) {
        {
            const std::lock_guard lock(m_mutex);
            m_commands.push_back(std::move(command));
        }
        m_wake.notify_all();
    }

    void addFrames(JournalSlice slice) {
        const std::size_t bytes = bytesOf(slice);
        {
            const std::lock_guard lock(m_mutex);
            if (m_waitingBytes + bytes > m_options.mostWaiting && m_waitingBytes > 0) {
                noteReread(slice.journal);
                return;
            }
            m_waitingBytes += bytes;
            m_frames.push_back({std::move(slice), bytes});
            ++m_handedOver;
        }
        m_wake.notify_all();
    }

    std::future<Result<void>> flush() {
        std::promise<Result<void>> promise;
        std::future<Result<void>> future = promise.get_future();
        {
            const std::lock_guard lock(m_mutex);
            if (m_frames.empty() && m_committed == m_handedOver)
                promise.set_value({});
            else
                m_flushes.push_back({m_handedOver, std::move(promise)});
        }
        m_wake.notify_all();
        return future;
    }

    std::optional<Error> problem() const {
        const std::lock_guard lock(m_mutex);
        return m_problem;
    }

    std::vector<JournalKey> takeRereads() {
        const std::lock_guard lock(m_mutex);
        return std::exchange(m_rereads, {});
    }

private:
    struct Waiting {
        JournalSlice slice;
        std::size_t bytes = 0;
    };
    struct Flush {
        std::uint64_t upTo = 0;
        std::promise<Result<void>> promise;
    };
    enum Announcement : unsigned { Changed = 1, Problem = 2, Reread = 4 };

    void loop();
    bool framesAreDue() const;
    void storeFrames(std::unique_lock<std::mutex>& lock);
    void settleFlushes(const std::optional<Error>& error);
    void noteReread(const JournalKey& journal);
    void setProblem(std::optional<Error> problem);
    void announce(unsigned what);
    void deliver();

    RunStore& m_store;
    const Options m_options;
    StoreWriter m_writer; ///< used by the thread only, once it runs

    mutable std::mutex m_mutex; ///< guards all below
    std::condition_variable m_wake;
    std::deque<std::function<void(StoreWriter&)>> m_commands;
    std::deque<Waiting> m_frames;
    std::size_t m_waitingBytes = 0;
    std::uint64_t m_handedOver = 0; ///< slices ever given to addFrames()
    std::uint64_t m_committed = 0;
    std::vector<Flush> m_flushes;
    std::optional<Error> m_problem;
    std::vector<JournalKey> m_rereads;
    Clock::time_point m_nextCommit = Clock::now();
    bool m_sweeping = true; ///< there may be rests of deleted runs
    bool m_stop = false;

    std::atomic<unsigned> m_announcements{0};
    std::thread m_thread; ///< last: starts when all else is there
};

bool RunStore::Writer::framesAreDue() const {
    // A flush does not wait for the interval, but does not hammer a full disk either.
    const bool urgent = m_stop || (!m_flushes.empty() && !m_problem) ||
                        (m_waitingBytes >= kMostPerTransaction && !m_problem);
    return !m_frames.empty() && (urgent || Clock::now() >= m_nextCommit);
}

void RunStore::Writer::loop() {
    std::unique_lock lock(m_mutex);
    while (true) {
        if (!m_commands.empty()) {
            auto command = std::move(m_commands.front());
            m_commands.pop_front();
            m_sweeping = true;
            lock.unlock();
            command(m_writer);
            lock.lock();
            announce(Changed);
        } else if (framesAreDue()) {
            storeFrames(lock);
            if (m_stop && m_problem)
                break; // the journals keep what could not be written
        } else if (m_stop) {
            break;
        } else if (m_sweeping && m_frames.empty()) {
            lock.unlock();
            const Result<bool> more = m_writer.sweepSome();
            lock.lock();
            m_sweeping = more.ok() && *more;
        } else if (m_frames.empty()) {
            m_wake.wait(lock);
        } else {
            m_wake.wait_until(lock, m_nextCommit);
        }
    }
    settleFlushes(m_problem);
}

void RunStore::Writer::storeFrames(std::unique_lock<std::mutex>& lock) {
    std::vector<JournalSlice> slices;
    std::vector<std::size_t> sizes;
    std::size_t bytes = 0;
    while (!m_frames.empty() &&
           (bytes == 0 || bytes + m_frames.front().bytes <= kMostPerTransaction)) {
        bytes += m_frames.front().bytes;
        sizes.push_back(m_frames.front().bytes);
        slices.push_back(std::move(m_frames.front().slice));
        m_frames.pop_front();
    }
    lock.unlock();
    const Result<IngestReport> report = m_writer.ingest(slices);
    lock.lock();
    m_nextCommit = Clock::now() + (report ? m_options.commitInterval : m_options.retryInterval);
    if (!report) {
        for (std::size_t i = slices.size(); i-- > 0;)
            m_frames.push_front({std::move(slices[i]), sizes[i]});
        setProblem(report.error());
        settleFlushes(report.error());
        return;
    }
    m_waitingBytes -= bytes;
    m_committed += slices.size();
    setProblem(std::nullopt);
    for (const JournalKey& journal : report->gaps)
        noteReread(journal);
    settleFlushes(std::nullopt);
    if (report->changed)
        announce(Changed);
}

void RunStore::Writer::settleFlushes(const std::optional<Error>& error) {
    std::vector<Flush> open;
    for (Flush& flush : m_flushes) {
        if (flush.upTo <= m_committed)
            flush.promise.set_value({});
        else if (error)
            flush.promise.set_value(*error);
        else
            open.push_back(std::move(flush));
    }
    m_flushes = std::move(open);
}

void RunStore::Writer::noteReread(const JournalKey& journal) {
    if (std::find(m_rereads.begin(), m_rereads.end(), journal) != m_rereads.end())
        return;
    m_rereads.push_back(journal);
    announce(Reread);
}

void RunStore::Writer::setProblem(std::optional<Error> problem) {
    if (problem == m_problem)
        return; // said once
    m_problem = std::move(problem);
    announce(Problem);
}

void RunStore::Writer::announce(unsigned what) {
    // One wake at a time; what comes before it is delivered rides along.
    if (m_announcements.fetch_or(what) == 0)
        QMetaObject::invokeMethod(
            &m_store, [this] { deliver(); }, Qt::QueuedConnection);
}

void RunStore::Writer::deliver() {
    const unsigned what = m_announcements.exchange(0);
    if (what & Problem)
        emit m_store.problemChanged();
    if (what & Reread)
        emit m_store.rereadNeeded();
    if (what & Changed)
        emit m_store.changed();
}

// ---- RunStore
// ------------------------------------------------------------------------------------

Result<std::unique_ptr<RunStore>> RunStore::open(const QString& folder, const Options& options) {
    Result<OpenedStore> opened = openStoreFiles(folder, options.busyTimeout);
    if (!opened)
        return opened.error();
    Result<std::unique_ptr<StoreReader>> reader = StoreReader::open(folder);
    if (!reader)
        return reader.error();
    return std::unique_ptr<RunStore>(
        new RunStore(folder, std::move(opened).value(), std::move(reader).value(), options));
}

RunStore::RunStore(const QString& folder, OpenedStore opened, std::unique_ptr<StoreReader> reader,
                   const Options& options)
    : m_folder(folder), m_viewOnly(std::move(opened.viewOnly)),
      m_warning(std::move(opened.warning)), m_reader(std::move(reader)) {
    if (opened.writer)
        m_writer = std::make_unique<Writer>(*this, std::move(opened.writer), options);
}

RunStore::~RunStore() = default;

template <class T>
Result<T> RunStore::command(std::function<Result<T>(StoreWriter&)> work) {
    if (!m_writer)
        return viewOnlyError(m_folder);
    // Shared: the writer may still be inside set_value() when the result is here already.
    const auto promise = std::make_shared<std::promise<Result<T>>>();
    std::future<Result<T>> future = promise->get_future();
    m_writer->addCommand([promise, work = std::move(work)](StoreWriter& writer) {
        promise->set_value(work(writer));
    });
    return future.get();
}

Result<RunRecord> RunStore::createRun(const NewRun& run) {
    return command<RunRecord>([&](StoreWriter& writer) { return writer.createRun(run); });
}

Result<void> RunStore::renameRun(RunId run, const QString& name) {
    return command<void>([&](StoreWriter& writer) { return writer.renameRun(run, name); });
}

Result<void> RunStore::setArchived(RunId run, bool archived) {
    return command<void>([&](StoreWriter& writer) { return writer.setArchived(run, archived); });
}

Result<void> RunStore::markCrashed(RunId run) {
    return command<void>([&](StoreWriter& writer) { return writer.markCrashed(run); });
}

Result<void> RunStore::deleteRun(RunId run) {
    return command<void>([&](StoreWriter& writer) { return writer.deleteRun(run); });
}

void RunStore::ingest(const JournalKey& journal, std::vector<JournalFrame> frames) {
    if (m_writer && !frames.empty())
        m_writer->addFrames({journal, std::move(frames)});
}

std::future<Result<void>> RunStore::flush() {
    if (m_writer)
        return m_writer->flush();
    std::promise<Result<void>> promise;
    promise.set_value(viewOnlyError(m_folder));
    return promise.get_future();
}

std::optional<Error> RunStore::problem() const {
    return m_writer ? m_writer->problem() : std::nullopt;
}

std::vector<JournalKey> RunStore::takeRereads() {
    return m_writer ? m_writer->takeRereads() : std::vector<JournalKey>();
}

void RunStore::watch(std::chrono::milliseconds interval) {
    if (m_watch == nullptr) {
        m_watch = new QTimer(this);
        connect(m_watch, &QTimer::timeout, this, [this] {
            const Result<bool> news = m_reader->hasChanged();
            if (news && *news)
                emit changed();
        });
    }
    m_watch->start(interval);
}

} // namespace trainyard::app

#include "moc_run_store.cpp"
