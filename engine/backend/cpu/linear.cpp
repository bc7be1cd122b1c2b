// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Linear layers. y = x W' + b, dx = dy W, dW = dy' x, db = sum of dy's rows; x {rows, in}, W {out,
// in}. Forms of a product: oneDNN's matmul on plain weights, matmul on weights packed anew in every
// run (they change in every step), and oneDNN's BLAS call. Which is fastest differs by a factor of
// two either way: plain weights suffer from unlucky strides, packing does not pay for few rows.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/kernel_request.h"

namespace trainyard::engine::cpu {

namespace {

using dnnl::memory;
constexpr auto kFloat = memory::data_type::f32;
constexpr auto kHalf = memory::data_type::bf16;

/// C {m, n} = A {m, k} B {k, n}; each lies row-major, or transposed (column-major).
struct Product {
    std::string name;
    std::int64_t m, n, k;
    Operand a, b, c;
    bool aTransposed, bTransposed;
    bool accumulate = false; ///< C += A B
    float* bias = nullptr;   ///< {n}, added to every row of C
    memory::data_type factors = kFloat, result = kFloat;

    static memory::desc desc(std::int64_t rows, std::int64_t columns, memory::data_type type,
                             bool transposed) {
        return {
            {rows, columns}, type, transposed ? memory::format_tag::ba : memory::format_tag::ab};
    }
    memory::desc aDesc() const { return desc(m, k, factors, aTransposed); }
    memory::desc bDesc() const { return desc(k, n, factors, bTransposed); }
    memory::desc cDesc() const { return desc(m, n, result, false); }
    memory::desc biasDesc() const { return desc(1, n, kFloat, false); }

    std::string key() const {
        return name + " " + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n) +
               (accumulate ? " added" : "") + (bias ? " with bias" : "") +
               (factors == kHalf ? " bf16" : "");
    }
};

Form matmulForm(const Product& p, const dnnl::engine& engine, bool packed) {
    Form form(packed ? "matmul packed" : "matmul", engine);
    const memory::desc b =
        packed ? memory::desc({p.k, p.n}, p.factors, memory::format_tag::any) : p.bDesc();
    const dnnl::matmul::desc operation =
        p.bias ? dnnl::matmul::desc(p.aDesc(), b, p.biasDesc(), p.cDesc())
               : dnnl::matmul::desc(p.aDesc(), b, p.cDesc());
    const dnnl::matmul::primitive_desc matmul(operation, attributes(p.accumulate), engine);
    Place weights = Place::fixed(p.b.data);
    if (packed && matmul.weights_desc() != p.bDesc()) {
        const Place reordered = form.reserve(matmul.weights_desc().get_size());
        form.addReorder(p.bDesc(), weights, matmul.weights_desc(), reordered);
        weights = reordered;
    }
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, p.aDesc(), Place::fixed(p.a.data)},
                                       {DNNL_ARG_WEIGHTS, matmul.weights_desc(), weights},
                                       {DNNL_ARG_DST, p.cDesc(), Place::fixed(p.c.data)}};
    if (p.bias)
        arguments.push_back({DNNL_ARG_BIAS, p.biasDesc(), Place::fixed(p.bias)});
    form.add(dnnl::matmul(matmul), matmul.scratchpad_desc(), arguments);
    return form;
}

Form blasForm(const Product& p, const dnnl::engine& engine) {
    Form form("sgemm", engine);
    form.add([p](std::byte*) {
        dnnl_sgemm(p.aTransposed ? 'T' : 'N', p.bTransposed ? 'T' : 'N', p.m, p.n, p.k, 1.0F,
                   dataOf<float>(p.a), p.aTransposed ? p.m : p.k, dataOf<float>(p.b),
                   p.bTransposed ? p.k : p.n, p.accumulate ? 1.0F : 0.0F, dataOf<float>(p.c), p.n);
        if (p.bias)
            addToRows(dataOf<float>(p.c), p.bias, p.m, p.n);
    });
    return form;
}

/// A' {m, k} and B {k, n} row-major as gradient and input of an inner product of k rows: what
/// oneDNN has for weight gradients in bf16, where a transposed factor of a matmul is slow.
Form innerProductForm(const Product& p, const dnnl::engine& engine) {
    using dnnl::inner_product_backward_weights;
    using dnnl::inner_product_forward;
    Form form("inner product", engine);
    const memory::desc x({p.k, p.n}, p.factors, memory::format_tag::ab);
    const memory::desc dy({p.k, p.m}, p.factors, memory::format_tag::ab);
    const memory::desc weights({p.m, p.n}, p.factors, memory::format_tag::any);
    const memory::desc gradient({p.m, p.n}, p.result, memory::format_tag::any);
    const inner_product_forward::primitive_desc hint(
        {dnnl::prop_kind::forward_training, x, weights, dy}, attributes(), engine);
    const inner_product_backward_weights::primitive_desc product({x, gradient, dy}, attributes(),
                                                                 engine, hint);
    const memory::desc made = product.diff_weights_desc();
    const bool direct = made == p.cDesc() && !p.accumulate;
    const Place place = direct ? Place::fixed(p.c.data) : form.reserve(made.get_size());
    form.add(inner_product_backward_weights(product), product.scratchpad_desc(),
             {{DNNL_ARG_SRC, x, Place::fixed(p.b.data)},
              {DNNL_ARG_DIFF_DST, dy, Place::fixed(p.a.data)},
              {DNNL_ARG_DIFF_WEIGHTS, made, place}});
    if (!direct)
        form.addReorder(made, place, p.cDesc(), Place::fixed(p.c.data), p.accumulate);
    return form;
}

