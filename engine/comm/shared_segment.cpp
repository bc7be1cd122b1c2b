// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/shared_segment.h"

#include "engine/base/number_text.h"
#include "engine/runtime/rank_protocol.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace trainyard::engine {

namespace {

/// "TYCOMM" and the version of the layout.
constexpr std::uint64_t kMagic = 0x5459434F4D4D0003u;
constexpr std::uint64_t kStagingOffset = 128 * 1024;
constexpr std::uint64_t kPage = 4096;
/// A leader that is late gives up so long before the ranks that wait for it.
constexpr std::chrono::milliseconds kLeadersMargin{500};
static_assert(sizeof(SegmentHeader) + sizeof(RankSlot) * SharedSegment::kMostRanks <=
              kStagingOffset);

std::uint64_t roundedToPage(std::uint64_t bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
}

int usableProcessors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

Error noSharedMemory(std::uint64_t bytes, int code) {
    return Error(Message("No shared memory of %1 bytes for the ranks of this host: %2.",
                         {grouped(static_cast<std::int64_t>(bytes)),
                          std::generic_category().message(code)}),
                 {}, Message("Use fewer ranks or a smaller model, or free memory."))
        .own();
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
                                                           int segmentFd,
                                                           std::shared_ptr<SharedSegment> parent) {
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
    std::unique_ptr<SharedSegment> segment(new SharedSegment(options, fd, std::move(parent)));
    // A group's ranks share the processors with those of the other groups.
    segment->m_oversubscribed = segment->m_parent ? segment->m_parent->m_oversubscribed
                                                  : options.worldSize > usableProcessors();
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
        return Error(Message(
            "There is already a rank %1 in the group: process %2.",
            {std::to_string(m_options.nameOf(m_options.rank)), std::to_string(mine.process.pid)}));
    m_tookSlot = true;
    mine.worldSize = static_cast<std::uint32_t>(m_options.worldSize);
    mine.process = ProcessIdentity::self();
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
                publishFault(faultOf(FaultKind::Differs, rank));
                return Error(
                    Message("Rank %1 expects a group of %2 ranks, rank %3 one of %4.",
                            {std::to_string(m_options.rank), std::to_string(m_options.worldSize),
                             std::to_string(rank), std::to_string(slot(rank).worldSize)}));
            }
        }
        if (missing < 0)
            return {};
        if (const auto fault = findFault(nap % kNapsBetweenProcessChecks == 0, kEverybody))
            return fail(*fault, during);
        if (Clock::now() >= end)
            return fail({FaultKind::NeverJoined, m_options.nameOf(missing)}, during);
        futexWait(header().joined, seen);
    }
}

void SharedSegment::leave() {
    if (!m_tookSlot)
        return;
    SlotState joined = SlotState::Joined;
    slot(m_options.rank).state.compare_exchange_strong(joined, SlotState::Left);
    header().phase.wake();
    futexWakeAll(header().joined);
}

