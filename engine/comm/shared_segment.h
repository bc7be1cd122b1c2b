// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// SharedSegment: the memory that the ranks of one host share, and the barrier in it. It is an
// unnamed memfd, so nothing is left when the last process ends, however it ends.
//
//   0         header | one slot per rank          control area
//   128 KiB   rank 0: 2 pieces | rank 1: ...      staging for data that lies elsewhere
//   then      arena 0: rank 0 | rank 1 | ...      reducible memory and channels, in the order they
//             were asked for
//
// Barrier: a counter of arrivals and a phase number. The last to arrive raises the phase, which the
// others wait for. The phase number takes the place of a sense bit, so a rank that is already in
// the next phase cannot be confused with one still in this. A slot keeps the last phase its rank
// has come to, which names who is missing.
//
// A group that is split off has a segment of its own and keeps its parent's, where its faults are
// published, too: a rank that waits in another group for a victim learns of the cause.
#pragma once

#include "engine/base/result.h"
#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"
#include "engine/comm/process_identity.h"
#include "engine/comm/shared_counter.h"
#include "engine/comm/wait_observer.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace trainyard::engine {

enum class SlotState : std::uint32_t { Empty, Joining, Joined, Left, Failing, Failed };

struct alignas(64) RankSlot {
    std::atomic<SlotState> state;
    std::atomic<std::uint32_t> phase; ///< last phase this rank has arrived at
    Fault fault;                      ///< Failed only; written while Failing
    std::uint32_t worldSize;          ///< this and `process` are written before Joined
    ProcessIdentity process;
    /// For whom on another host this rank waits: name + 1, 0 for nobody; and that one's process.
    std::atomic<std::int32_t> awaited;
    std::atomic<std::int64_t> awaitedPid;
    /// Calls of even and odd phases: a rank may write its next call while others still compare this
    /// one, but it cannot be two phases ahead.
    std::array<CollectiveCall, 2> calls;
};

struct alignas(64) SegmentHeader {
    std::atomic<std::uint64_t> magic;
    std::atomic<std::uint32_t> joined;               ///< futex: ranks that have joined
    alignas(64) std::atomic<std::uint32_t> arrivals; ///< worldSize more in each phase, wraps
    alignas(64) SharedCounter phase;                 ///< last complete one
};

class SharedSegment {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr int kMostRanks = 128;
    static constexpr std::size_t kPieceBytes = 256 * 1024;
    /// More than any machine has.
    static constexpr std::size_t kCacheLine = 64;
    static constexpr std::size_t kMostBytes = std::size_t{1} << 46;

    /// Takes this rank's slot and waits until all ranks have theirs. `parent`: of the group from
    /// which this one is split off, or null.
    static Result<std::unique_ptr<SharedSegment>>
    join(const CommunicatorOptions& options, int segmentFd, std::shared_ptr<SharedSegment> parent);
    ~SharedSegment();
    SharedSegment(const SharedSegment&) = delete;
    SharedSegment& operator=(const SharedSegment&) = delete;

    /// Marks the rank as gone, so that nobody waits for it.
    void leave();

    Result<std::span<std::byte>> allocateArena(std::size_t bytes);
    /// Lays out so many more bytes, alike on all ranks; where they begin.
    Result<std::uint64_t> reserve(std::uint64_t bytes);
    /// A part of what is reserved, zero when nobody has written to it yet. Lives as long as this.
    Result<std::byte*> map(std::uint64_t offset, std::uint64_t bytes);
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
    /// Waits until `peer` has raised `counter` to `target`; else why it never will.
    std::optional<Fault> waitForPeer(SharedCounter& counter, std::uint32_t target, int peer,
                                     Clock::time_point end) const;

    /// Of a group that also has ranks on other hosts; outlives the waits. Null: none.
    void setObserver(const WaitObserver* observer) { m_observer = observer; }
    /// Lets the ranks of this host blame that one, not this rank, when it does not come. -1: none.
    void awaitElsewhere(int name, std::int64_t pid);

    /// Lets the other ranks know that this one waits no more, and why.
    void publishFault(const Fault& fault);
    /// Publishes it, too.
    Error fail(const Fault& fault, const std::string& during);

private:
    struct Arena {
        std::byte* mapping = nullptr; ///< of all ranks
        std::size_t bytesPerRank = 0;
        std::uint64_t offset = 0; ///< in the segment
    };
    struct Mapping {
        std::byte* begin = nullptr;
        std::size_t bytes = 0;
    };
    /// For a peer: everybody whom a barrier waits for.
    static constexpr int kEverybody = -1;

    SharedSegment(const CommunicatorOptions& options, int fd, std::shared_ptr<SharedSegment> parent)
        : m_options(options), m_fd(fd), m_parent(std::move(parent)) {}
    Result<void> openControlArea();
    Result<void> takeSlot();
    Result<void> waitForOthersToJoin();
    Result<void> compareCalls(const CollectiveCall& call);
    std::optional<Fault> publishedFault() const;
    std::optional<Fault> findFault(bool lookAtProcesses, int peer) const;
    Fault findMissing(int peer) const;
    std::optional<Fault> blame(const Fault& missing, Clock::duration late) const;
    Fault faultOf(FaultKind kind, int rank) const;
    bool isAwaited(int rank, int peer) const;
    bool hasArrived(int rank) const;

    SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(m_control); }
    RankSlot& slot(int rank) const;
    std::byte* staging(int rank, std::uint32_t phase) const;

    const CommunicatorOptions m_options;
    const int m_fd; ///< own duplicate
    const std::shared_ptr<SharedSegment> m_parent;
    std::byte* m_control = nullptr; ///< control area and staging, mapped at once
    std::uint64_t m_controlBytes = 0;
    std::uint64_t m_end = 0;   ///< of what is laid out in the segment
    std::uint32_t m_phase = 0; ///< last phase this rank has passed
    bool m_tookSlot = false;
    bool m_oversubscribed = false; ///< more ranks than processors
    std::uint64_t m_memoryHash = 0;
    const WaitObserver* m_observer = nullptr;
    std::vector<Arena> m_arenas;
    std::vector<Mapping> m_mappings;
};

} // namespace trainyard::engine
