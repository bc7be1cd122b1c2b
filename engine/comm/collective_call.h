// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// CollectiveCall: what a rank calls, compared between the ranks before any data moves; and Fault:
// what can end a collective early. The sentences are the same for all transports.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace trainyard::engine {

enum class CollectiveKind : std::uint32_t {
    AllReduce = 1,
    Broadcast = 2,
    Barrier = 3,
    Leave = 4, ///< the last one: a rank ends its part
    ReduceScatter = 5,
    AllGather = 6,
    Split = 7,
    OpenChannels = 8
};

/// Travels between processes of one build as it lies in memory.
struct CollectiveCall {
    CollectiveKind kind = CollectiveKind::Barrier;
    std::uint32_t tag = 0;
    DType type = DType::Fp32; ///< of sums only
    std::int32_t root = 0;    ///< name of the rank, broadcast only
    std::uint64_t count = 0;  ///< sums: elements; groups; channels; else bytes
    /// Where the data lies in the reducible memory, kElsewhere outside it.
    std::uint64_t position = kElsewhere;
    /// Of the sizes of the reducible memory asked for so far.
    std::uint64_t memoryHash = 0;

    static constexpr std::uint64_t kElsewhere = ~std::uint64_t{0};

    std::size_t bytes() const;
    /// "all-reduce of 1,000 fp32 (tag 7)"
    std::string text() const;
    bool operator==(const CollectiveCall&) const = default;
};

/// `hash` continued with one more word.
std::uint64_t mixHash(std::uint64_t hash, std::uint64_t word);

/// `rank` and `otherRank` are names.
Error callsDiffer(int rank, const CollectiveCall& call, int otherRank, const CollectiveCall& other);

enum class FaultKind : std::uint32_t {
    NeverJoined, ///< the culprit did not come to the start of the group in time
    Died,        ///< the culprit's process is gone
    Stopped,     ///< the culprit did not come in time: its process is stopped by a signal
    Missing,     ///< the culprit did not come in time
    Left,        ///< the culprit has ended its part while the others go on
    Aborted,     ///< the status page says so; no culprit
    Differs,     ///< the ranks are not at the same collective
    Told         ///< the culprit has given up in a group over other hosts, and said why
};

/// May lie in memory that processes share.
struct Fault {
    FaultKind kind = FaultKind::Differs;
    std::int32_t culprit = -1; ///< name of the rank, -1 for none
    std::int64_t pid = 0;      ///< of the culprit's process
    /// What the culprit said, Told only; ends with a zero, cut where it is too long.
    std::array<char, 384> said = {};

    static Fault told(int culprit, std::int64_t pid, const std::string& said);
};

/// The culprit, a name, has ended its part and said why.
Error endedBy(int culprit, const std::string& said);
/// The error's sentence; of one of the above, what the culprit said.
std::string reasonOf(const Error& error);

/// `during`: what this rank was doing, e.g. CollectiveCall::text().
Error faultError(const Fault& fault, const std::string& during, std::chrono::milliseconds deadline);

/// What goes before the bytes of a message.
struct MessageHead {
    std::uint64_t bytes = 0;
    std::uint32_t tag = 0;

    /// "the transfer of 1,000 bytes from rank 0 to rank 1 (tag 7)"; the ranks are names.
    std::string text(int from, int to) const;
    bool operator==(const MessageHead&) const = default;
};

/// `from` and `to` are names.
Error messagesDiffer(int to, const MessageHead& expected, int from, const MessageHead& found);

} // namespace trainyard::engine
