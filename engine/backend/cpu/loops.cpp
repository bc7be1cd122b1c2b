// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/cpu/loops.h"

#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <cstring>

namespace trainyard::engine::cpu {

namespace {

constexpr std::int64_t kBlock = 16; ///< channels of a block in Layout::Blocked16

TRAINYARD_MULTIVERSION
void addRange(const float* __restrict from, float* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] += from[i];
}

TRAINYARD_MULTIVERSION
void addRange(const Bf16* __restrict from, Bf16* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = narrowed(widened(to[i]) + widened(from[i]));
}

struct Columns {
    std::int64_t rows, width; ///< of the matrix
    std::int64_t first, last; ///< columns to add up
};

template <class T>
[[gnu::always_inline]] inline void columnsLoop(const T* __restrict matrix, const Columns& c,
                                               float* __restrict sum) {
    for (std::int64_t row = 0; row < c.rows; ++row)
        for (std::int64_t i = c.first; i < c.last; ++i)
            sum[i] += load(matrix[row * c.width + i]);
}

TRAINYARD_MULTIVERSION
void addColumns(const float* matrix, const Columns& c, float* sum) {
    columnsLoop(matrix, c, sum);
}

TRAINYARD_MULTIVERSION
void addColumns(const Bf16* matrix, const Columns& c, float* sum) {
    columnsLoop(matrix, c, sum);
}

template <class T>
void copyAny(const T* from, T* to, std::int64_t count, bool add) {
    if (from == to && !add)
        return;
    parallelFor(count, kGrain, kLine, [&](std::int64_t first, std::int64_t last) {
        if (add)
            addRange(from + first, to + first, last - first);
        else
            std::memcpy(to + first, from + first,
                        static_cast<std::size_t>(last - first) * sizeof(T));
    });
}

template <class T>
void sumAnyRows(const T* matrix, std::int64_t rows, std::int64_t columns, float* sum, bool add) {
    if (!add)
        std::fill_n(sum, columns, 0.0F);
    parallelFor(columns, rows * columns < kGrain ? columns + 1 : 0, kLine,
                [&](std::int64_t first, std::int64_t last) {
                    addColumns(matrix, {rows, columns, first, last}, sum);
                });
}

/// One block of one row: 16 planes side by side on one hand, interleaved on the other.
struct BlockSizes {
    std::int64_t plane;    ///< H * W
    std::int64_t channels; ///< that are real in this block, 1 .. 16
};

TRAINYARD_MULTIVERSION
void unpackBlock(const float* __restrict blocked, float* __restrict plain, BlockSizes sizes,
                 bool add) {
    for (std::int64_t c = 0; c < sizes.channels; ++c)
        for (std::int64_t i = 0; i < sizes.plane; ++i) {
            const float value = blocked[i * kBlock + c];
            float& to = plain[c * sizes.plane + i];
            to = add ? to + value : value;
        }
}

TRAINYARD_MULTIVERSION
void packBlock(const float* __restrict plain, float* __restrict blocked, BlockSizes sizes,
               bool add) {
    for (std::int64_t i = 0; i < sizes.plane; ++i) {
        float* to = blocked + i * kBlock;
        for (std::int64_t c = 0; c < sizes.channels; ++c) {
            const float value = plain[c * sizes.plane + i];
            to[c] = add ? to[c] + value : value;
        }
        for (std::int64_t c = sizes.channels; c < kBlock; ++c)
            to[c] = 0;
    }
}

/// Calls f(plain offset, blocked offset, sizes) for all blocks of all rows.
template <class Function>
void forEachBlock(std::int64_t rows, const Shape& shape, const Function& f) {
    const std::int64_t channels = shape[0];
    const std::int64_t plane = shape[1] * shape[2];
    const std::int64_t blocks = (channels + kBlock - 1) / kBlock;
    const std::int64_t work = rows * blocks * plane * kBlock;
    parallelFor(rows * blocks, work < kGrain ? rows * blocks + 1 : 0, 1,
                [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t i = first; i < last; ++i) {
                        const std::int64_t row = i / blocks, block = i % blocks;
                        const std::int64_t real = std::min(kBlock, channels - block * kBlock);
                        f((row * channels + block * kBlock) * plane, i * plane * kBlock,
                          BlockSizes{plane, real});
                    }
                });
}

} // namespace

void copy(const float* from, float* to, std::int64_t count, bool add) {
    copyAny(from, to, count, add);
}

void copy(const Bf16* from, Bf16* to, std::int64_t count, bool add) {
    copyAny(from, to, count, add);
}

void addToRows(float* matrix, const float* row, std::int64_t rows, std::int64_t columns) {
    parallelFor(rows, rows * columns < kGrain ? rows + 1 : 0, 1,
                [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t i = first; i < last; ++i)
                        addRange(row, matrix + i * columns, columns);
                });
}

void sumOfRows(const float* matrix, std::int64_t rows, std::int64_t columns, float* sum, bool add) {
    sumAnyRows(matrix, rows, columns, sum, add);
}

void sumOfRows(const Bf16* matrix, std::int64_t rows, std::int64_t columns, float* sum, bool add) {
    sumAnyRows(matrix, rows, columns, sum, add);
}

void blockedToPlain(const float* blocked, float* plain, std::int64_t rows, const Shape& shape,
                    bool add) {
    forEachBlock(rows, shape, [&](std::int64_t at, std::int64_t blockedAt, BlockSizes sizes) {
        unpackBlock(blocked + blockedAt, plain + at, sizes, add);
    });
}

void plainToBlocked(const float* plain, float* blocked, std::int64_t rows, const Shape& shape,
                    bool add) {
    forEachBlock(rows, shape, [&](std::int64_t at, std::int64_t blockedAt, BlockSizes sizes) {
        packBlock(plain + at, blocked + blockedAt, sizes, add);
    });
}

void clearPadding(const Operand& picture, std::int64_t rows) {
    if (picture.layout != Layout::Blocked16 || picture.shape[0] % kBlock == 0)
        return;
    const std::int64_t plane = picture.shape[1] * picture.shape[2];
    const std::int64_t stored = (picture.shape[0] + kBlock - 1) / kBlock * kBlock * plane;
    const std::int64_t real = picture.shape[0] % kBlock;
    for (std::int64_t row = 0; row < rows; ++row) {
        float* block = static_cast<float*>(picture.data) + (row + 1) * stored - plane * kBlock;
        for (std::int64_t i = 0; i < plane; ++i)
            std::fill(block + i * kBlock + real, block + (i + 1) * kBlock, 0.0F);
    }
}

} // namespace trainyard::engine::cpu
