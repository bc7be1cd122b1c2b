// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products for the kernels that multiply. They are made in one source, for both types and
// all transpositions, because Eigen takes longer to compile than all the kernels. T is double or
// float.
#pragma once

#include <cstdint>
#include <type_traits>

namespace trainyard::engine::reference {

/// A row-major matrix in somebody's memory, its rows `stride` elements apart.
template <class T>
struct Matrix {
    T* data;
    std::int64_t rows, columns;
    std::int64_t stride;

    Matrix(T* data_, std::int64_t rows_, std::int64_t columns_)
        : Matrix(data_, rows_, columns_, columns_) {}
    Matrix(T* data_, std::int64_t rows_, std::int64_t columns_, std::int64_t stride_)
        : data(data_), rows(rows_), columns(columns_), stride(stride_) {}

    T* row(std::int64_t index) const { return data + index * stride; }
};

/// What is multiplied: a matrix as it is, or transposed.
template <class T>
struct Factor {
    Matrix<const T> matrix;
    bool isTransposed = false;

    Factor(const Matrix<const T>& m) : matrix(m) {}
    Factor(const Matrix<T>& m) : matrix(m.data, m.rows, m.columns, m.stride) {}

    std::int64_t rows() const { return isTransposed ? matrix.columns : matrix.rows; }
    std::int64_t columns() const { return isTransposed ? matrix.rows : matrix.columns; }
};

template <class T>
Factor<std::remove_const_t<T>> transposed(const Matrix<T>& matrix) {
    Factor<std::remove_const_t<T>> factor(matrix);
    factor.isTransposed = true;
    return factor;
}

/// target = a b
template <class T>
void assignProduct(const Matrix<T>& target, const std::type_identity_t<Factor<T>>& a,
                   const std::type_identity_t<Factor<T>>& b);
/// target += a b
template <class T>
void addProduct(const Matrix<T>& target, const std::type_identity_t<Factor<T>>& a,
                const std::type_identity_t<Factor<T>>& b);

} // namespace trainyard::engine::reference
