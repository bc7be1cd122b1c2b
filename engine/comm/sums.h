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

} // namespace trainyard::engine
