// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How points lie in a chunk. Little-endian:
//   u8 version 1 | u8 step form | u8 value form | u8 0 | u32 n | steps | values
//   step form   0 stride: i64 first, i64 stride        1 offset: i64 lowest, u32[n]       2 whole:
//   i64[n] value form  0 constant: f64   1 single: f32[n]     2 offset: i64 lowest, u32[n]       3
//   whole: f64[n]
// The smallest form that gives every bit back is taken, so a loss computed in fp32 at a constant
// stride costs 4 bytes a point, a learning rate that stays costs nothing, and 1e-320 or a NaN comes
// back as it was.
#pragma once

#include "app/store/points.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace trainyard::app {

/// What is known of a chunk without decoding it.
struct ChunkHead {
    std::int64_t lowestStep = 0;
    std::int64_t highestStep = 0;
    double lo = 0; ///< lowest finite value; NaN when there is none
    double hi = 0;
    std::int64_t notFinite = 0; ///< how many NaN and infinities
};

/// Both of the same length, at least 1.
ChunkHead headOf(std::span<const std::int64_t> steps, std::span<const double> values);
std::string encodeChunk(std::span<const std::int64_t> steps, std::span<const double> values);

/// Appends the points of `chunk` to `points`. False, and nothing appended, when the bytes are
/// damaged.
[[nodiscard]] bool decodeChunk(std::string_view chunk, Points& points);

} // namespace trainyard::app
