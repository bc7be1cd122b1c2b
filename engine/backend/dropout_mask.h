// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Which elements a dropout keeps. Nothing is stored: forward and backward compute the mask anew
// from (seed, stream of the operation, step, row of the global batch, element in row-major order),
// so it is the same for every backend, layout, split of the batch and recompute. One draw serves
// four elements.
#pragma once

#include "engine/base/random.h"

#include <cmath>
#include <cstdint>

namespace trainyard::engine {

inline constexpr std::int64_t kDropoutGroup = 4; ///< elements one draw serves

/// Draws that a row of `elements` needs; the last one may be used in part.
inline std::int64_t dropoutGroups(std::int64_t elements) {
    return (elements + kDropoutGroup - 1) / kDropoutGroup;
}

/// An element is kept when the upper 24 bits of its word are at least this. 2^24 drops all.
inline std::uint32_t dropoutThreshold(double probability) {
    return static_cast<std::uint32_t>(std::lround(probability * 0x1p24));
}

inline bool dropoutKeeps(std::uint32_t word, std::uint32_t threshold) {
    return (word >> 8) >= threshold;
}

/// The four words of the `group`-th group of global row `row`.
inline Philox4 dropoutWords(std::uint64_t seed, std::uint32_t stream, std::int64_t step,
                            std::int64_t row, std::int64_t groupsPerRow, std::int64_t group) {
    return randomWords(seed, RandomStream::Dropout, stream, static_cast<std::uint64_t>(step),
                       static_cast<std::uint64_t>(row * groupsPerRow + group));
}

} // namespace trainyard::engine
