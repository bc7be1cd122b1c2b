// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/operation_cases.h"

#include <sstream>

namespace trainyard::test {

using namespace graph; // the names of all attributes
using graph::OperationKind;

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
    cases.push_back({.kind = OperationKind::Linear,
                     .attributes = LinearAttributes{9, 14, true},
                     .rows = 3,
                     .input = {7, 9}});
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

void addGroupedConvolutions(Cases& cases) {
    const auto change = [](Conv2dAttributes a, std::int64_t groups, std::int64_t dilationHeight,
                           std::int64_t dilationWidth) {
        a.groups = groups;
        a.dilationHeight = dilationHeight;
        a.dilationWidth = dilationWidth;
        return a;
    };
    addConvolution(cases, {1, 7, 7, kPlain, kPlain}, change(square(1, 1, 3, 1, 0), 1, 3, 3));
    addConvolution(cases, {2, 9, 8, kPlain, kPlain}, change(square(4, 6, 3, 1, 2), 2, 2, 2));
    addConvolution(cases, {3, 9, 11, kPlain, kPlain},
                   change(square(3, 9, 3, 2, 1, false), 3, 1, 3));
    addConvolution(cases, {3, 7, 5, kPlain, kPlain}, change(square(5, 5, 3, 1, 1), 5, 1, 1));
    addConvolution(cases, {2, 7, 7, kPlain, kBlocked}, change(square(6, 18, 3, 1, 1), 3, 1, 1));
    addConvolution(cases, {2, 8, 6, kBlocked, kBlocked}, change(square(32, 32, 3, 1, 1), 32, 1, 1));
    addConvolution(cases, {2, 8, 6, kBlocked, kBlocked}, change(square(48, 32, 3, 2, 1), 2, 1, 1));
    addConvolution(cases, {2, 9, 9, kBlocked, kBlocked}, change(square(16, 16, 3, 1, 2), 1, 2, 2));
    addConvolution(cases, {0, 9, 9, kBlocked, kBlocked}, change(square(16, 16, 3, 1, 2), 4, 2, 2));
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
    addGroupedConvolutions(cases);
    // Large enough for Winograd, whose rounding errors are larger.
    addConvolution(cases, {2, 14, 14, kBlocked, kBlocked, 1e-5}, square(32, 64, 3, 1, 1));
    addConvolution(cases, {4, 16, 16, kBlocked, kBlocked, 1e-5}, square(64, 64, 3, 1, 1));
}

void addPool(Cases& cases, std::int64_t rows, const Shape& input, const PoolAttributes& pool) {
    // Where windows overlap, gradients are added up; otherwise a pool only moves values.
    const bool disjoint =
        pool.strideHeight >= pool.kernelHeight && pool.strideWidth >= pool.kernelWidth;
    for (const Layout layout : {kPlain, kBlocked})
        for (const OperationKind kind : {OperationKind::MaxPool, OperationKind::AveragePool}) {
            const bool maximum = kind == OperationKind::MaxPool;
            cases.push_back({.kind = kind,
                             .attributes = pool,
                             .rows = rows,
                             .input = input,
                             .inputLayout = layout,
                             .outputLayout = layout,
                             .tolerance = !maximum   ? 1e-6
                                          : disjoint ? 0
                                                     : 2e-7});
        }
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
    for (const Layout layout : {kPlain, kBlocked})
        for (const std::int64_t rows : {0, 1, 5})
            for (const Shape& input : {Shape{1, 1, 1}, Shape{20, 7, 5}, Shape{32, 4, 4}})
                cases.push_back({.kind = OperationKind::GlobalAveragePool,
                                 .rows = rows,
                                 .input = input,
                                 .inputLayout = layout,
                                 .tolerance = 1e-6});
}

void addBatchNorms(Cases& cases) {
    struct Size {
        std::int64_t rows;
        Shape input;
        Layout layout;
    };
    const std::vector<Size> sizes = {{0, {3, 4, 4}, kPlain},    {1, {4}, kPlain},
                                     {7, {5}, kPlain},          {65, {33}, kPlain},
                                     {1, {3, 5, 7}, kPlain},    {4, {20, 3, 3}, kPlain},
                                     {4, {20, 3, 3}, kBlocked}, {9, {16, 8, 8}, kBlocked},
                                     {3, {3, 5, 5}, kBlocked},  {3, {17, 3, 5}, kBlocked}};
    for (const Size& s : sizes)
        cases.push_back({.kind = OperationKind::BatchNorm,
                         .attributes = NormAttributes{.epsilon = s.rows % 2 == 0 ? 1e-5 : 1e-2},
                         .rows = s.rows,
                         .input = s.input,
                         .inputLayout = s.layout,
                         .outputLayout = s.layout,
                         .tolerance = 4e-6});
}

void addNorms(Cases& cases) {
    addBatchNorms(cases);
    for (const OperationKind kind : {OperationKind::LayerNorm, OperationKind::RmsNorm})
        for (const auto& [rows, input] : std::vector<std::pair<std::int64_t, Shape>>{
                 {0, {5}}, {1, {3}}, {33, {129}}, {3, {7, 33}}, {2, {5, 64}}, {2, {2, 3, 17}}})
            cases.push_back({.kind = kind,
                             .attributes = NormAttributes{},
                             .rows = rows,
                             .input = input,
                             .tolerance = 4e-6});
}

void addSequences(Cases& cases) {
    struct Table {
        std::int64_t rows, positions, vocabulary, features;
    };
    for (const Table& t : {Table{0, 4, 5, 3}, Table{1, 1, 1, 1}, Table{3, 7, 11, 13},
                           Table{8, 16, 6, 64}, Table{5, 9, 300, 33}}) {
        cases.push_back({.kind = OperationKind::Embedding,
                         .attributes = EmbeddingAttributes{t.vocabulary, t.features},
                         .rows = t.rows,
                         .input = {t.positions},
                         .tolerance = 1e-6});
        cases.push_back({.kind = OperationKind::PositionEmbedding,
                         .rows = t.rows,
                         .input = {t.positions, t.features},
                         .tolerance = 1e-6});
    }
    struct Heads {
        std::int64_t rows, positions;
        AttentionAttributes attributes;
    };
    for (const Heads& h :
         {Heads{0, 3, {1, 1, 2, true, 0}}, Heads{1, 1, {1, 1, 1, true, 0}},
          Heads{2, 5, {2, 2, 4, true, 0}}, Heads{3, 7, {4, 2, 6, true, 10000}},
          Heads{1, 9, {3, 1, 3, false, 0}}, Heads{2, 6, {2, 1, 8, false, 100}},
          Heads{2, 33, {4, 4, 16, true, 10000}}, Heads{1, 70, {2, 2, 20, true, 0}}}) {
        const AttentionAttributes& a = h.attributes;
        cases.push_back({.kind = OperationKind::Attention,
                         .attributes = a,
                         .rows = h.rows,
                         .input = {h.positions, (a.heads + 2 * a.kvHeads) * a.headSize},
                         .tolerance = 4e-6});
    }
}

/// Layouts: of the inputs, then of the output.
void addJoin(Cases& cases, OperationKind kind, const OperationAttributes& attributes,
             std::int64_t rows, const std::vector<Shape>& inputs,
             const std::vector<Layout>& layouts) {
    OperationCase c{.kind = kind,
                    .attributes = attributes,
                    .rows = rows,
                    .input = inputs.front(),
                    .inputLayout = layouts.front(),
                    .outputLayout = layouts.back(),
                    .tolerance = kind == OperationKind::Concat ? 0 : 5e-7};
    for (std::size_t i = 1; i < inputs.size(); ++i)
        c.moreInputs.push_back({inputs[i], layouts[i]});
    cases.push_back(c);
}

void addJoins(Cases& cases) {
    for (const OperationKind kind : {OperationKind::Add, OperationKind::Multiply}) {
        const auto add = [&](std::int64_t rows, const Shape& shape, std::vector<Layout> layouts) {
            addJoin(cases, kind, {}, rows, std::vector<Shape>(layouts.size() - 1, shape), layouts);
        };
        add(0, {3}, {kPlain, kPlain, kPlain});
        add(1, {1}, {kPlain, kPlain, kPlain});
        add(5, {7, 33}, {kPlain, kPlain, kPlain});
        add(3, {5, 3, 7}, {kPlain, kPlain, kPlain, kPlain});
        add(2, {20, 3, 5}, {kBlocked, kBlocked, kBlocked});
        add(2, {20, 3, 5}, {kBlocked, kPlain, kPlain});
        add(2, {20, 3, 5}, {kPlain, kBlocked, kBlocked, kPlain});
    }
    const auto add = [&](std::int64_t axis, std::int64_t rows, const std::vector<Shape>& inputs,
                         const std::vector<Layout>& layouts) {
        addJoin(cases, OperationKind::Concat, ConcatAttributes{axis}, rows, inputs, layouts);
    };
    add(0, 0, {{3}, {4}}, {kPlain, kPlain, kPlain});
    add(0, 1, {{1}, {1}}, {kPlain, kPlain, kPlain});
    add(1, 3, {{5, 3}, {5, 4}, {5, 1}}, {kPlain, kPlain, kPlain, kPlain});
    add(0, 3, {{2, 6}, {7, 6}}, {kPlain, kPlain, kPlain});
    add(2, 2, {{3, 4, 2}, {3, 4, 5}}, {kPlain, kPlain, kPlain});
    add(0, 2, {{16, 3, 5}, {32, 3, 5}}, {kBlocked, kBlocked, kBlocked});
    add(0, 2, {{20, 3, 5}, {16, 3, 5}}, {kBlocked, kBlocked, kPlain});
    add(0, 2, {{3, 3, 5}, {16, 3, 5}}, {kPlain, kBlocked, kPlain});
}

void addElementwise(Cases& cases, OperationKind kind, const OperationAttributes& attributes,
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
        addElementwise(cases, OperationKind::Reshape, ReshapeAttributes{{elementCount(s.input)}},
                       s.rows, s.input, s.layout, 0);
        for (const bool tanh : {false, true})
            addElementwise(cases, OperationKind::Gelu, GeluAttributes{tanh}, s.rows, s.input,
                           s.layout, 1e-6);
        for (const OperationKind kind : {OperationKind::Silu, OperationKind::Tanh,
                                         OperationKind::Sigmoid, OperationKind::Softmax})
            addElementwise(cases, kind, {}, s.rows, s.input, s.layout, 1e-6);
        for (const double probability : {0.5, 0.1, 0.0})
            addElementwise(cases, OperationKind::Dropout, DropoutAttributes{probability, 3}, s.rows,
                           s.input, s.layout, 1e-7);
    }
}

