// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions that loops over fp32 values are vectorised with: no table, no call, no branch, so the
// same bits whatever the instruction set (no fused multiply-adds) and wherever an element stands.
#pragma once

#include <bit>
#include <cstdint>

namespace trainyard::engine::cpu {

/// exp(x) for x <= 0, about one unit in the last place; NaN stays NaN. As in Cephes' expf (S. L.
/// Moshier, "Methods and programs for mathematical functions", 1989): x = n log 2 + r, |r| <= log 2
/// / 2, exp(x) = 2^n (1 + r + r^2 P(r)).
[[gnu::always_inline]] inline float exponential(float x) {
    // Adding and subtracting 1.5 * 2^23 rounds to a whole number, which is left in the lowest bits.
    constexpr float kRound = 12582912.0F;
    const float clamped = x > -87.0F ? x : -87.0F; // exp(-87) is not yet subnormal
    const float shifted = clamped * 1.44269504088896341F + kRound;
    const float n = shifted - kRound;
    const float r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    const float mantissa = p * (r * r) + r + 1.0F;
    const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23;
    const float value = mantissa * std::bit_cast<float>(exponent);
    const float cut = x > -87.0F ? value : 0.0F;
    return x == x ? cut : x;
}

/// exp(x) for any x: infinite above 88.7, 0 below -87.
[[gnu::always_inline]] inline float exponentialOfAny(float x) {
    // exp(x) = exp(x / 2)² keeps the exponent in range on both sides.
    const float half = exponential(x < 0 ? x : -x);
    const float value = x < 0 ? half : 1.0F / half;
    return x == x ? value : x;
}

/// 1 / (1 + exp(-x))
[[gnu::always_inline]] inline float logistic(float x) {
    const float e = exponential(x < 0 ? x : -x);
    const float small = e / (1.0F + e);
    return x < 0 ? small : 1.0F - small;
}

} // namespace trainyard::engine::cpu
