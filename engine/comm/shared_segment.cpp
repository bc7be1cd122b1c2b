// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/shared_segment.h"

#include "engine/base/number_text.h"
#include "engine/runtime/rank_protocol.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <system_error>

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace trainyard::engine {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// "TYCOMM" and the version of the layout.
constexpr std::uint64_t kMagic = 0x5459434F4D4D0001u;
constexpr std::uint64_t kStagingOffset = 64 * 1024;
constexpr std::uint64_t kPage = 4096;
static_assert(sizeof(SegmentHeader) + sizeof(RankSlot) * SharedSegment::kMostRanks <=
              kStagingOffset);

/// Spinning this long is cheaper than being woken, and short beside a training step.
constexpr microseconds kSpin{40};
/// With more ranks than processors the awaited one may need this very processor. Sleeping gives it
/// away for certain; sched_yield may cost whole time slices on a busy machine (measured: 20 times
/// slower).
constexpr microseconds kSpinOversubscribed{2};
constexpr int kPausesBetweenLooks = 32;
/// A sleeping rank looks this often at the status page and the other ranks' slots ...
constexpr milliseconds kNap{10};
/// ... and, every so many naps, at their processes.
constexpr int kNapsBetweenProcessChecks = 5;

std::uint64_t roundedToPage(std::uint64_t bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
}

void pauseProcessor() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Sleeps until woken, at most `longest`, and only while `word` is `expected`. Between processes.
void futexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected, milliseconds longest) {
    timespec timeout = {};
    timeout.tv_sec = longest.count() / 1000;
    timeout.tv_nsec = longest.count() % 1000 * 1000000;
    ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, expected, &timeout,
              nullptr, 0);
}

void futexWakeAll(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr,
              nullptr, 0);
}

int usableProcessors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

Error noSharedMemory(std::uint64_t bytes, int code) {
    return {
        Message("No shared memory of %1 bytes for the ranks of this host: %2.",
                {grouped(static_cast<std::int64_t>(bytes)), std::generic_category().message(code)}),
        {},
        Message("Use fewer ranks or a smaller model, or free memory.")};
}

/// Grows the segment to hold [offset, offset + bytes) and takes the memory for it now, so that a
/// machine without it gives an error here and not a bus error later. Never shrinks.
Result<std::byte*> mapPart(int fd, std::uint64_t offset, std::uint64_t bytes) {
    int code = 0;
    do
        code = ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0
                   ? 0
                   : errno;
    while (code == EINTR);
    if (code != 0)
        return noSharedMemory(bytes, code);
    void* mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                           static_cast<off_t>(offset));
    if (mapping == MAP_FAILED)
        return noSharedMemory(bytes, errno);
    return static_cast<std::byte*>(mapping);
}

} // namespace

// ---- Joining ---------------------------------------------------------------------------------

