// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/operation_cases.h"

#include <sstream>

namespace trainyard::test {

using graph::Conv2dAttributes;
using graph::DropoutAttributes;
using graph::LinearAttributes;
using graph::OperationKind;
using graph::PoolAttributes;

namespace {

constexpr Layout kPlain = Layout::Plain;
constexpr Layout kBlocked = Layout::Blocked16;
using Cases = std::vector<OperationCase>;

void addLinear(Cases& cases, std::int64_t rows, std::int64_t in, std::int64_t out,
               bool bias = true) {
    cases.push_back({.kind = OperationKind::Linear,
                     .attributes = LinearAttributes{in, out, bias},
                     .rows = rows,
                     .input = {in}});
}

void addLinears(Cases& cases) {
    addLinear(cases, 0, 7, 5);
    addLinear(cases, 1, 1, 1);
    addLinear(cases, 1, 784, 10);
    addLinear(cases, 5, 17, 33);
    addLinear(cases, 7, 33, 3, false);
    addLinear(cases, 13, 129, 65);
    addLinear(cases, 64, 100, 48);
    addLinear(cases, 128, 256, 130, false);
}

struct Side {
    std::int64_t rows, height, width;
    Layout in, out;
    double tolerance = 2e-6;
};

void addConvolution(Cases& cases, const Side& side, const Conv2dAttributes& attributes) {
    cases.push_back({.kind = OperationKind::Conv2d,
                     .attributes = attributes,
                     .rows = side.rows,
                     .input = {attributes.inChannels, side.height, side.width},
                     .inputLayout = side.in,
                     .outputLayout = side.out,
                     .tolerance = side.tolerance});
}

Conv2dAttributes square(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                        std::int64_t padding, bool bias = true) {
    return {in, out, kernel, kernel, stride, stride, padding, padding, bias};
}

void addConvolutions(Cases& cases) {
    const Conv2dAttributes uneven{4, 6, 3, 2, 2, 1, 0, 1, true};
    addConvolution(cases, {0, 6, 6, kPlain, kPlain}, square(3, 4, 3, 1, 1));
    addConvolution(cases, {0, 6, 6, kPlain, kBlocked}, square(3, 32, 3, 1, 1));
    addConvolution(cases, {1, 1, 1, kPlain, kPlain}, square(1, 1, 1, 1, 0));
    addConvolution(cases, {3, 12, 12, kPlain, kBlocked}, square(1, 20, 5, 1, 0));
    addConvolution(cases, {2, 12, 12, kPlain, kPlain}, square(1, 20, 5, 1, 0));
    addConvolution(cases, {5, 9, 7, kPlain, kBlocked}, square(3, 16, 3, 1, 1));
    addConvolution(cases, {2, 9, 7, kPlain, kPlain}, square(3, 10, 3, 1, 1, false));
    addConvolution(cases, {3, 8, 6, kBlocked, kBlocked}, square(20, 50, 5, 1, 2));
    addConvolution(cases, {2, 9, 9, kBlocked, kBlocked}, square(16, 32, 3, 2, 1));
    addConvolution(cases, {1, 8, 8, kBlocked, kBlocked}, square(32, 16, 1, 1, 0, false));
    addConvolution(cases, {2, 8, 8, kPlain, kPlain}, square(32, 16, 1, 2, 0));
    addConvolution(cases, {4, 8, 11, kPlain, kPlain}, square(16, 20, 3, 3, 0));
    addConvolution(cases, {3, 7, 8, kPlain, kPlain}, uneven);
    addConvolution(cases, {3, 7, 8, kBlocked, kBlocked}, uneven);
    addConvolution(cases, {2, 7, 7, kBlocked, kPlain}, square(32, 20, 3, 1, 1));
    addConvolution(cases, {2, 7, 7, kPlain, kBlocked}, square(20, 32, 3, 1, 1));
    // Large enough for Winograd, whose rounding errors are larger.
    addConvolution(cases, {2, 14, 14, kBlocked, kBlocked, 1e-5}, square(32, 64, 3, 1, 1));
    addConvolution(cases, {4, 16, 16, kBlocked, kBlocked, 1e-5}, square(64, 64, 3, 1, 1));
}

void addPool(Cases& cases, std::int64_t rows, const Shape& input, const PoolAttributes& pool) {
    // Where windows overlap, gradients are added up; otherwise a pool only moves values.
    const bool disjoint =
        pool.strideHeight >= pool.kernelHeight && pool.strideWidth >= pool.kernelWidth;
    for (const Layout layout : {kPlain, kBlocked})
        cases.push_back({.kind = OperationKind::MaxPool,
                         .attributes = pool,
                         .rows = rows,
                         .input = input,
                         .inputLayout = layout,
                         .outputLayout = layout,
                         .tolerance = disjoint ? 0 : 2e-7});
}

void addPools(Cases& cases) {
    addPool(cases, 0, {3, 4, 4}, {});
    addPool(cases, 1, {1, 4, 4}, {});
    addPool(cases, 3, {16, 7, 5}, {});
    addPool(cases, 2, {20, 8, 10}, {});
    addPool(cases, 2, {32, 7, 7}, {3, 3, 2, 2, 1, 1});
    addPool(cases, 2, {3, 6, 5}, {3, 3, 1, 1, 1, 1});
    addPool(cases, 2, {3, 2, 1}, {3, 3, 2, 2, 1, 1});
    addPool(cases, 1, {1, 1, 1}, {3, 3, 1, 1, 1, 1});
    addPool(cases, 1, {20, 9, 8}, {2, 3, 3, 4, 0, 0});
    addPool(cases, 1, {3, 9, 8}, {3, 1, 1, 2, 1, 0});
}

void addElementwise(Cases& cases, OperationKind kind, const graph::OperationAttributes& attributes,
                    std::int64_t rows, const Shape& input, Layout layout, double tolerance) {
    cases.push_back({.kind = kind,
                     .attributes = attributes,
                     .rows = rows,
                     .input = input,
                     .inputLayout = layout,
                     .outputLayout = kind == OperationKind::Reshape ? kPlain : layout,
                     .tolerance = tolerance});
}

void addElementwises(Cases& cases) {
    struct Size {
        std::int64_t rows;
        Shape input;
        Layout layout;
    };
    const std::vector<Size> sizes = {
        {0, {5}, kPlain},          {1, {1}, kPlain},          {3, {7}, kPlain},
        {33, {1031}, kPlain},      {0, {20, 3, 3}, kBlocked}, {2, {3, 5, 7}, kPlain},
        {2, {3, 5, 7}, kBlocked},  {3, {20, 3, 3}, kBlocked}, {5, {32, 8, 8}, kBlocked},
        {1, {16, 1, 1}, kBlocked}, {9, {33, 13, 5}, kBlocked}};
    for (const Size& s : sizes) {
        addElementwise(cases, OperationKind::Relu, {}, s.rows, s.input, s.layout, 0);
        addElementwise(cases, OperationKind::Reshape, {}, s.rows, s.input, s.layout, 0);
        for (const double probability : {0.5, 0.1, 0.0})
            addElementwise(cases, OperationKind::Dropout, DropoutAttributes{probability, 3}, s.rows,
                           s.input, s.layout, 1e-7);
    }
}

void addLosses(Cases& cases) {
    struct Size {
        std::int64_t rows, classes;
    };
    for (const Size& s : {Size{0, 10}, Size{1, 2}, Size{5, 1}, Size{33, 10}, Size{128, 10},
                          Size{7, 100}, Size{3, 1000}})
        cases.push_back({.kind = OperationKind::SoftmaxCrossEntropy,
                         .rows = s.rows,
                         .input = {s.classes},
                         .tolerance = 1e-6});
}

template <class Attributes>
void describeWindow(std::ostream& out, const Attributes& a) {
    out << " kernel " << a.kernelHeight << "x" << a.kernelWidth << " stride " << a.strideHeight
        << "x" << a.strideWidth << " padding " << a.paddingHeight << "x" << a.paddingWidth;
}

std::string nameOf(const OperationCase& c) {
    std::ostringstream out;
    out << graph::name(c.kind) << " " << c.rows << " rows of";
    for (const std::int64_t extent : c.input)
        out << " " << extent;
    if (const auto* linear = std::get_if<LinearAttributes>(&c.attributes)) {
        out << " -> " << linear->outFeatures << (linear->bias ? "" : " no bias");
    } else if (const auto* conv = std::get_if<Conv2dAttributes>(&c.attributes)) {
        out << " -> " << conv->outChannels << (conv->bias ? "" : " no bias");
        describeWindow(out, *conv);
    } else if (const auto* pool = std::get_if<PoolAttributes>(&c.attributes)) {
        describeWindow(out, *pool);
    } else if (const auto* dropout = std::get_if<DropoutAttributes>(&c.attributes)) {
        out << " probability " << dropout->probability;
    }
    return out.str();
}

} // namespace

const std::vector<OperationCase>& operationCases() {
    static const std::vector<OperationCase> cases = [] {
        Cases all;
        addLinears(all);
        addConvolutions(all);
        addPools(all);
        addElementwises(all);
        addLosses(all);
        for (OperationCase& c : all)
            c.name = nameOf(c);
        return all;
    }();
    return cases;
}

} // namespace trainyard::test
