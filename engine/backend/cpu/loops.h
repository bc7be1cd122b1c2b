// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Loops over plain arrays that several kernels use, spread over the threads of the caller's team.
// The results do not depend on the number of threads: sums run over rows in order, threads share
// columns.
#pragma once

#include "engine/backend/backend.h"
#include "engine/base/bfloat16.h"
#include "engine/base/tensor_type.h"

#include <cstdint>

namespace trainyard::engine::cpu {

/// Elements below which a loop stays on one thread: about two microseconds of work in the caches.
inline constexpr std::int64_t kGrain = 1 << 15;
/// Elements of a cache line.
inline constexpr std::int64_t kLine = 16;

/// A stored number, for loops over either type.
[[gnu::always_inline]] inline float load(float value) {
    return value;
}
[[gnu::always_inline]] inline float load(Bf16 value) {
    return widened(value);
}
[[gnu::always_inline]] inline void store(float& to, float value) {
    to = value;
}
[[gnu::always_inline]] inline void store(Bf16& to, float value) {
    to = narrowed(value);
}

/// to = from, or to += from. Nothing happens for to == from without `add`.
void copy(const float* from, float* to, std::int64_t count, bool add);
void copy(const Bf16* from, Bf16* to, std::int64_t count, bool add);

/// matrix {rows, columns} += row {columns} in each of its rows.
void addToRows(float* matrix, const float* row, std::int64_t rows, std::int64_t columns);

/// sum {columns} = sum over the rows of matrix {rows, columns}, or += it.
void sumOfRows(const float* matrix, std::int64_t rows, std::int64_t columns, float* sum, bool add);
void sumOfRows(const Bf16* matrix, std::int64_t rows, std::int64_t columns, float* sum, bool add);

/// Pictures {rows, C, H, W} from one layout into the other; channels that only fill a block are
/// zero. `shape`: {C, H, W}. `add`: to += from.
void blockedToPlain(const float* blocked, float* plain, std::int64_t rows, const Shape& shape,
                    bool add);
void plainToBlocked(const float* plain, float* blocked, std::int64_t rows, const Shape& shape,
                    bool add);

/// Zeroes the channels of a blocked picture that only fill its last block.
void clearPadding(const Operand& picture, std::int64_t rows);

} // namespace trainyard::engine::cpu
