// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/reference/product.h"

#include "engine/base/check.h"

#include <Eigen/Core>

namespace trainyard::engine::reference {

namespace {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Target = Eigen::Map<RowMajor<T>, 0, Eigen::OuterStride<>>;
template <class T>
using Source = Eigen::Map<const RowMajor<T>, 0, Eigen::OuterStride<>>;

template <class T>
Source<T> sourceOf(const Factor<T>& factor) {
    const Matrix<const T>& m = factor.matrix;
    return {m.data, m.rows, m.columns, Eigen::OuterStride<>(m.stride)};
}

template <class T, class A, class B>
void multiply(Target<T>& target, bool add, const A& a, const B& b) {
    if (!add)
        target.setZero();
    target.noalias() += a * b;
}

template <class T>
void product(const Matrix<T>& target, bool add, const Factor<T>& a, const Factor<T>& b) {
    TRAINYARD_CHECK(a.columns() == b.rows());
    TRAINYARD_CHECK(a.rows() == target.rows && b.columns() == target.columns);
    Target<T> to(target.data, target.rows, target.columns, Eigen::OuterStride<>(target.stride));
    const Source<T> left = sourceOf(a), right = sourceOf(b);
    TRAINYARD_CHECK(!a.isTransposed || !b.isTransposed); // no kernel needs it
    if (a.isTransposed)
        multiply(to, add, left.transpose(), right);
    else if (b.isTransposed)
        multiply(to, add, left, right.transpose());
    else
        multiply(to, add, left, right);
}

} // namespace

template <class T>
void assignProduct(const Matrix<T>& target, const std::type_identity_t<Factor<T>>& a,
                   const std::type_identity_t<Factor<T>>& b) {
    product(target, false, a, b);
}

template <class T>
void addProduct(const Matrix<T>& target, const std::type_identity_t<Factor<T>>& a,
                const std::type_identity_t<Factor<T>>& b) {
    product(target, true, a, b);
}

template void assignProduct<double>(const Matrix<double>&, const Factor<double>&,
                                    const Factor<double>&);
template void assignProduct<float>(const Matrix<float>&, const Factor<float>&,
                                   const Factor<float>&);
template void addProduct<double>(const Matrix<double>&, const Factor<double>&,
                                 const Factor<double>&);
template void addProduct<float>(const Matrix<float>&, const Factor<float>&, const Factor<float>&);

} // namespace trainyard::engine::reference
