// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of a large matrix with thin ones, for PowerSGD. Matrices are row-major; a thin one lies
// as `rank` rows, so {rank, rows} on the left side and {rank, columns} on the right. Sums have an
// order that depends neither on the number of threads nor on the machine: ranks that compute the
// same get the same bits. Real: float or double.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard::engine {

/// Sizes of a matrix and of the thin ones beside it.
struct ThinShape {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t rank = 0;
};

/// matrix += addend, then left = (matrix right')'.
template <class Real>
void addAndProjectRows(const ThinShape& shape, Real* matrix, const Real* addend, const Real* right,
                       Real* left);
/// right = left matrix.
template <class Real>
void projectColumns(const ThinShape& shape, const Real* matrix, const Real* left, Real* right);
/// rest = matrix - left' right.
template <class Real>
void subtractProduct(const ThinShape& shape, const Real* matrix, const Real* left,
                     const Real* right, Real* rest);
/// matrix = left' right.
template <class Real>
void multiply(const ThinShape& shape, const Real* left, const Real* right, Real* matrix);

/// Makes vector `number` of those of `length` that lie one after the other orthogonal to the ones
/// before it, which are orthonormal or zero, and of length one. False: nothing is left of it; it is
/// zero then. What is not finite stays so. Gram-Schmidt, repeated while much is taken away (Daniel,
/// Gragg, Kaufman, Stewart, 1976), in fp64.
template <class Real>
bool orthonormalize(Real* vectors, std::int64_t number, std::int64_t length);

} // namespace trainyard::engine
