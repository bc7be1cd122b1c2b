// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Communicator: collectives and messages between the ranks of one process group. Implementations:
// shared memory inside a host, Gloo over TCP, both for ranks on several hosts; later NCCL. Rules
// for all of them:
// - every rank calls the same collectives in the same order with the same tag, size and type; a
//   mismatch is an error that names both, never silent garbage or a hang;
// - a sum is added in rank order, in the element type or, for bf16 and fp16, in fp32 and rounded at
//   the end: bit-equal on all ranks, in all runs and over all transports;
// - every wait ends: by deadline, by the status page's abort, or because a rank is found dead;
// - the first error is the last word: every later call returns it, too;
// - one thread at a time; a group split off is another communicator and may have another thread.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainyard::engine {

class StatusPage;

/// One direction between two ranks: messages of at most `bytes`, of which `depth` may be on their
/// way (over TCP up to as many more, which have left the sender's memory but not its process).
struct Channel {
    int from = 0;
    int to = 0;
    std::size_t bytes = 0;
    int depth = 1;
};

class Communicator {
public:
    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int worldSize() const = 0;

    /// Zeroed memory for buffers that will be reduced; a reduction inside it needs no copy where
    /// the transport allows that. All ranks ask for the same sizes in the same order, between the
    /// same collectives. Lives as long as the communicator. 64-byte aligned.
    virtual Result<std::span<std::byte>> allocateReducible(std::size_t bytes) = 0;

    /// In place; afterwards each rank holds the sum over all ranks. Fp64, Fp32, Bf16, Fp16.
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

    /// The communicator of this rank's group; of one alone where it is in none. Collective: all
    /// ranks pass the same `groups` (disjoint; ranks of this communicator in the order of their
    /// numbers in the group) and the same `name` (letters, another for each split). Groups do not
    /// wait for each other, have the same deadline and status page, and their sentences name ranks
    /// as this communicator's do. When a rank gives up in one group, waits for it in the others and
    /// in this communicator end, too, and name the cause. Groups may outlive this.
    virtual Result<std::unique_ptr<Communicator>> split(const std::vector<std::vector<int>>& groups,
                                                        std::string name) = 0;

    /// Collective, at most once and before the first message: all ranks pass the same list, at most
    /// one channel for each pair and direction.
    virtual Result<void> openChannels(std::span<const Channel> channels) = 0;
    /// Returns when the bytes are copied away; waits only while the channel's `depth` messages are
    /// not yet received.
    virtual Result<void> send(const void* data, std::size_t bytes, int to, std::uint32_t tag) = 0;
    /// The oldest message of `from`, which must have this size and tag: a difference is an error
    /// that names both, and `data` stays as it was.
    virtual Result<void> receive(void* data, std::size_t bytes, int from, std::uint32_t tag) = 0;

    /// Seconds this rank has spent in collectives and messages so far.
    virtual double secondsInside() const = 0;
};

struct CommunicatorOptions {
    int rank = 0;
    int worldSize = 1;
    /// Longest wait of one collective or message for the other ranks.
    std::chrono::milliseconds deadline{60000};
    /// For early ends of waits; may be null.
    const StatusPage* status = nullptr;
    /// What sentences call the ranks; empty: 0, 1, ... A group names the ranks of its world.
    std::vector<int> names = {};

    int nameOf(int number) const {
        return names.empty() || number < 0 ? number : names[static_cast<std::size_t>(number)];
    }
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

/// Shared memory inside a host, Gloo between hosts. `hosts`: where each rank is, any numbers.
/// `segmentFd`: as above, of the ranks of this host; not used by one alone there. Groups that are
/// split off, too, use what their ranks need: shared memory inside a host, Gloo where no two ranks
/// are on one host, both else. Where the ranks of a host do not follow each other, a sum in rank
/// order would go to and fro between hosts, so such a group uses Gloo between all its ranks.
/// A wait may end up to 1.5 s later than the deadline: who waits for a rank of another host first
/// learns for whom that one waits.
Result<std::unique_ptr<Communicator>> makeTwoLevelCommunicator(const CommunicatorOptions& options,
                                                               const std::vector<int>& hosts,
                                                               int segmentFd,
                                                               const std::string& rendezvousFolder,
                                                               const std::string& address);

} // namespace trainyard::engine
