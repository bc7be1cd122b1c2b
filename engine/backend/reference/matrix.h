// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands as matrices, for the kernels that multiply. Apart from kernels.h because Eigen's headers
// take longer to compile than most kernels.
#pragma once

#include <Eigen/Core>

#include <type_traits>

namespace trainyard::engine::reference {

template <class T>
using Matrix = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
template <class T>
using ConstMatrix =
    Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
/// A Matrix or a ConstMatrix.
template <class T>
using MatrixOver = std::conditional_t<std::is_const_v<T>, ConstMatrix<std::remove_const_t<T>>,
                                      Matrix<std::remove_const_t<T>>>;
template <class T>
using RowVector = Eigen::Map<Eigen::Matrix<T, 1, Eigen::Dynamic>>;
template <class T>
using ColumnVector = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>;

} // namespace trainyard::engine::reference
