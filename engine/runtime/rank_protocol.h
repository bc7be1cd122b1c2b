// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rank's process and the supervisor that started it agree on: inherited file descriptors,
// exit codes and the shared status page.
//
// A rank is `trainyard-worker rank --run-folder DIR --rank R --world-size N --threads T
// --bucket-bytes B` with
//   fd 3: event pipe to the supervisor, whole frames (spec/frame.h) with sequence 0, written at
//   once fd 4: status page, a memfd of statusPageBytes(N) bytes, mapped shared by all ranks and the
//   supervisor fd 5: collective segment, an empty memfd; each rank sets the same size and maps it
//   (comm/shm)
//   fd 6: flight records of all ranks (flight_record.h), a memfd of N * kRankRecordBytes bytes, of
//   which each rank maps its own part; without such a file nothing is recorded
// stdout and stderr are pipes that the supervisor journals as log lines.
// The supervisor writes the first (Hello, RanksStarted) and the last (final StateChanged) events;
// rank 0 writes Schedule, StateChanged{Running}, Metrics and Summary; any rank may write Log and
// Failure.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace trainyard::engine {

inline constexpr int kEventsFd = 3;
inline constexpr int kStatusFd = 4;
inline constexpr int kSegmentFd = 5;
inline constexpr int kRecordFd = 6;

/// Exit codes of a rank. Death by a signal or any other code is reported by the supervisor from the
/// status page.
enum class RankExit : int {
    Done = 0,     ///< finished, or stopped as asked
    Failed = 3,   ///< a Failure event has been sent
    Diverged = 4, ///< non-finite loss or gradients; a Failure event has been sent
    PeerLost = 5, ///< a collective failed because of another rank: not the cause, only a victim
    NoMemory = 6  ///< a library's own thread got none: nobody there could send a Failure event
};

enum class RankPhase : std::uint32_t { Starting = 0, Training = 1, Validating = 2, Done = 3 };

/// One rank's line on the page. Written by the rank only, at each instruction; 64 bytes so that two
/// ranks never share a cache line.
struct alignas(64) RankStatus {
    std::atomic<std::int64_t> step{-1};
    std::atomic<std::int64_t> instruction{-1};
    std::atomic<std::int64_t> timeNs{0}; ///< CLOCK_MONOTONIC of the last change
    std::atomic<std::uint32_t> phase{0};
    std::atomic<std::uint32_t> pid{0};
    std::atomic<std::uint8_t> opcode{0}; ///< plan::Opcode of the instruction
    /// Of the instruction, or of the last one that had a layer; zero-terminated, may be torn: only
    /// for people.
    char layer[31] = {};
};
static_assert(sizeof(RankStatus) == 64);

struct alignas(64) StatusHeader {
    /// Set by the supervisor: end after the current step. The ranks agree on the step by a
    /// reduction.
    std::atomic<std::uint32_t> stopRequested{0};
    /// Set by the supervisor when a rank is lost: leave every wait at once.
    std::atomic<std::uint32_t> abort{0};
};

inline constexpr std::size_t statusPageBytes(int worldSize) {
    return sizeof(StatusHeader) + sizeof(RankStatus) * static_cast<std::size_t>(worldSize);
}

/// View of a mapped page; does not own the mapping.
class StatusPage {
public:
    explicit StatusPage(void* mapping) : m_base(static_cast<std::byte*>(mapping)) {}
    StatusHeader& header() const { return *reinterpret_cast<StatusHeader*>(m_base); }
    RankStatus& rank(int rank) const {
        return reinterpret_cast<RankStatus*>(m_base + sizeof(StatusHeader))[rank];
    }

private:
    std::byte* m_base;
};

} // namespace trainyard::engine