void addLosses(Cases& cases) {
    struct Size {
        std::int64_t rows;
        Shape scores;
        CrossEntropyAttributes attributes = {};
    };
    for (const Size& s :
         {Size{0, {10}}, Size{1, {2}}, Size{5, {1}}, Size{33, {10}}, Size{128, {10}},
          Size{7, {100}}, Size{3, {1000}}, Size{9, {10}, {0.1, -1}}, Size{4, {7, 13}},
          Size{3, {5, 6}, {0.2, 2}}, Size{2, {9, 257}, {0, 100}}, Size{1, {1, 4}, {0.5, 9}}})
        cases.push_back({.kind = OperationKind::SoftmaxCrossEntropy,
                         .attributes = s.attributes,
                         .rows = s.rows,
                         .input = s.scores,
                         .tolerance = 1e-6});
    for (const auto& [rows, numbers] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, 3}, {1, 1}, {33, 1}, {5, 17}, {64, 130}}) {
        const auto add = [&](OperationKind kind, const OperationAttributes& attributes) {
            cases.push_back({.kind = kind,
                             .attributes = attributes,
                             .rows = rows,
                             .input = {numbers},
                             .tolerance = 1e-6});
        };
        add(OperationKind::BinaryCrossEntropy, {});
        add(OperationKind::MeanSquaredError, {});
        add(OperationKind::MeanAbsoluteError, {});
        add(OperationKind::Huber, HuberAttributes{1});
        add(OperationKind::Huber, HuberAttributes{0.3});
    }
}

