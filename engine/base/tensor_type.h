// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Element types, shapes and memory layouts: the words graph, plan and kernels share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Fp16: on the way between ranks only, nothing computes in it.
enum class DType : std::uint8_t { Fp64, Fp32, Int32, Bf16, Fp16 };

std::size_t bytesOf(DType type);
std::string_view name(DType type);
/// The type of all that must keep its digits where values are of `type`: parameters, their
/// gradients, optimizer state, saved statistics, targets. Fp32 for Bf16, else the same.
DType exactType(DType type);

/// Extents, outermost first. Shapes of graph values leave out the batch; `rows` is added where
/// memory is planned. Pictures are {channels, height, width}.
using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a scalar. Saturates at the largest int64 instead of overflowing.
std::int64_t elementCount(const Shape& shape);
/// "64 × 28 × 28"
std::string describe(const Shape& shape);

/// How a value {C, H, W} lies in memory for each row. Blocked16 is oneDNN's nChw16c: channels
/// rounded up to 16, padding is zero. ChannelsLast is {H, W, C}. Everything that is not a picture
/// is Plain (row-major).
enum class Layout : std::uint8_t { Plain, Blocked16, ChannelsLast };

/// Elements a row of this shape takes in this layout, padding included.
std::int64_t storedElements(const Shape& shape, Layout layout);

} // namespace trainyard
