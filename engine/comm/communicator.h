// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Communicator: collectives between the ranks of one process group. Implementations: shared memory
// inside a host (comm/shm), Gloo over TCP (comm/gloo); later NCCL. Rules for all of them:
// - every rank calls the same collectives in the same order with the same tag, size and type; a
//   mismatch is an error that names both, never silent garbage or a hang;
// - a sum is added in rank order in the element type: bit-equal on all ranks and in all runs;
// - every wait ends: by deadline, by the status page's abort, or because a rank is found dead;
// - one thread at a time.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace trainyard::engine {

class StatusPage;

class Communicator {
public:
    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int worldSize() const = 0;

    /// Zeroed memory for buffers that will be reduced; a reduction inside it needs no copy where
    /// the transport allows that. All ranks ask for the same sizes in the same order before the
    /// first collective. Lives as long as the communicator. 64-byte aligned.
    virtual Result<std::span<std::byte>> allocateReducible(std::size_t bytes) = 0;

    /// In place; afterwards each rank holds the sum over all ranks. Fp64, Fp32.
    virtual Result<void> allReduceSum(void* data, std::size_t count, DType type,
                                      std::uint32_t tag) = 0;
    /// In place, for `count` that the world size divides: slice r (of world size equal ones) of
    /// rank r becomes the sum over all ranks; the other slices may hold anything.
    virtual Result<void> reduceScatterSum(void* data, std::size_t count, DType type,
                                          std::uint32_t tag);
    /// Slice r of rank r on every rank; `bytes` is a multiple of the world size.
    virtual Result<void> allGather(void* data, std::size_t bytes, std::uint32_t tag);
    /// `root`'s bytes on every rank.
    virtual Result<void> broadcast(void* data, std::size_t bytes, int root, std::uint32_t tag) = 0;
    virtual Result<void> barrier(std::uint32_t tag) = 0;

    /// Seconds this rank has spent in collectives so far.
    virtual double secondsInside() const = 0;
};

struct CommunicatorOptions {
    int rank = 0;
    int worldSize = 1;
    /// Longest wait of one collective for the other ranks.
    std::chrono::milliseconds deadline{60000};
    /// For early ends of waits; may be null.
    const StatusPage* status = nullptr;
};

/// A group of one: every collective is a no-op.
std::unique_ptr<Communicator> makeSingleCommunicator();

/// `segmentFd`: a memfd shared by the ranks, empty or already sized. Not closed. All ranks must
/// join within the deadline. Spins briefly, then sleeps on a futex.
Result<std::unique_ptr<Communicator>>
makeSharedMemoryCommunicator(const CommunicatorOptions& options, int segmentFd);

/// Ranks meet through files in `rendezvousFolder` (on one host, or shared); `address` is the local
/// address to listen on, e.g. "127.0.0.1".
Result<std::unique_ptr<Communicator>> makeGlooCommunicator(const CommunicatorOptions& options,
                                                           const std::string& rendezvousFolder,
                                                           const std::string& address);

} // namespace trainyard::engine
