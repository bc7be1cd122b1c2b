// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Product: one matrix product as steps of a form, in every way this machine may be fastest in.
// Which is differs by a factor of two either way: plain factors suffer from unlucky strides,
// packing them anew in every run (weights change in every step) does not pay for few rows.
#pragma once

#include "engine/backend/cpu/form.h"

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::engine::cpu {

/// C {m, n} = A {m, k} B {k, n}; each lies row-major, or transposed (column-major).
struct Product {
    std::int64_t m, n, k;
    Place a, b, c;
    bool aTransposed = false, bTransposed = false;
    bool accumulate = false;     ///< C += A B
    const float* bias = nullptr; ///< {n}, added to every row of C
    dnnl::memory::data_type factors = dnnl::memory::data_type::f32;
    dnnl::memory::data_type result = dnnl::memory::data_type::f32;

    dnnl::memory::desc aDesc() const;
    dnnl::memory::desc bDesc() const;
    dnnl::memory::desc cDesc() const;
};

enum class ProductWay : std::uint8_t {
    Plain,       ///< oneDNN's matmul on B as it lies
    Packed,      ///< matmul on B packed anew
    Blas,        ///< oneDNN's BLAS call, fp32
    InnerProduct ///< gradient of an inner product's weights: A transposed, in bf16
};

std::string nameOf(ProductWay way);
/// The safest guess first; at least one.
std::vector<ProductWay> waysOf(const Product& product);
void addProduct(Form& form, const Product& product, ProductWay way, const dnnl::engine& engine);

} // namespace trainyard::engine::cpu
