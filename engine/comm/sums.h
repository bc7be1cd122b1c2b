// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Element-wise sums, the same bits on every machine: an addition of fp32 or fp64 rounds once, and
// there is nothing a compiler may fuse or reorder. Bf16 and fp16 are added in fp32 and rounded
// at the end.
#pragma once

#include "engine/base/tensor_type.h"

#include <cstddef>
#include <span>

namespace trainyard::engine {

/// Each of `buffers` becomes the sum of all, added in their order: ((b0 + b1) + b2) ...
void sumInPlace(std::span<void* const> buffers, std::size_t count, DType type);

/// out = the sum of `addends`, added in their order. Nothing overlaps. At least two.
void sumTo(void* out, std::span<const void* const> addends, std::size_t count, DType type);

/// The same where `out` is one of the addends.
void sumOver(void* out, std::span<const void* const> addends, std::size_t count, DType type);

// A sum that goes on elsewhere: begun with the first addend, continued by whoever has the next ones
// and finished by the last. It is kept in the type that is added in, so it has the bits of sumTo.

/// Of `type`: what is added in while the sum goes on.
DType runningTypeOf(DType type);
/// `sum`, of the running type, becomes the first addend.
void beginSum(void* sum, const void* addend, std::size_t count, DType type);
/// Adds `addends`, any number, in their order.
void continueSum(void* sum, std::span<const void* const> addends, std::size_t count, DType type);
/// out = the sum, rounded to `type`. They do not overlap.
void finishSum(void* out, const void* sum, std::size_t count, DType type);

} // namespace trainyard::engine
