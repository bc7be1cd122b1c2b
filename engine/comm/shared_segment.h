// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// SharedSegment: the memory that the ranks of one host share, and the barrier in it. It is an
// unnamed memfd, so nothing is left when the last process ends, however it ends.
//
//   0         header | one slot per rank          control area
//   64 KiB    rank 0: 2 pieces | rank 1: ...      staging for data that lies elsewhere
//   then      arena 0: rank 0 | rank 1 | ...      reducible memory, in the order it was asked for
//
// Barrier: a counter of arrivals and a phase number. The last to arrive raises the phase, the
// others spin for a moment and then sleep on it (futex). The phase number takes the place of a
// sense bit, so a rank that is already in the next phase cannot be confused with one still in this.
// A slot keeps the last phase its rank has come to, which names who is missing.
#pragma once

#include "engine/base/result.h"
#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"
#include "engine/comm/process_identity.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace trainyard::engine {

enum class SlotState : std::uint32_t { Empty, Joining, Joined, Left, Failed };

struct alignas(64) RankSlot {
    std::atomic<SlotState> state;
    std::atomic<std::uint32_t> phase; ///< last phase this rank has arrived at
    FaultKind fault;                  ///< Failed only; written before the state
    std::int32_t culprit;             ///< Failed only
    std::uint32_t worldSize;          ///< this and `process` are written before Joined
    ProcessIdentity process;
    /// Calls of even and odd phases: a rank may write its next call while others still compare this
    /// one, but it cannot be two phases ahead.
    std::array<CollectiveCall, 2> calls;
};

struct alignas(64) SegmentHeader {
    std::atomic<std::uint64_t> magic;
    std::atomic<std::uint32_t> joined;               ///< futex: ranks that have joined
    alignas(64) std::atomic<std::uint32_t> arrivals; ///< worldSize more in each phase, wraps
    alignas(64) std::atomic<std::uint32_t> phase;    ///< futex: last complete phase
    std::atomic<std::uint32_t> sleepers;
};

class SharedSegment {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr int kMostRanks = 128;
    static constexpr std::size_t kPieceBytes = 256 * 1024;

    /// Takes this rank's slot and waits until all ranks have theirs.
    static Result<std::unique_ptr<SharedSegment>> join(const CommunicatorOptions& options,
                                                       int segmentFd);
    /// Marks the rank as gone, so that nobody waits for it.
    ~SharedSegment();
    SharedSegment(const SharedSegment&) = delete;
    SharedSegment& operator=(const SharedSegment&) = delete;

    Result<std::span<std::byte>> allocateArena(std::size_t bytes);
    /// Of the sizes of all arenas; part of every call.
    std::uint64_t memoryHash() const { return m_memoryHash; }

    /// If [data, data + bytes) lies in this rank's reducible memory: the same place of every rank,
    /// in rank order, and its position; else empty.
    struct Places {
        std::vector<std::byte*> ofRank;
        std::uint64_t position = CollectiveCall::kElsewhere;
    };
    Places find(const void* data, std::size_t bytes) const;

    /// Pieces for data that lies elsewhere: written before a barrier, read by all after it. Two
    /// take turns, so the next may be written while others still read this one.
    std::byte* stagingOfNextPhase(int rank) const { return staging(rank, m_phase + 1); }
    std::byte* stagingOfThisPhase(int rank) const { return staging(rank, m_phase); }

    /// Waits for all ranks until `end`; `call` must be the same on each. `compare`: false inside a
    /// call whose first barrier has compared it.
    Result<void> barrier(const CollectiveCall& call, bool compare, Clock::time_point end);

private:
    struct Arena {
        std::byte* mapping = nullptr; ///< of all ranks
        std::size_t bytesPerRank = 0;
        std::uint64_t offset = 0; ///< in the segment
    };
    struct Fault {
        FaultKind kind;
        int culprit = -1;
    };

    SharedSegment(const CommunicatorOptions& options, int fd) : m_options(options), m_fd(fd) {}
    Result<void> openControlArea();
    Result<void> takeSlot();
    Result<void> waitForOthersToJoin();
    Result<void> sleepUntilComplete(const CollectiveCall& call, Clock::time_point end);
    Result<void> compareCalls(const CollectiveCall& call);
    std::optional<Fault> findFault(bool lookAtProcesses) const;
    Fault findMissing() const;
    Error fail(const Fault& fault, const std::string& during);
    void publishFault(const Fault& fault);
    bool hasArrived(int rank) const;
    bool phaseIsComplete(std::uint32_t phase) const;

    SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(m_control); }
    RankSlot& slot(int rank) const;
    std::byte* staging(int rank, std::uint32_t phase) const;

    const CommunicatorOptions m_options;
    const int m_fd;                 ///< own duplicate
    std::byte* m_control = nullptr; ///< control area and staging, mapped at once
    std::uint64_t m_controlBytes = 0;
    std::uint64_t m_end = 0;   ///< of what is laid out in the segment
    std::uint32_t m_phase = 0; ///< last phase this rank has passed
    bool m_tookSlot = false;
    bool m_oversubscribed = false; ///< more ranks than processors
    std::uint64_t m_memoryHash = 0;
    std::vector<Arena> m_arenas;
};

} // namespace trainyard::engine