SharedSegment::~SharedSegment() {
    leave();
    for (const Mapping& mapping : m_mappings)
        ::munmap(mapping.begin, mapping.bytes);
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

Result<std::uint64_t> SharedSegment::reserve(std::uint64_t bytes) {
    if (bytes >= kMostBytes)
        return noSharedMemory(bytes, ENOMEM);
    const std::uint64_t begin = m_end;
    m_end += roundedToPage(bytes);
    return begin;
}

Result<std::byte*> SharedSegment::map(std::uint64_t offset, std::uint64_t bytes) {
    const Result<std::byte*> mapping = mapPart(m_fd, offset, roundedToPage(bytes));
    if (mapping)
        m_mappings.push_back({*mapping, roundedToPage(bytes)});
    return mapping;
}

Result<std::span<std::byte>> SharedSegment::allocateArena(std::size_t bytes) {
    if (bytes >= kMostBytes)
        return noSharedMemory(bytes, ENOMEM);
    m_memoryHash = mixHash(m_memoryHash, bytes);
    if (bytes == 0)
        return std::span<std::byte>();
    Arena arena;
    arena.bytesPerRank = roundedToPage(bytes);
    const std::uint64_t total =
        arena.bytesPerRank * static_cast<std::uint64_t>(m_options.worldSize);
    const Result<std::uint64_t> offset = reserve(total);
    if (!offset)
        return offset.error();
    arena.offset = *offset;
    const Result<std::byte*> mapping = map(arena.offset, total);
    if (!mapping)
        return mapping.error();
    arena.mapping = *mapping;
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
    if (header().arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 == everybody * phase)
        header().phase.raiseTo(phase);
    else if (const auto fault = waitForPeer(header().phase, phase, kEverybody, end))
        return fail(*fault, call.text());
    return compare ? compareCalls(call) : Result<void>();
}

std::optional<Fault> SharedSegment::waitForPeer(SharedCounter& counter, std::uint32_t target,
                                                int peer, Clock::time_point end) const {
    const Clock::time_point start = Clock::now();
    bool isTold = false;
    const auto fault = counter.waitFor(target, m_oversubscribed, [&](int nap) {
        std::optional<Fault> found = findFault(nap % kNapsBetweenProcessChecks == 0, peer);
        if (!found && Clock::now() >= end)
            found = blame(findMissing(peer), Clock::now() - end);
        if (!found && m_observer && !isTold &&
            Clock::now() - start > longWait(m_options.deadline)) {
            m_observer->waitsFor(findMissing(peer));
            isTold = true;
        }
        return found;
    });
    if (isTold && !fault) // else it is told until the fault is
        m_observer->waitIsOver();
    return fault;
}

Result<void> SharedSegment::compareCalls(const CollectiveCall& call) {
    for (int rank = 0; rank < m_options.worldSize; ++rank) {
        const CollectiveCall& other = slot(rank).calls[m_phase & 1];
        if (other == call)
            continue;
        publishFault(faultOf(FaultKind::Differs, rank));
        return callsDiffer(m_options.nameOf(m_options.rank), call, m_options.nameOf(rank), other);
    }
    return {};
}

// ---- What ends a wait early ------------------------------------------------------------------

Fault SharedSegment::faultOf(FaultKind kind, int rank) const {
    return {kind, m_options.nameOf(rank), slot(rank).process.pid};
}

std::optional<Fault> SharedSegment::publishedFault() const {
    for (int rank = 0; rank < m_options.worldSize; ++rank)
        if (slot(rank).state.load() == SlotState::Failed)
            return slot(rank).fault;
    return m_parent ? m_parent->publishedFault() : std::nullopt;
}

bool SharedSegment::isAwaited(int rank, int peer) const {
    return peer == kEverybody ? m_phase == 0 || !hasArrived(rank) : rank == peer;
}

std::optional<Fault> SharedSegment::findFault(bool lookAtProcesses, int peer) const {
    if (m_options.status && m_options.status->header().abort.load() != 0)
        return Fault{FaultKind::Aborted};
    if (const std::optional<Fault> fault = publishedFault())
        return fault;
    for (int rank = 0; rank < m_options.worldSize; ++rank) {
        const RankSlot& other = slot(rank);
        const SlotState state = other.state.load();
        if (rank == m_options.rank || state == SlotState::Empty || state == SlotState::Joining ||
            !isAwaited(rank, peer))
            continue;
        if (state == SlotState::Left)
            return faultOf(FaultKind::Left, rank);
        if (lookAtProcesses && other.process.state() == ProcessState::Dead)
            return faultOf(FaultKind::Died, rank);
    }
    return std::nullopt;
}

Fault SharedSegment::findMissing(int peer) const {
    std::optional<Fault> missing;
    for (int rank = 0; rank < m_options.worldSize; ++rank) {
        if (rank == m_options.rank || !isAwaited(rank, peer))
            continue;
        if (slot(rank).process.state() == ProcessState::Stopped)
            return faultOf(FaultKind::Stopped, rank);
        if (missing)
            continue;
        const int awaited = slot(rank).awaited.load();
        missing = awaited > 0 ? Fault{FaultKind::Missing, awaited - 1, slot(rank).awaitedPid.load()}
                              : faultOf(FaultKind::Missing, rank);
    }
    return missing.value_or(Fault{FaultKind::Missing});
}

void SharedSegment::awaitElsewhere(int name, std::int64_t pid) {
    slot(m_options.rank).awaitedPid.store(pid, std::memory_order_relaxed);
    slot(m_options.rank).awaited.store(name + 1, std::memory_order_relaxed);
}

/// Of a rank that does not come because it waits for one of another host, it may soon be known who
/// keeps that one waiting.
std::optional<Fault> SharedSegment::blame(const Fault& missing, Clock::duration late) const {
    if (!m_observer)
        return missing;
    bool isHere = false;
    for (int rank = 0; rank < m_options.worldSize; ++rank)
        isHere = isHere || m_options.nameOf(rank) == missing.culprit;
    const Fault culprit = m_observer->behind(missing);
    const bool isKnown = culprit.kind != missing.kind || culprit.culprit != missing.culprit;
    if (isHere || isKnown || late >= longWait(m_options.deadline) + kLeadersMargin)
        return culprit;
    return std::nullopt;
}

void SharedSegment::publishFault(const Fault& fault) {
    RankSlot& mine = slot(m_options.rank);
    SlotState joined = SlotState::Joined;
    // Also when groups of one rank fail in several threads: the first one tells.
    if (mine.state.compare_exchange_strong(joined, SlotState::Failing)) {
        mine.fault = fault;
        mine.state.store(SlotState::Failed);
    }
    header().phase.wake();
    futexWakeAll(header().joined);
    if (m_parent)
        m_parent->publishFault(fault);
}

Error SharedSegment::fail(const Fault& fault, const std::string& during) {
    publishFault(fault);
    return faultError(fault, during, m_options.deadline);
}

} // namespace trainyard::engine
