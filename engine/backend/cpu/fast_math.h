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

/// 1 / (1 + exp(-x))
[[gnu::always_inline]] inline float logistic(float x) {
    const float e = exponential(x < 0 ? x : -x);
    const float small = e / (1.0F + e);
    return x < 0 ? small : 1.0F - small;
}

/// Relative error below 2e-7. Small x: the odd polynomial, because 1 - exp would lose its digits.
[[gnu::always_inline]] inline float hyperbolicTangent(float x) {
    const float size = x < 0 ? -x : x;
    const float e = exponential(-2 * size);
    const float large = (1 - e) / (1 + e);
    // As in Cephes' tanhf (S. L. Moshier): x + x³ P(x²) for |x| < 0.625.
    const float z = x * x;
    float p = -5.70498872745e-3F;
    p = p * z + 2.06390887954e-2F;
    p = p * z - 5.37397155531e-2F;
    p = p * z + 1.33314422036e-1F;
    p = p * z - 3.33332819422e-1F;
    const float small = x + x * (z * p);
    const float value = size < 0.625F ? small : (x < 0 ? -large : large);
    return x == x ? value : x;
}

struct Normal {
    float below;   ///< the distribution function, relative error below 5e-7 to |x| = 4, 2e-6 beyond
    float density; ///< its slope
};

/// The standard normal distribution at x, both from one exponential: for z >= 0, erfc(z) = exp(-z²)
/// t P(t) with t = 1 / (1 + 0.44 z), the form of Abramowitz and Stegun, "Handbook of mathematical
/// functions", 7.1.26, with more terms: fitted for the smallest relative error on z from 0 to 10.
[[gnu::always_inline]] inline Normal normalAt(float x) {
    constexpr float kInverseRoot2 = 0.70710678118654752F;
    constexpr float kInverseRoot2Pi = 0.39894228040143268F;
    const float e = exponential(x * x * -0.5F);
    const float z = (x < 0 ? -x : x) * kInverseRoot2;
    const float t = 1.0F / (1.0F + 0.44F * z);
    float p = 7.122317441e-02F;
    p = p * t - 2.779467784e-01F;
    p = p * t + 2.966853320e-01F;
    p = p * t - 2.017869276e-02F;
    p = p * t + 2.158111980e-01F;
    p = p * t + 2.173138589e-01F;
    p = p * t + 2.488711330e-01F;
    p = p * t + 2.482209565e-01F;
    const float tail = 0.5F * e * (p * t);
    return {x < 0 ? tail : 1.0F - tail, kInverseRoot2Pi * e};
}

} // namespace trainyard::engine::cpu
