// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Brings the journal of one run into the store and tells what is in it.
// Rules: events are told in their order, once; frames go to the store before they are told; the end
// is told when all of it is committed, or cannot be. No more than a few MiB wait for the store:
// then the journal is not read on.
#pragma once

#include "app/run/journal_stream.h"
#include "app/store/run_store.h"
#include "engine/spec/event.h"

#include <QObject>
#include <QTimer>

#include <future>
#include <optional>
#include <vector>

namespace trainyard::app {

struct TimedEvent {
    std::int64_t timeNs = 0; ///< clock of the node, ns since 1970 UTC
    spec::Event event;
};

class JournalFeed : public QObject {
    Q_OBJECT
public:
    JournalFeed(RunStore& store, JournalKey journal, AttachCall call, JournalStream::Mode mode,
                JournalStream::Timing timing, QObject* parent = nullptr);

    /// Reads on behind what the store has. Starts again after an end, too.
    void open();
    void close();
    const JournalKey& journal() const { return m_journal; }
    bool isConnected() const { return m_stream.isStreaming(); }

signals:
    void eventsArrived(const std::vector<trainyard::app::TimedEvent>& events);
    void connected();
    void disconnected(const trainyard::Error& why, std::chrono::milliseconds retry);
    void noiseArrived(const QString& line);
    void ended(trainyard::app::JournalEnd reason, const trainyard::Error& why);

private:
    struct End {
        JournalEnd reason = JournalEnd::Final;
        Error why;
    };
    void takeFrames(const std::vector<JournalFrame>& frames);
    void waitForStore();
    void checkFlush();

    RunStore& m_store;
    const JournalKey m_journal;
    JournalStream m_stream;
    std::uint64_t m_toldSequence = 0; ///< of the last frame that was told
    std::size_t m_waitingBytes = 0;   ///< handed to the store since it was last seen empty
    std::future<Result<void>> m_flush;
    QTimer m_flushCheck;
    std::optional<End> m_end; ///< the stream has ended, the store has not got all of it yet
};

} // namespace trainyard::app
