// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/low_rank_math.h"

#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace trainyard::engine {

namespace {

/// Partial sums of a dot product: a fixed number, as wide as the widest vectors.
constexpr std::int64_t kLanes = 16;
/// Of the right factor that a pass over all rows adds to: it stays in the cache.
constexpr std::int64_t kBlockColumns = 1024;
/// Products of fewer elements stay on the calling thread.
constexpr std::int64_t kParallelElements = 1 << 15;

// No compiler may fuse the products with the sums: see this file's options.

template <class Real, class Sum>
[[gnu::always_inline]] inline Sum dotOf(const Real* a, const Real* b, std::int64_t count) {
    std::array<Sum, kLanes> sums{};
    const std::int64_t whole = count / kLanes * kLanes;
    for (std::int64_t i = 0; i < whole; i += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane)
            sums[static_cast<std::size_t>(lane)] +=
                static_cast<Sum>(a[i + lane]) * static_cast<Sum>(b[i + lane]);
    for (std::int64_t i = whole; i < count; ++i)
        sums[static_cast<std::size_t>(i - whole)] +=
            static_cast<Sum>(a[i]) * static_cast<Sum>(b[i]);
    for (std::size_t width = kLanes / 2; width > 0; width /= 2)
        for (std::size_t lane = 0; lane < width; ++lane)
            sums[lane] += sums[lane + width];
    return sums[0];
}

TRAINYARD_MULTIVERSION
float dot(const float* a, const float* b, std::int64_t count) {
    return dotOf<float, float>(a, b, count);
}

TRAINYARD_MULTIVERSION
double dot(const double* a, const double* b, std::int64_t count) {
    return dotOf<double, double>(a, b, count);
}

TRAINYARD_MULTIVERSION
double exactDot(const float* a, const float* b, std::int64_t count) {
    return dotOf<float, double>(a, b, count);
}

double exactDot(const double* a, const double* b, std::int64_t count) {
    return dot(a, b, count);
}

TRAINYARD_MULTIVERSION
void addScaled(float factor, const float* __restrict from, float* __restrict to,
               std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] += factor * from[i];
}

TRAINYARD_MULTIVERSION
void addScaled(double factor, const double* __restrict from, double* __restrict to,
               std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] += factor * from[i];
}

TRAINYARD_MULTIVERSION
void addScaledExactly(double factor, const float* __restrict from, float* __restrict to,
                      std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = static_cast<float>(to[i] + factor * from[i]);
}

void addScaledExactly(double factor, const double* from, double* to, std::int64_t count) {
    addScaled(factor, from, to, count);
}

/// Calls f(first, last) for ranges of rows, spread over the threads.
template <class Function>
void forRows(const ThinShape& shape, const Function& f) {
    const std::int64_t grain = kParallelElements / std::max<std::int64_t>(1, shape.columns);
    parallelFor(shape.rows, grain, 1, f);
}

/// to += a row of left' right.
template <class Real>
void addRow(const ThinShape& shape, std::int64_t row, Real sign, const Real* left,
            const Real* right, Real* to) {
    for (std::int64_t k = 0; k < shape.rank; ++k)
        addScaled(sign * left[k * shape.rows + row], right + k * shape.columns, to, shape.columns);
}

/// Some columns of `right`.
template <class Real>
void projectBlock(const ThinShape& shape, std::int64_t first, std::int64_t count,
                  const Real* matrix, const Real* left, Real* right) {
    for (std::int64_t k = 0; k < shape.rank; ++k)
        std::fill_n(right + k * shape.columns + first, count, Real{0});
    for (std::int64_t row = 0; row < shape.rows; ++row)
        for (std::int64_t k = 0; k < shape.rank; ++k)
            addScaled(left[k * shape.rows + row], matrix + row * shape.columns + first,
                      right + k * shape.columns + first, count);
}

template <class Real>
double lengthOf(const Real* vector, std::int64_t length) {
    return std::sqrt(exactDot(vector, vector, length));
}

} // namespace

template <class Real>
void addAndProjectRows(const ThinShape& shape, Real* matrix, const Real* addend, const Real* right,
                       Real* left) {
    forRows(shape, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            Real* const values = matrix + row * shape.columns;
            addScaled(Real{1}, addend + row * shape.columns, values, shape.columns);
            for (std::int64_t k = 0; k < shape.rank; ++k)
                left[k * shape.rows + row] = dot(values, right + k * shape.columns, shape.columns);
        }
    });
}

template <class Real>
void projectColumns(const ThinShape& shape, const Real* matrix, const Real* left, Real* right) {
    const std::int64_t grain = kParallelElements / std::max<std::int64_t>(1, shape.rows);
    parallelFor(shape.columns, grain, kLanes, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t block = first; block < last; block += kBlockColumns)
            projectBlock(shape, block, std::min(kBlockColumns, last - block), matrix, left, right);
    });
}

template <class Real>
void subtractProduct(const ThinShape& shape, const Real* matrix, const Real* left,
                     const Real* right, Real* rest) {
    forRows(shape, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            Real* const values = rest + row * shape.columns;
            std::copy_n(matrix + row * shape.columns, shape.columns, values);
            addRow(shape, row, Real{-1}, left, right, values);
        }
    });
}

template <class Real>
void multiply(const ThinShape& shape, const Real* left, const Real* right, Real* matrix) {
    forRows(shape, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            Real* const values = matrix + row * shape.columns;
            std::fill_n(values, shape.columns, Real{0});
            addRow(shape, row, Real{1}, left, right, values);
        }
    });
}

template <class Real>
bool orthonormalize(Real* vectors, std::int64_t number, std::int64_t length) {
    // Twice is enough for what is not in the others' span; of what is, chance decides what is left.
    constexpr int kMostPasses = 4;
    Real* const own = vectors + number * length;
    double before = lengthOf(own, length);
    for (int pass = 0; pass < kMostPasses && before != 0; ++pass) {
        for (std::int64_t other = 0; other < number; ++other) {
            const Real* const axis = vectors + other * length;
            addScaledExactly(-exactDot(axis, own, length), axis, own, length);
        }
        const double after = lengthOf(own, length);
        if (!(after < before / 2)) { // likewise what is no number
            for (std::int64_t i = 0; i < length; ++i)
                own[i] = static_cast<Real>(own[i] / after);
            return true;
        }
        before = after;
    }
    std::fill_n(own, length, Real{0});
    return false;
}

template void addAndProjectRows(const ThinShape&, float*, const float*, const float*, float*);
template void addAndProjectRows(const ThinShape&, double*, const double*, const double*, double*);
template void projectColumns(const ThinShape&, const float*, const float*, float*);
template void projectColumns(const ThinShape&, const double*, const double*, double*);
template void subtractProduct(const ThinShape&, const float*, const float*, const float*, float*);
template void subtractProduct(const ThinShape&, const double*, const double*, const double*,
                              double*);
template void multiply(const ThinShape&, const float*, const float*, float*);
template void multiply(const ThinShape&, const double*, const double*, double*);
template bool orthonormalize(float*, std::int64_t, std::int64_t);
template bool orthonormalize(double*, std::int64_t, std::int64_t);

} // namespace trainyard::engine
