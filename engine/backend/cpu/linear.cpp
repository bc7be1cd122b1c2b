// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Linear layers. y = x W' + b, dx = dy W, dW = dy' x, db = sum of dy's rows; x {rows, in}, W {out,
// in}.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/cpu/product.h"
#include "engine/backend/kernel_request.h"

namespace trainyard::engine::cpu {

namespace {

using dnnl::memory;
constexpr auto kFloat = memory::data_type::f32;
constexpr auto kHalf = memory::data_type::bf16;

/// A product and what tells it apart from others in speed.
struct NamedProduct {
    std::string name;
    Product product;

    std::string key() const {
        const Product& p = product;
        return name + " " + std::to_string(p.m) + "x" + std::to_string(p.k) + "x" +
               std::to_string(p.n) + (p.accumulate ? " added" : "") + (p.bias ? " with bias" : "") +
               (p.factors == kHalf ? " bf16" : "");
    }
};

std::vector<Form> formsOf(const Product& product, const dnnl::engine& engine) {
    std::vector<Form> forms;
    for (const ProductWay way : waysOf(product))
        addProduct(forms.emplace_back(nameOf(way), engine), product, way, engine);
    return forms;
}

memory::data_type typeOf(const KernelRequest& request) {
    return request.type == DType::Bf16 ? kHalf : kFloat;
}

const graph::LinearAttributes& attributesOf(const KernelRequest& request) {
    return std::get<graph::LinearAttributes>(request.attributes);
}

NamedProduct forwardProduct(const KernelRequest& r) {
    const auto& a = attributesOf(r);
    return {"linear forward",
            {.m = featureRows(r),
             .n = a.outFeatures,
             .k = a.inFeatures,
             .a = Place::fixed(r.inputs[0].data),
             .b = Place::fixed(r.parameters[0].data),
             .c = Place::fixed(r.outputs[0].data),
             .aTransposed = false,
             .bTransposed = true,
             .bias = a.bias ? dataOf<float>(r.parameters[1]) : nullptr,
             .factors = typeOf(r),
             .result = typeOf(r)}};
}

NamedProduct inputGradientProduct(const KernelRequest& r) {
    const auto& a = attributesOf(r);
    return {"linear input gradient",
            {.m = featureRows(r),
             .n = a.inFeatures,
             .k = a.outFeatures,
             .a = Place::fixed(r.outputGradients[0].data),
             .b = Place::fixed(r.parameters[0].data),
             .c = Place::fixed(r.inputGradients[0].data),
             .aTransposed = false,
             .bTransposed = false,
             .accumulate = addsToInputGradient(r),
             .factors = typeOf(r),
             .result = typeOf(r)}};
}

NamedProduct weightGradientProduct(const KernelRequest& r) {
    const auto& a = attributesOf(r);
    return {"linear weight gradient",
            {.m = a.outFeatures,
             .n = a.inFeatures,
             .k = featureRows(r),
             .a = Place::fixed(r.outputGradients[0].data),
             .b = Place::fixed(r.inputs[0].data),
             .c = Place::fixed(r.parameterGradients[0].data),
             .aTransposed = true,
             .bTransposed = false,
             .accumulate = addsToParameterGradient(r, 0),
             .factors = typeOf(r)}};
}

using MakeProduct = NamedProduct (*)(const KernelRequest&);

std::unique_ptr<Form> pickProduct(Context& context, const KernelRequest& request,
                                  MakeProduct make) {
    return pickForm(context, make(request).key(), request, [&](const KernelRequest& r) {
        return formsOf(make(r).product, context.engine);
    });
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