template <class Attributes>
void describeWindow(std::ostream& out, const Attributes& a) {
    out << " kernel " << a.kernelHeight << "x" << a.kernelWidth << " stride " << a.strideHeight
        << "x" << a.strideWidth << " padding " << a.paddingHeight << "x" << a.paddingWidth;
}

void describeShape(std::ostream& out, const Shape& shape) {
    for (const std::int64_t extent : shape)
        out << " " << extent;
}

void describeAttributes(std::ostream& out, const OperationAttributes& attributes) {
    if (const auto* linear = std::get_if<LinearAttributes>(&attributes)) {
        out << " -> " << linear->outFeatures << (linear->bias ? "" : " no bias");
    } else if (const auto* conv = std::get_if<Conv2dAttributes>(&attributes)) {
        out << " -> " << conv->outChannels << (conv->bias ? "" : " no bias");
        describeWindow(out, *conv);
        if (conv->groups != 1)
            out << " groups " << conv->groups;
        if (conv->dilationHeight != 1 || conv->dilationWidth != 1)
            out << " dilation " << conv->dilationHeight << "x" << conv->dilationWidth;
    } else if (const auto* pool = std::get_if<PoolAttributes>(&attributes)) {
        describeWindow(out, *pool);
    } else if (const auto* dropout = std::get_if<DropoutAttributes>(&attributes)) {
        out << " probability " << dropout->probability;
    } else if (const auto* table = std::get_if<EmbeddingAttributes>(&attributes)) {
        out << " of " << table->vocabulary << " -> " << table->features;
    } else if (const auto* a = std::get_if<AttentionAttributes>(&attributes)) {
        out << " heads " << a->heads << "/" << a->kvHeads << " of " << a->headSize
            << (a->causal ? " causal" : "") << " rotary " << a->rotaryBase;
    } else if (const auto* gelu = std::get_if<GeluAttributes>(&attributes)) {
        out << (gelu->tanh ? " tanh" : "");
    } else if (const auto* concat = std::get_if<ConcatAttributes>(&attributes)) {
        out << " axis " << concat->axis;
    } else if (const auto* loss = std::get_if<CrossEntropyAttributes>(&attributes)) {
        out << " smoothing " << loss->labelSmoothing << " without " << loss->ignoredLabel;
    } else if (const auto* huber = std::get_if<HuberAttributes>(&attributes)) {
        out << " delta " << huber->delta;
    }
}

std::string nameOf(const OperationCase& c) {
    std::ostringstream out;
    out << name(c.kind) << " " << c.rows << " rows of";
    describeShape(out, c.input);
    for (const Port& port : c.moreInputs) {
        out << " and";
        describeShape(out, port.shape);
    }
    describeAttributes(out, c.attributes);
    return out.str();
}

} // namespace

const std::vector<OperationCase>& operationCases() {
    static const std::vector<OperationCase> cases = [] {
        Cases all;
        addLinears(all);
        addConvolutions(all);
        addPools(all);
        addNorms(all);
        addSequences(all);
        addJoins(all);
        addElementwises(all);
        addLosses(all);
        for (OperationCase& c : all)
            c.name = nameOf(c);
        return all;
    }();
    return cases;
}

} // namespace trainyard::test
