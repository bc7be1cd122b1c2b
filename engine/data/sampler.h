// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Which sample stands at which position of an epoch, and which rows of a batch a rank computes.
// Pure functions: the order depends on seed and epoch only, never on the number of ranks, so a
// resumed run or one on other ranks sees the same batches, and its cursor is one integer.
#pragma once

#include "engine/base/check.h"
#include "engine/base/random.h"

#include <algorithm>
#include <cstdint>

namespace trainyard::engine {

/// Sample at `position` of `epoch`; over all positions each of `count` samples comes exactly once.
inline std::int64_t sampleAt(std::uint64_t seed, std::int64_t epoch, std::int64_t position,
                             std::int64_t count) {
    return permuted(seed, RandomStream::Shuffle, static_cast<std::uint64_t>(epoch), position,
                    count);
}

/// Half-open range of rows.
struct RowRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
    bool operator==(const RowRange&) const = default;
};

/// Contiguous shares of a batch of `batchRows`: the first ranks take one row more where it does not
/// divide; a rank may get none. The shares of all ranks are the batch, in order.
inline RowRange rowsOfRank(std::int64_t batchRows, int rank, int worldSize) {
    TRAINYARD_CHECK_MSG(batchRows >= 0 && worldSize > 0 && rank >= 0 && rank < worldSize,
                        describePair(rank, worldSize));
    const std::int64_t share = batchRows / worldSize;
    const std::int64_t larger = batchRows % worldSize;
    const std::int64_t begin = rank * share + std::min<std::int64_t>(rank, larger);
    return {begin, begin + share + (rank < larger ? 1 : 0)};
}

} // namespace trainyard::engine
