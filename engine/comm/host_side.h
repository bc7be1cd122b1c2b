// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// HostSide: what the ranks of one host share in a group that spans hosts: barriers, places of their
// data, and memory for data that lies elsewhere. A rank that is alone on its host has the same
// without anybody to wait for. Internal to engine/comm.
#pragma once

#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"
#include "engine/comm/private_memory.h"
#include "engine/comm/shared_segment.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace trainyard::engine {

class HostSide {
public:
    using Clock = SharedSegment::Clock;
    /// Of each rank's input and of the output.
    static constexpr std::size_t kAreaBytes = 4 * 1024 * 1024;

    /// `options`: of the ranks of this host. `segment`: joined by them; null for one alone.
    HostSide(const CommunicatorOptions& options, std::shared_ptr<SharedSegment> segment);

    const CommunicatorOptions& options() const { return m_options; }
    const std::shared_ptr<SharedSegment>& segment() const { return m_segment; }
    int ranks() const { return m_options.worldSize; }
    bool isLeader() const { return m_options.rank == 0; }

    Result<std::span<std::byte>> allocate(std::size_t bytes);
    /// As SharedSegment::barrier.
    Result<void> barrier(const CollectiveCall& call, bool compare, Clock::time_point end);

    /// Where the data lies for each rank of this host; empty where ranks cannot reach each other's.
    SharedSegment::Places find(void* data, std::size_t bytes) const;

    /// Pieces that are written before a barrier and read after it, of SharedSegment::kPieceBytes.
    std::byte* stageNext(int rank);
    std::byte* stagedNow(int rank);

    /// Takes the memory of the areas, at the first need, on all ranks of the host.
    Result<void> openAreas();
    /// Each rank writes its own, the leader reads all.
    std::byte* input(int rank) { return m_areas + kAreaBytes * static_cast<std::size_t>(rank); }
    std::byte* output() { return input(ranks()); }

    /// This rank waits for one on another host; null: no more.
    void awaitElsewhere(const Fault* awaited);
    void leave();

private:
    const CommunicatorOptions m_options;
    const std::shared_ptr<SharedSegment> m_segment;
    PrivateMemory m_memory; ///< of one alone
    std::vector<std::byte> m_pieces;
    std::size_t m_phase = 0;
    std::byte* m_areas = nullptr;
};

} // namespace trainyard::engine
