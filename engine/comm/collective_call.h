// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// CollectiveCall: what a rank calls, compared between the ranks before any data moves; and Fault:
// what can end a collective early. The sentences are the same for all transports.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"

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
    AllGather = 6
};

/// Travels between processes of one build as it lies in memory.
struct CollectiveCall {
    CollectiveKind kind = CollectiveKind::Barrier;
    std::uint32_t tag = 0;
    DType type = DType::Fp32; ///< of sums only
    std::int32_t root = 0;    ///< broadcast only
    std::uint64_t count = 0;  ///< sums: elements; else bytes
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

/// `hash` continued with one more size.
std::uint64_t mixMemoryHash(std::uint64_t hash, std::uint64_t bytes);

Error callsDiffer(int rank, const CollectiveCall& call, int otherRank, const CollectiveCall& other);

enum class FaultKind : std::uint32_t {
    NeverJoined, ///< the culprit did not come to the start of the group in time
    Died,        ///< the culprit's process is gone
    Stopped,     ///< the culprit did not come in time: its process is stopped by a signal
    Missing,     ///< the culprit did not come in time
    Left,        ///< the culprit has ended its part while the others go on
    Aborted,     ///< the status page says so; no culprit
    Differs      ///< the ranks are not at the same collective
};

/// `during`: what this rank was doing, e.g. CollectiveCall::text().
Error faultError(FaultKind kind, int culprit, std::int64_t pid, const std::string& during,
                 std::chrono::milliseconds deadline);

} // namespace trainyard::engine