Result<std::unique_ptr<SharedSegment>> SharedSegment::join(const CommunicatorOptions& options,
                                                           int segmentFd) {
    TRAINYARD_CHECK_MSG(options.rank >= 0 && options.rank < options.worldSize,
                        describePair(options.rank, options.worldSize));
    if (options.worldSize > kMostRanks)
        return Error(Message("%1 ranks on one host are more than shared memory serves (%2).",
                             {std::to_string(options.worldSize), std::to_string(kMostRanks)}),
                     "parallel.transport", Message("Choose \"gloo\", or fewer ranks."));
    const int fd = ::fcntl(segmentFd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return Error(Message("The shared memory of the run (descriptor %1) cannot be used: %2.",
                             {std::to_string(segmentFd), std::generic_category().message(errno)}));
    std::unique_ptr<SharedSegment> segment(new SharedSegment(options, fd));
    segment->m_oversubscribed = options.worldSize > usableProcessors();
    if (const Result<void> opened = segment->openControlArea(); !opened)
        return opened.error();
    if (const Result<void> taken = segment->takeSlot(); !taken)
        return taken.error();
    if (const Result<void> joined = segment->waitForOthersToJoin(); !joined)
        return joined.error();
    return segment;
}

Result<void> SharedSegment::openControlArea() {
    m_controlBytes =
        kStagingOffset + 2 * kPieceBytes * static_cast<std::uint64_t>(m_options.worldSize);
    m_end = m_controlBytes;
    const Result<std::byte*> mapping = mapPart(m_fd, 0, m_controlBytes);
    if (!mapping)
        return mapping.error();
    m_control = *mapping;
    // An empty memfd is all zero, which is a valid beginning for everything in the control area.
    std::uint64_t found = 0;
    if (!header().magic.compare_exchange_strong(found, kMagic) && found != kMagic)
        return Error(Message("The shared memory of the run was laid out by another version."), {},
                     Message("Start all ranks with the same trainyard-worker."));
    return {};
}

Result<void> SharedSegment::takeSlot() {
    RankSlot& mine = slot(m_options.rank);
    SlotState empty = SlotState::Empty;
    if (!mine.state.compare_exchange_strong(empty, SlotState::Joining))
        return Error(Message("There is already a rank %1 in the group: process %2.",
                             {std::to_string(m_options.rank), std::to_string(mine.process.pid)}));
    m_tookSlot = true;
    mine.worldSize = static_cast<std::uint32_t>(m_options.worldSize);
    mine.process = ProcessIdentity::self();
    mine.culprit = -1;
    mine.state.store(SlotState::Joined);
    header().joined.fetch_add(1);
    futexWakeAll(header().joined);
    return {};
}

Result<void> SharedSegment::waitForOthersToJoin() {
    const Clock::time_point end = Clock::now() + m_options.deadline;
    const std::string during = "the start of the group";
    for (int nap = 1;; ++nap) {
        const std::uint32_t seen = header().joined.load();
        int missing = -1;
        for (int rank = 0; rank < kMostRanks; ++rank) {
            const SlotState state = slot(rank).state.load();
            if (state == SlotState::Empty || state == SlotState::Joining) {
                if (missing < 0 && rank < m_options.worldSize)
                    missing = rank;
                continue;
            }
            if (slot(rank).worldSize != static_cast<std::uint32_t>(m_options.worldSize)) {
                publishFault({FaultKind::Differs, rank});
                return Error(
                    Message("Rank %1 expects a group of %2 ranks, rank %3 one of %4.",
                            {std::to_string(m_options.rank), std::to_string(m_options.worldSize),
                             std::to_string(rank), std::to_string(slot(rank).worldSize)}));
            }
        }
        if (missing < 0)
            return {};
        if (const std::optional<Fault> fault = findFault(nap % kNapsBetweenProcessChecks == 0))
            return fail(*fault, during);
        if (Clock::now() >= end)
            return fail({FaultKind::NeverJoined, missing}, during);
        futexWait(header().joined, seen, kNap);
    }
}

SharedSegment::~SharedSegment() {
    if (m_tookSlot) {
        SlotState joined = SlotState::Joined;
        slot(m_options.rank).state.compare_exchange_strong(joined, SlotState::Left);
        futexWakeAll(header().phase);
        futexWakeAll(header().joined);
    }
    for (const Arena& arena : m_arenas)
        ::munmap(arena.mapping, arena.bytesPerRank * static_cast<std::size_t>(m_options.worldSize));
    if (m_control)
        ::munmap(m_control, m_controlBytes);
    ::close(m_fd);
}

// ---- Memory ----------------------------------------------------------------------------------

RankSlot& SharedSegment::slot(int rank) const {
    return reinterpret_cast<RankSlot*>(m_control + sizeof(SegmentHeader))[rank];
}

std::byte* SharedSegment::staging(int rank, std::uint32_t phase) const {
    return m_control + kStagingOffset +
           kPieceBytes * (2 * static_cast<std::size_t>(rank) + (phase & 1));
}

Result<std::span<std::byte>> SharedSegment::allocateArena(std::size_t bytes) {
    TRAINYARD_CHECK_MSG(m_phase == 0, "reducible memory is asked for before the first collective");
    constexpr std::size_t kMost = std::size_t{1} << 46;
    if (bytes > kMost)
        return noSharedMemory(bytes, ENOMEM);
    m_memoryHash = mixMemoryHash(m_memoryHash, bytes);
    if (bytes == 0)
        return std::span<std::byte>();
    Arena arena;
    arena.bytesPerRank = roundedToPage(bytes);
    arena.offset = m_end;
    const std::uint64_t total =
        arena.bytesPerRank * static_cast<std::uint64_t>(m_options.worldSize);
    const Result<std::byte*> mapping = mapPart(m_fd, m_end, total);
    if (!mapping)
        return mapping.error();
    arena.mapping = *mapping;
    m_end += total;
    m_arenas.push_back(arena);
    return std::span<std::byte>(
        arena.mapping + arena.bytesPerRank * static_cast<std::size_t>(m_options.rank), bytes);
}

SharedSegment::Places SharedSegment::find(const void* data, std::size_t bytes) const {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    for (const Arena& arena : m_arenas) {
        const auto mine = reinterpret_cast<std::uintptr_t>(arena.mapping) +
                          arena.bytesPerRank * static_cast<std::size_t>(m_options.rank);
        if (address < mine || address + bytes > mine + arena.bytesPerRank)
            continue;
        Places places;
        places.position = arena.offset + (address - mine);
        for (int rank = 0; rank < m_options.worldSize; ++rank)
            places.ofRank.push_back(arena.mapping +
                                    arena.bytesPerRank * static_cast<std::size_t>(rank) +
                                    (address - mine));
        return places;
    }
    return {};
}

// ---- Barrier ---------------------------------------------------------------------------------

bool SharedSegment::phaseIsComplete(std::uint32_t phase) const {
    // Nobody can be more than one phase ahead, so equality would do; the difference survives
    // wrapping.
    return static_cast<std::int32_t>(header().phase.load(std::memory_order_acquire) - phase) >= 0;
}

bool SharedSegment::hasArrived(int rank) const {
    return static_cast<std::int32_t>(slot(rank).phase.load(std::memory_order_acquire) - m_phase) >=
           0;
}

Result<void> SharedSegment::barrier(const CollectiveCall& call, bool compare,
                                    Clock::time_point end) {
    const std::uint32_t phase = ++m_phase;
    RankSlot& mine = slot(m_options.rank);
    mine.calls[phase & 1] = call;
    mine.phase.store(phase, std::memory_order_release);
    const auto everybody = static_cast<std::uint32_t>(m_options.worldSize);
    if (header().arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 == everybody * phase) {
        // Sequentially consistent with the sleeper's increment and the kernel's look at the phase:
        // either the sleeper is seen here, or it sees the new phase and does not sleep.
        header().phase.store(phase);
        if (header().sleepers.load() != 0)
            futexWakeAll(header().phase);
    } else if (const Result<void> complete = sleepUntilComplete(call, end); !complete) {
        return complete;
    }
    return compare ? compareCalls(call) : Result<void>();
}

Result<void> SharedSegment::sleepUntilComplete(const CollectiveCall& call, Clock::time_point end) {
    const std::uint32_t phase = m_phase;
    const Clock::time_point spinEnd =
        Clock::now() + (m_oversubscribed ? kSpinOversubscribed : kSpin);
    do {
        for (int i = 0; i < kPausesBetweenLooks && !phaseIsComplete(phase); ++i)
            pauseProcessor();
    } while (!phaseIsComplete(phase) && Clock::now() < spinEnd);
    std::optional<Fault> fault;
    for (int nap = 0; !phaseIsComplete(phase) && !fault; ++nap) {
        header().sleepers.fetch_add(1);
        futexWait(header().phase, phase - 1, kNap);
        header().sleepers.fetch_sub(1);
        if (phaseIsComplete(phase))
            break;
        fault = findFault(nap % kNapsBetweenProcessChecks == 0);
        if (!fault && Clock::now() >= end)
            fault = findMissing();
    }
    return fault ? fail(*fault, call.text()) : Result<void>();
}

Result<void> SharedSegment::compareCalls(const CollectiveCall& call) {
    for (int rank = 0; rank < m_options.worldSize; ++rank) {
        const CollectiveCall& other = slot(rank).calls[m_phase & 1];
        if (other == call)
            continue;
        publishFault({FaultKind::Differs, rank});
        return callsDiffer(m_options.rank, call, rank, other);
    }
    return {};
}

// ---- What ends a wait early ------------------------------------------------------------------

std::optional<SharedSegment::Fault> SharedSegment::findFault(bool lookAtProcesses) const {
    if (m_options.status && m_options.status->header().abort.load() != 0)
        return Fault{FaultKind::Aborted, -1};
    for (int rank = 0; rank < m_options.worldSize; ++rank) {
        const RankSlot& other = slot(rank);
        const SlotState state = other.state.load();
        if (rank == m_options.rank || state == SlotState::Empty || state == SlotState::Joining)
            continue;
        if (state == SlotState::Failed)
            return Fault{other.fault, other.culprit};
        if (hasArrived(rank) && m_phase > 0)
            continue;
        if (state == SlotState::Left)
            return Fault{FaultKind::Left, rank};
        if (lookAtProcesses && other.process.state() == ProcessState::Dead)
            return Fault{FaultKind::Died, rank};
    }
    return std::nullopt;
}

SharedSegment::Fault SharedSegment::findMissing() const {
    Fault fault{FaultKind::Missing, -1};
    for (int rank = 0; rank < m_options.worldSize; ++rank) {
        if (hasArrived(rank))
            continue;
        if (slot(rank).process.state() == ProcessState::Stopped)
            return {FaultKind::Stopped, rank};
        if (fault.culprit < 0)
            fault.culprit = rank;
    }
    return fault;
}

void SharedSegment::publishFault(const Fault& fault) {
    RankSlot& mine = slot(m_options.rank);
    mine.fault = fault.kind;
    mine.culprit = fault.culprit;
    mine.state.store(SlotState::Failed);
    futexWakeAll(header().phase);
    futexWakeAll(header().joined);
}

Error SharedSegment::fail(const Fault& fault, const std::string& during) {
    publishFault(fault);
    const std::int64_t pid = fault.culprit >= 0 ? slot(fault.culprit).process.pid : 0;
    return faultError(fault.kind, fault.culprit, pid, during, m_options.deadline);
}

} // namespace trainyard::engine
