// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The journal of a run on this node: an append-only file of frames (spec/frame.h), the truth of the
// run. One writer, the supervisor; any number of readers.
// Rules: a frame that a reader has seen whole is never taken back; sequence numbers have no gap;
// and there is always room for the last words, kept in a reserve file that is freed when the disk
// is full.
#pragma once

#include "engine/agent/posix_files.h"
#include "engine/spec/frame.h"

#include <optional>
#include <string>
#include <vector>

namespace trainyard::engine {

/// What a journal holds up to its last whole frame.
struct JournalContent {
    std::uint64_t frames = 0;
    std::uint64_t wholeBytes = 0; ///< behind them may be a torn frame, or damage
    std::uint64_t lastSequence = 0;
    std::optional<spec::RunState> finalState; ///< of the last frame
    bool startsFrameAtOffset = false; ///< the offset asked for is where a frame starts or ends
};

/// Reads the file from its beginning. `offset`: see startsFrameAtOffset.
Result<JournalContent> scanJournal(const std::string& path, std::uint64_t offset = 0);
/// The final state a frame tells of, if it is such a frame.
std::optional<spec::RunState> finalStateOf(const spec::Frame& frame);

class JournalWriter {
public:
    /// Cuts a torn tail. Fails when there is no room for the reserve.
    static Result<JournalWriter> open(const std::string& path, const std::string& reservePath);

    /// Numbers the event and keeps it until the next flush.
    void append(std::uint8_t type, std::string payload, std::int64_t timeNs);
    void append(const spec::Event& event, std::int64_t timeNs);
    /// One write of all that was kept. After an error whole frames that were written stay, the rest
    /// waits for finish(), and nothing more is taken.
    Result<void> flush();
    /// Flushes, and brings it to the disk if the last time was `everyNs` ago or longer.
    Result<void> sync(std::int64_t nowNs, std::int64_t everyNs);
    /// Frees the reserve and writes the last events and what an error left over. Tries for some
    /// seconds if others use up the room at once.
    Result<void> finish(const std::vector<spec::Event>& lastEvents, std::int64_t timeNs);

    std::uint64_t sequence() const { return m_sequence; }

private:
    JournalWriter() = default;
    Result<void> reserveRoom();
    Result<void> writeWaiting();
    void keepWholeFrames(std::size_t written);

    struct Waiting {
        std::string bytes;
        std::vector<std::size_t> ends; ///< of each frame in `bytes`
    };

    std::string m_path;
    std::string m_reservePath;
    FileHandle m_file;
    std::uint64_t m_committedBytes = 0;
    std::uint64_t m_sequence = 0;
    Waiting m_waiting;
    bool m_failed = false;
    bool m_dirty = false;
    std::int64_t m_lastSyncNs = 0;
};

} // namespace trainyard::engine