std::vector<Form> formsOf(const Product& product, const dnnl::engine& engine) {
    std::vector<Form> forms;
    forms.push_back(matmulForm(product, engine, false));
    forms.push_back(matmulForm(product, engine, true));
    if (product.factors == kFloat)
        forms.push_back(blasForm(product, engine));
    else if (product.aTransposed && !product.bTransposed)
        forms.push_back(innerProductForm(product, engine));
    return forms;
}

memory::data_type typeOf(const KernelRequest& request) {
    return request.type == DType::Bf16 ? kHalf : kFloat;
}

const graph::LinearAttributes& attributesOf(const KernelRequest& request) {
    return std::get<graph::LinearAttributes>(request.attributes);
}

Product forwardProduct(const KernelRequest& r) {
    const auto& a = attributesOf(r);
    return {.name = "linear forward",
            .m = featureRows(r),
            .n = a.outFeatures,
            .k = a.inFeatures,
            .a = r.inputs[0],
            .b = r.parameters[0],
            .c = r.outputs[0],
            .aTransposed = false,
            .bTransposed = true,
            .bias = a.bias ? dataOf<float>(r.parameters[1]) : nullptr,
            .factors = typeOf(r),
            .result = typeOf(r)};
}

Product inputGradientProduct(const KernelRequest& r) {
    const auto& a = attributesOf(r);
    return {.name = "linear input gradient",
            .m = featureRows(r),
            .n = a.inFeatures,
            .k = a.outFeatures,
            .a = r.outputGradients[0],
            .b = r.parameters[0],
            .c = r.inputGradients[0],
            .aTransposed = false,
            .bTransposed = false,
            .accumulate = addsToInputGradient(r),
            .factors = typeOf(r),
            .result = typeOf(r)};
}

Product weightGradientProduct(const KernelRequest& r) {
    const auto& a = attributesOf(r);
    return {.name = "linear weight gradient",
            .m = a.outFeatures,
            .n = a.inFeatures,
            .k = featureRows(r),
            .a = r.outputGradients[0],
            .b = r.inputs[0],
            .c = r.parameterGradients[0],
            .aTransposed = true,
            .bTransposed = false,
            .accumulate = addsToParameterGradient(r, 0),
            .factors = typeOf(r)};
}

using MakeProduct = Product (*)(const KernelRequest&);

std::unique_ptr<Form> pickProduct(Context& context, const KernelRequest& request,
                                  MakeProduct make) {
    return pickForm(context, make(request).key(), request,
                    [&](const KernelRequest& r) { return formsOf(make(r), context.engine); });
}

std::unique_ptr<Form> biasGradient(const KernelRequest& request, const dnnl::engine& engine) {
    auto form = std::make_unique<Form>("bias gradient", engine);
    const Operand dy = request.outputGradients[0];
    float* gradient = dataOf<float>(request.parameterGradients[1]);
    const std::int64_t columns = attributesOf(request).outFeatures;
    const bool half = request.type == DType::Bf16;
    form->add(
        [=, rows = featureRows(request), add = addsToParameterGradient(request, 1)](std::byte*) {
            if (half)
                sumOfRows(dataOf<Bf16>(dy), rows, columns, gradient, add);
            else
                sumOfRows(dataOf<float>(dy), rows, columns, gradient, add);
        });
    return form;
}

} // namespace

std::unique_ptr<Kernel> makeLinear(const KernelRequest& request, Context& context) {
    std::vector<std::unique_ptr<Form>> forms;
    if (request.direction != Direction::Backward) {
        forms.push_back(pickProduct(context, request, forwardProduct));
        return std::make_unique<FormKernel>(context, std::move(forms));
    }
    if (wantsParameterGradient(request, 0))
        forms.push_back(pickProduct(context, request, weightGradientProduct));
    if (wantsParameterGradient(request, 1))
        forms.push_back(biasGradient(request, context.engine));
    if (wantsInputGradient(request))
        forms.push_back(pickProduct(context, request, inputGradientProduct));
    return std::make_unique<FormKernel>(context, std::move(forms));
}

} // namespace trainyard::engine::cpu
