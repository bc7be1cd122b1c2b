// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// float16: IEEE 754 binary16, 1 bit sign, 5 exponent, 10 fraction: three digits from 6e-8 to 65504.
// Gradients may travel in it; arithmetic is done in fp32. Written without branches, so that loops
// over arrays use vectors on machines with and without instructions for it, with the same bits.
#pragma once

#include <bit>
#include <cstdint>

namespace trainyard {

struct Fp16 {
    std::uint16_t bits = 0;
    bool operator==(const Fp16&) const = default;
};

/// `yes` or `no` without a branch, which a compiler would make of a choice between sums of fp32.
[[gnu::always_inline]] inline std::uint32_t chosen(bool first, std::uint32_t yes,
                                                   std::uint32_t no) {
    const std::uint32_t mask = 0u - static_cast<std::uint32_t>(first);
    return (yes & mask) | (no & ~mask);
}

/// Exact.
[[gnu::always_inline]] inline float widened(Fp16 value) {
    constexpr std::uint32_t kBias = (127 - 15) << 23;
    constexpr std::uint32_t kSmallestNormal = std::uint32_t{0x0400} << 13;
    constexpr std::uint32_t kInfinity = std::uint32_t{0x7c00} << 13;
    const std::uint32_t magnitude = std::uint32_t{value.bits & 0x7fffu} << 13;
    const std::uint32_t normal = magnitude + kBias;
    const std::uint32_t special = magnitude + 2 * kBias;
    // A subnormal one is a fraction without a leading one: made a number with one, less that.
    const float leading = std::bit_cast<float>(kBias + (1u << 23));
    const auto subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(normal + (1u << 23)) - leading);
    std::uint32_t bits = chosen(magnitude >= kInfinity, special, normal);
    bits = chosen(magnitude < kSmallestNormal, subnormal, bits);
    return std::bit_cast<float>(bits | std::uint32_t{value.bits & 0x8000u} << 16);
}

/// To the nearest, ties to even; infinite from 65520 on; a NaN stays a NaN.
[[gnu::always_inline]] inline Fp16 narrowedToFp16(float value) {
    constexpr std::uint32_t kInfinity = 0x7f800000;
    constexpr std::uint32_t kTooLarge = (127 + 16) << 23;
    constexpr std::uint32_t kSmallestNormal = (127 - 14) << 23;
    const auto all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = all & 0x7fffffff;
    // Below the smallest normal one all have the same last bit: added to a number whose last bit
    // that is, they are rounded to it.
    const float half = std::bit_cast<float>(std::uint32_t{126} << 23);
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + half) -
        std::bit_cast<std::uint32_t>(half);
    const std::uint32_t odd = (magnitude >> 13) & 1;
    const std::uint32_t normal = (magnitude - (std::uint32_t{127 - 15} << 23) + 0xfff + odd) >> 13;
    const std::uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    std::uint32_t bits = chosen(magnitude < kSmallestNormal, subnormal, normal);
    bits = chosen(magnitude >= kTooLarge, 0x7c00, bits);
    bits = chosen(magnitude > kInfinity, nan, bits);
    return {static_cast<std::uint16_t>(bits | ((all >> 16) & 0x8000))};
}

/// Arrays that do not overlap, on the calling thread.
void widen(const Fp16* from, float* to, std::int64_t count);
void narrow(const float* from, Fp16* to, std::int64_t count);

} // namespace trainyard
