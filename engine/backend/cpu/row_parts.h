// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums and maxima of a row, in lanes that registers hold side by side: one after the other each
// element would wait for the one before. The order is the same for every instruction set.
//
// Loops over lanes stand behind "#pragma GCC unroll 1": written out by the compiler they would no
// longer be a loop, and it would vectorise the one around them, with shuffles that cost more than
// the sums.
#pragma once

#include "engine/backend/cpu/loops.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace trainyard::engine::cpu {

inline constexpr std::int64_t kLanes = 16;
using Lanes = std::array<float, kLanes>;

/// In fp64, as a tree.
[[gnu::always_inline]] inline double laneSum(const Lanes& lanes) {
    std::array<double, kLanes> sums{};
#pragma GCC unroll 1
    for (std::size_t l = 0; l < kLanes; ++l)
        sums[l] = static_cast<double>(lanes[l]);
    for (std::size_t l = 0; l < 8; ++l)
        sums[l] += sums[l + 8];
    for (std::size_t l = 0; l < 4; ++l)
        sums[l] += sums[l + 4];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

/// NaNs are passed over, but for one at the beginning.
template <class T>
[[gnu::always_inline]] inline float largestOf(const T* __restrict row, std::int64_t count) {
    Lanes lanes;
    lanes.fill(load(row[0]));
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l) {
            const float value = load(row[i + static_cast<std::int64_t>(l)]);
            lanes[l] = value > lanes[l] ? value : lanes[l];
        }
    float largest = lanes[0];
    for (const float lane : lanes)
        largest = lane > largest ? lane : largest;
    for (; i < count; ++i)
        largest = load(row[i]) > largest ? load(row[i]) : largest;
    return largest;
}

} // namespace trainyard::engine::cpu
