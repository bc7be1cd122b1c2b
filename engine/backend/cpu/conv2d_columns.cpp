// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// y = columns(x) W, dW = dy' columns(x), dx = columns(dy) W with the windows mirrored. An element
// of a column is (tap, channel), so that channels are copied together; weights lie (channel, tap)
// and are turned first.
#include "engine/backend/cpu/conv2d_columns.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/cpu/product.h"
#include "engine/backend/window.h"
#include "engine/base/parallel.h"

#include <algorithm>

namespace trainyard::engine::cpu {

namespace {

using dnnl::memory;
using graph::Conv2dAttributes;
constexpr auto kHalf = memory::data_type::bf16;

constexpr std::int64_t kFewestChannels = 16;
constexpr std::int64_t kMostColumnBytes = std::int64_t{64} << 20;

/// Where the columns come from and how the window moves over it.
struct ColumnSource {
    Window window; ///< without dilation
    std::int64_t rows = 0, channels = 0;
    /// Taps in opposite order: what an input gradient sees of the output's gradient.
    bool mirrored = false;

    std::int64_t taps() const { return window.kernelHeight * window.kernelWidth; }
    std::int64_t height() const { return rows * window.outPlane(); } ///< of the matrix of columns
    std::int64_t width() const { return taps() * channels; }
    std::size_t bytes() const {
        return static_cast<std::size_t>(height() * width()) * sizeof(Bf16);
    }
    /// The columns are the picture itself.
    bool isPicture() const {
        return taps() == 1 && window.strideHeight == 1 && window.strideWidth == 1 &&
               window.paddingHeight == 0 && window.paddingWidth == 0;
    }
};

/// The elements under one output position; outside the picture there are zeros.
void copyColumn(const ColumnSource& s, const Bf16* picture, std::int64_t y, std::int64_t x,
                Bf16* column) {
    const Window& w = s.window;
    for (std::int64_t i = 0; i < w.kernelHeight; ++i)
        for (std::int64_t j = 0; j < w.kernelWidth; ++j, column += s.channels) {
            const std::int64_t tapY = s.mirrored ? w.kernelHeight - 1 - i : i;
            const std::int64_t tapX = s.mirrored ? w.kernelWidth - 1 - j : j;
            const std::int64_t fromY = y * w.strideHeight - w.paddingHeight + tapY;
            const std::int64_t fromX = x * w.strideWidth - w.paddingWidth + tapX;
            if (fromY < 0 || fromY >= w.inHeight || fromX < 0 || fromX >= w.inWidth)
                std::fill_n(column, s.channels, Bf16{});
            else
                std::copy_n(picture + (fromY * w.inWidth + fromX) * s.channels, s.channels, column);
        }
}

void fillColumns(const ColumnSource& s, const Bf16* pictures, Bf16* columns) {
    const std::int64_t lines = s.rows * s.window.outHeight; // of output positions
    const std::int64_t lineElements = s.window.outWidth * s.width();
    parallelFor(lines, lines * lineElements < kGrain ? lines + 1 : 0, 1,
                [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t line = first; line < last; ++line) {
                        const std::int64_t row = line / s.window.outHeight;
                        const Bf16* picture = pictures + row * s.window.inPlane() * s.channels;
                        for (std::int64_t x = 0; x < s.window.outWidth; ++x)
                            copyColumn(s, picture, line % s.window.outHeight, x,
                                       columns + line * lineElements + x * s.width());
                    }
                });
}

/// Adds the step that makes the columns, if one is needed.
Place addColumns(Form& form, const ColumnSource& source, void* pictures) {
    if (source.isPicture())
        return Place::fixed(pictures);
    const Place columns = form.reserve(source.bytes());
    form.add([=](std::byte* scratch) {
        fillColumns(source, static_cast<const Bf16*>(pictures),
                    static_cast<Bf16*>(columns.in(scratch)));
    });
    return columns;
}

const Conv2dAttributes& attributesOf(const KernelRequest& r) {
    return std::get<Conv2dAttributes>(r.attributes);
}

memory::dims weightDims(const KernelRequest& r) {
    const Conv2dAttributes& a = attributesOf(r);
    return {a.outChannels, a.inChannels, a.kernelHeight, a.kernelWidth};
}

memory::desc weightsDesc(const KernelRequest& r, memory::data_type type, memory::format_tag tag) {
    return {weightDims(r), type, tag};
}

/// {tap, out channel, in channel}, for which oneDNN has no name.
memory::desc tapsOutIn(const KernelRequest& r) {
    const memory::dims dims = weightDims(r);
    const std::int64_t tap = dims[0] * dims[1];
    return {dims, kHalf, memory::dims{dims[1], 1, dims[3] * tap, tap}};
}

/// The weights in the order of `wanted`.
Place addWeights(Form& form, const KernelRequest& r, const memory::desc& wanted) {
    const memory::desc lies = weightsDesc(r, kHalf, memory::format_tag::oihw);
    const Place place = form.reserve(wanted.get_size());
    form.addReorder(lies, Place::fixed(r.parameters[0].data), wanted, place);
    return place;
}

ColumnSource inputColumns(const KernelRequest& r) {
    return {.window = windowOf(attributesOf(r), r.inputs[0].shape, r.outputs[0].shape),
            .rows = r.rows,
            .channels = attributesOf(r).inChannels};
}

/// Each input position sees the outputs whose windows cover it; stride 1.
ColumnSource gradientColumns(const KernelRequest& r) {
    Window window = windowOf(attributesOf(r), r.outputs[0].shape, r.inputs[0].shape);
    window.paddingHeight = window.kernelHeight - 1 - window.paddingHeight;
    window.paddingWidth = window.kernelWidth - 1 - window.paddingWidth;
    return {.window = window,
            .rows = r.rows,
            .channels = attributesOf(r).outChannels,
            .mirrored = true};
}

/// What a form is made of: the columns, and the product over them once their place is known.
struct ColumnProduct {
    ColumnSource columns;
    Product product;
};

/// Of a product whose factors are made by the form.
Place unknown() {
    return Place::scratch(0);
}

Product outputProduct(const KernelRequest& r, const ColumnSource& columns) {
    const Conv2dAttributes& a = attributesOf(r);
    return {.m = columns.height(),
            .n = a.outChannels,
            .k = columns.width(),
            .a = unknown(),
            .b = unknown(),
            .c = Place::fixed(r.outputs[0].data),
            .bias = a.bias ? dataOf<float>(r.parameters[1]) : nullptr,
            .factors = kHalf,
            .result = kHalf};
}

Form outputForm(const KernelRequest& r, ProductWay way, const dnnl::engine& engine) {
    const ColumnSource columns = inputColumns(r);
    Form form("columns, " + nameOf(way), engine);
    Product product = outputProduct(r, columns);
    product.a = addColumns(form, columns, r.inputs[0].data);
    product.b = addWeights(form, r, weightsDesc(r, kHalf, memory::format_tag::hwio));
    addProduct(form, product, way, engine);
    return form;
}

Product inputGradientProduct(const KernelRequest& r, const ColumnSource& columns) {
    return {.m = columns.height(),
            .n = attributesOf(r).inChannels,
            .k = columns.width(),
            .a = unknown(),
            .b = unknown(),
            .c = Place::fixed(r.inputGradients[0].data),
            .accumulate = addsToInputGradient(r),
            .factors = kHalf,
            .result = kHalf};
}

Form inputGradientForm(const KernelRequest& r, ProductWay way, const dnnl::engine& engine) {
    const ColumnSource columns = gradientColumns(r);
    Form form("columns, " + nameOf(way), engine);
    Product product = inputGradientProduct(r, columns);
    product.a = addColumns(form, columns, r.outputGradients[0].data);
    product.b = addWeights(form, r, tapsOutIn(r));
    addProduct(form, product, way, engine);
    return form;
}

Product weightGradientProduct(const KernelRequest& r, const ColumnSource& columns) {
    return {.m = attributesOf(r).outChannels,
            .n = columns.width(),
            .k = columns.height(),
            .a = Place::fixed(r.outputGradients[0].data),
            .b = unknown(),
            .c = unknown(),
            .aTransposed = true,
            .factors = kHalf};
}

void addBiasGradient(Form& form, const KernelRequest& r) {
    form.add([dy = dataOf<Bf16>(r.outputGradients[0]), rows = r.rows,
              plane = r.outputs[0].shape.at(1) * r.outputs[0].shape.at(2),
              channels = attributesOf(r).outChannels,
              gradient = dataOf<float>(r.parameterGradients[1]),
              add = addsToParameterGradient(r, 1)](std::byte*) {
        sumOfRows(dy, rows * plane, channels, gradient, add);
    });
}

Form parameterGradientForm(const KernelRequest& r, ProductWay way, const dnnl::engine& engine) {
    const ColumnSource columns = inputColumns(r);
    Form form("columns, " + nameOf(way), engine);
    if (wantsParameterGradient(r, 0)) {
        const memory::desc made = weightsDesc(r, memory::data_type::f32, memory::format_tag::ohwi);
        Product product = weightGradientProduct(r, columns);
        product.b = addColumns(form, columns, r.inputs[0].data);
        product.c = form.reserve(made.get_size());
        addProduct(form, product, way, engine);
        form.addReorder(made, product.c,
                        weightsDesc(r, memory::data_type::f32, memory::format_tag::oihw),
                        Place::fixed(r.parameterGradients[0].data), addsToParameterGradient(r, 0));
    }
    if (wantsParameterGradient(r, 1))
        addBiasGradient(form, r);
    return form;
}

bool fits(const KernelRequest& r, const ColumnSource& columns) {
    const Conv2dAttributes& a = attributesOf(r);
    return r.type == DType::Bf16 && r.inputs[0].layout == Layout::ChannelsLast &&
           r.outputs[0].layout == Layout::ChannelsLast && a.groups == 1 && a.dilationHeight == 1 &&
           a.dilationWidth == 1 && columns.channels >= kFewestChannels &&
           static_cast<std::int64_t>(columns.bytes()) <= kMostColumnBytes;
}

/// Mirrored windows are windows again: one step at a time, and no padding beyond the kernel.
bool canMirror(const Conv2dAttributes& a) {
    return a.strideHeight == 1 && a.strideWidth == 1 && a.paddingHeight < a.kernelHeight &&
           a.paddingWidth < a.kernelWidth;
}

} // namespace

std::vector<Form> columnForms(ConvolutionPart part, const KernelRequest& r,
                              const dnnl::engine& engine) {
    std::vector<Form> forms;
    switch (part) {
    case ConvolutionPart::Output:
        if (const ColumnSource columns = inputColumns(r); fits(r, columns))
            for (const ProductWay way : waysOf(outputProduct(r, columns)))
                forms.push_back(outputForm(r, way, engine));
        break;
    case ConvolutionPart::InputGradient:
        if (canMirror(attributesOf(r)))
            if (const ColumnSource columns = gradientColumns(r); fits(r, columns))
                for (const ProductWay way : waysOf(inputGradientProduct(r, columns)))
                    forms.push_back(inputGradientForm(r, way, engine));
        break;
    case ConvolutionPart::ParameterGradients:
        if (const ColumnSource columns = inputColumns(r); fits(r, columns))
            for (const ProductWay way : waysOf(weightGradientProduct(r, columns)))
                forms.push_back(parameterGradientForm(r, way, engine));
        break;
    }
    return forms;
}

} // namespace trainyard::engine::cpu
