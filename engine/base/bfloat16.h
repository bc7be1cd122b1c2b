// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// bfloat16: the upper half of an fp32 number. Values and their gradients may be stored in it;
// arithmetic is done in fp32.
#pragma once

#include <bit>
#include <cstdint>

namespace trainyard {

struct Bf16 {
    std::uint16_t bits = 0;
    bool operator==(const Bf16&) const = default;
};

[[gnu::always_inline]] inline float widened(Bf16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

/// To the nearest, ties to even; a NaN stays a NaN.
[[gnu::always_inline]] inline Bf16 narrowed(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const std::uint32_t quiet = (bits >> 16) | 0x40;
    // Compared as a number, not as a float: the loops over this are then vectorised.
    const bool isNumber = (bits & 0x7fffffff) <= 0x7f800000;
    return {static_cast<std::uint16_t>(isNumber ? rounded : quiet)};
}

/// Arrays that do not overlap, on the calling thread.
void widen(const Bf16* from, float* to, std::int64_t count);
void narrow(const float* from, Bf16* to, std::int64_t count);

} // namespace trainyard
