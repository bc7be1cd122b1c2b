// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/run/journal_feed.h"

#include <algorithm>

namespace trainyard::app {

namespace {

constexpr std::size_t kMostWaitingBytes = 8u << 20;
constexpr std::chrono::milliseconds kFlushCheck{20};

} // namespace

JournalFeed::JournalFeed(RunStore& store, JournalKey journal, AttachCall call,
                         JournalStream::Mode mode, JournalStream::Timing timing, QObject* parent)
    : QObject(parent), m_store(store), m_journal(std::move(journal)),
      m_stream(std::move(call), mode, timing) {
    connect(&m_stream, &JournalStream::framesArrived, this, &JournalFeed::takeFrames);
    connect(&m_stream, &JournalStream::connected, this, &JournalFeed::connected);
    connect(&m_stream, &JournalStream::disconnected, this, &JournalFeed::disconnected);
    connect(&m_stream, &JournalStream::noiseArrived, this, &JournalFeed::noiseArrived);
    connect(&m_stream, &JournalStream::ended, this, [this](JournalEnd reason, const Error& why) {
        m_end = End{reason, why};
        waitForStore();
    });
    connect(&m_flushCheck, &QTimer::timeout, this, &JournalFeed::checkFlush);
}

void JournalFeed::open() {
    m_end.reset();
    const Result<JournalPosition> position =
        m_store.reader().position(m_journal.run, m_journal.node);
    // Where the position is not known everything is read; the store skips what it has.
    const JournalPosition from = position.ok() ? *position : JournalPosition();
    m_toldSequence = std::max(m_toldSequence, from.sequence);
    m_stream.open(from.offset);
}

void JournalFeed::close() {
    m_end.reset();
    m_flushCheck.stop();
    m_stream.close();
}

void JournalFeed::takeFrames(const std::vector<JournalFrame>& frames) {
    std::vector<TimedEvent> events;
    for (const JournalFrame& each : frames) {
        m_waitingBytes += sizeof each + each.frame.payload.size();
        if (each.frame.sequence <= m_toldSequence)
            continue;
        m_toldSequence = each.frame.sequence;
        const auto type = static_cast<spec::EventType>(each.frame.type);
        Result<spec::Event> event = spec::decode(type, each.frame.payload);
        if (event.ok())
            events.push_back({each.frame.timeNs, std::move(*event)});
        else if (type == spec::EventType::Hello) {
            m_stream.close(); // a protocol that we do not understand
            emit ended(JournalEnd::Unreadable, event.error());
            return;
        }
        // Other types may be of a newer worker: nobody misses them.
    }
    m_store.ingest(m_journal, frames);
    if (m_waitingBytes > kMostWaitingBytes)
        waitForStore();
    if (!events.empty())
        emit eventsArrived(events);
}

void JournalFeed::waitForStore() {
    m_stream.setPaused(true);
    m_flush = m_store.flush();
    m_flushCheck.start(kFlushCheck);
}

void JournalFeed::checkFlush() {
    if (m_flush.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        return;
    m_flushCheck.stop();
    const Result<void> flushed = m_flush.get();
    if (m_end) {
        const End end = *std::exchange(m_end, std::nullopt);
        m_stream.setPaused(false);
        emit ended(end.reason, end.why);
        return;
    }
    if (!flushed.ok() && !m_store.viewOnly())
        return waitForStore(); // a full disk: asked again, nothing more is read
    m_waitingBytes = 0;
    m_stream.setPaused(false);
}

} // namespace trainyard::app

#include "moc_journal_feed.cpp"
