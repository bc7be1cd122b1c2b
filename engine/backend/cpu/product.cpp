// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/cpu/product.h"

#include "engine/backend/cpu/loops.h"

namespace trainyard::engine::cpu {

namespace {

using dnnl::memory;
constexpr auto kFloat = memory::data_type::f32;

memory::desc matrix(std::int64_t rows, std::int64_t columns, memory::data_type type,
                    bool transposed) {
    return {{rows, columns}, type, transposed ? memory::format_tag::ba : memory::format_tag::ab};
}

void addMatmul(Form& form, const Product& p, bool packed, const dnnl::engine& engine) {
    const memory::desc b =
        packed ? memory::desc({p.k, p.n}, p.factors, memory::format_tag::any) : p.bDesc();
    const memory::desc bias = matrix(1, p.n, kFloat, false);
    const dnnl::matmul::desc operation = p.bias ? dnnl::matmul::desc(p.aDesc(), b, bias, p.cDesc())
                                                : dnnl::matmul::desc(p.aDesc(), b, p.cDesc());
    const dnnl::matmul::primitive_desc matmul(operation, attributes(p.accumulate), engine);
    Place weights = p.b;
    if (packed && matmul.weights_desc() != p.bDesc()) {
        weights = form.reserve(matmul.weights_desc().get_size());
        form.addReorder(p.bDesc(), p.b, matmul.weights_desc(), weights);
    }
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, p.aDesc(), p.a},
                                       {DNNL_ARG_WEIGHTS, matmul.weights_desc(), weights},
                                       {DNNL_ARG_DST, p.cDesc(), p.c}};
    if (p.bias)
        arguments.push_back({DNNL_ARG_BIAS, bias, Place::fixed(const_cast<float*>(p.bias))});
    form.add(dnnl::matmul(matmul), matmul.scratchpad_desc(), arguments);
}

void addBlas(Form& form, const Product& p) {
    form.add([p](std::byte* scratch) {
        auto* c = static_cast<float*>(p.c.in(scratch));
        dnnl_sgemm(p.aTransposed ? 'T' : 'N', p.bTransposed ? 'T' : 'N', p.m, p.n, p.k, 1.0F,
                   static_cast<const float*>(p.a.in(scratch)), p.aTransposed ? p.m : p.k,
                   static_cast<const float*>(p.b.in(scratch)), p.bTransposed ? p.k : p.n,
                   p.accumulate ? 1.0F : 0.0F, c, p.n);
        if (p.bias)
            addToRows(c, p.bias, p.m, p.n);
    });
}

/// A' {m, k} and B {k, n} row-major as gradient and input of an inner product of k rows: what
/// oneDNN has for weight gradients in bf16, where a transposed factor of a matmul is slow.
void addInnerProduct(Form& form, const Product& p, const dnnl::engine& engine) {
    using dnnl::inner_product_backward_weights;
    using dnnl::inner_product_forward;
    const memory::desc x = matrix(p.k, p.n, p.factors, false);
    const memory::desc dy = matrix(p.k, p.m, p.factors, false);
    const memory::desc weights({p.m, p.n}, p.factors, memory::format_tag::any);
    const memory::desc gradient({p.m, p.n}, p.result, memory::format_tag::any);
    const inner_product_forward::primitive_desc hint(
        {dnnl::prop_kind::forward_training, x, weights, dy}, attributes(), engine);
    const inner_product_backward_weights::primitive_desc product({x, gradient, dy}, attributes(),
                                                                 engine, hint);
    const memory::desc made = product.diff_weights_desc();
    const bool direct = made == p.cDesc() && !p.accumulate;
    const Place place = direct ? p.c : form.reserve(made.get_size());
    form.add(inner_product_backward_weights(product), product.scratchpad_desc(),
             {{DNNL_ARG_SRC, x, p.b},
              {DNNL_ARG_DIFF_DST, dy, p.a},
              {DNNL_ARG_DIFF_WEIGHTS, made, place}});
    if (!direct)
        form.addReorder(made, place, p.cDesc(), p.c, p.accumulate);
}

} // namespace

memory::desc Product::aDesc() const {
    return matrix(m, k, factors, aTransposed);
}
memory::desc Product::bDesc() const {
    return matrix(k, n, factors, bTransposed);
}
memory::desc Product::cDesc() const {
    return matrix(m, n, result, false);
}

std::string nameOf(ProductWay way) {
    switch (way) {
    case ProductWay::Plain:
        return "matmul";
    case ProductWay::Packed:
        return "matmul packed";
    case ProductWay::Blas:
        return "sgemm";
    case ProductWay::InnerProduct:
        return "inner product";
    }
    return "?";
}

std::vector<ProductWay> waysOf(const Product& product) {
    std::vector<ProductWay> ways = {ProductWay::Plain, ProductWay::Packed};
    if (product.factors == kFloat)
        ways.push_back(ProductWay::Blas);
    else if (product.aTransposed && !product.bTransposed)
        ways.push_back(ProductWay::InnerProduct);
    return ways;
}

void addProduct(Form& form, const Product& product, ProductWay way, const dnnl::engine& engine) {
    switch (way) {
    case ProductWay::Plain:
    case ProductWay::Packed:
        return addMatmul(form, product, way == ProductWay::Packed, engine);
    case ProductWay::Blas:
        return addBlas(form, product);
    case ProductWay::InnerProduct:
        return addInnerProduct(form, product, engine);
    }
}

} // namespace trainyard::engine::cpu
