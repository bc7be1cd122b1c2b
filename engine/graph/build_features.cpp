// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Layers that work on features, element by element, and those that join or change shapes.
#include "engine/graph/build_operations.h"

#include <algorithm>
#include <utility>

namespace trainyard::graph {

namespace {

/// The weight of another layer, an embedding for example, serves here too: {out, in}.
ValueId addTiedLinear(LayerBuilder& builder, const std::string& tied, std::int64_t out, bool bias) {
    Shape shape = builder.shape(builder.input());
    const std::int64_t in = std::exchange(shape.back(), out);
    const auto& parameters = builder.graph().parameters;
    const auto found = std::ranges::find(parameters, tied + ".weight", &ParameterInfo::name);
    if (found == parameters.end())
        return builder.problem("tied_to",
                               {"No layer \"%1\" before this one has a weight.", {tied}});
    if (found->shape != Shape{out, in})
        return builder.problem(
            "tied_to", {"The weight of \"%1\" is %2, but %3 needs %4.",
                        {tied, describe(found->shape), builder.id(), describe(Shape{out, in})}});
    std::vector<ParameterId> ids = {static_cast<ParameterId>(found - parameters.begin())};
    if (bias)
        ids.push_back(
            builder.addParameter("", "bias", {out}, initializer("default", in, out), false));
    return builder.addOperation("", OperationKind::Linear, LinearAttributes{in, out, bias},
                                {builder.input()}, shape, std::move(ids));
}

ValueId buildLinear(LayerBuilder& builder) {
    const Shape& in = builder.shape(builder.input());
    if (in.size() > 2)
        return builder.problem("", {"%1 needs a vector; it gets %2.", {builder.id(), describe(in)}},
                               {"Insert a flatten layer before it."});
    const std::int64_t out = builder.integer("out_features");
    const bool bias = builder.toggle("bias");
    if (const std::string tied = builder.text("tied_to"); !tied.empty())
        return addTiedLinear(builder, tied, out, bias);
    const Initializer weight = initializer(builder.text("init"), in.back(), out);
    return addLinear(builder, "", builder.input(), out, bias, &weight);
}

ValueId buildBatchNorm(LayerBuilder& builder) {
    return addBatchNorm(builder, "", builder.input(),
                        {.epsilon = builder.real("epsilon"),
                         .momentum = builder.real("momentum"),
                         .synchronized = builder.toggle("synchronized")});
}

ValueId buildLayerNorm(LayerBuilder& builder) {
    return addLayerNorm(builder, "", builder.input(), builder.real("epsilon"));
}

ValueId buildRmsNorm(LayerBuilder& builder) {
    return addRmsNorm(builder, "", builder.input(), builder.real("epsilon"));
}

template <OperationKind kind>
ValueId buildSame(LayerBuilder& builder) {
    return addSame(builder, "", kind, builder.input());
}

ValueId buildGelu(LayerBuilder& builder) {
    return addSame(builder, "", OperationKind::Gelu, builder.input(),
                   GeluAttributes{builder.text("approximation") == "tanh"});
}

ValueId buildDropout(LayerBuilder& builder) {
    return addSame(builder, "", OperationKind::Dropout, builder.input(),
                   DropoutAttributes{builder.real("probability"), 0});
}

template <OperationKind kind>
ValueId buildJoin(LayerBuilder& builder) {
    const Shape first = builder.shape(builder.input());
    for (const ValueId input : builder.inputs())
        if (builder.shape(input) != first)
            return builder.problem(
                "from", {"%1 joins inputs of one shape; it gets %2 and %3.",
                         {builder.id(), describe(first), describe(builder.shape(input))}});
    return builder.addOperation("", kind, {}, builder.inputs(), first);
}

/// Pictures are put together along their channels, everything else along its last extent.
ValueId buildConcat(LayerBuilder& builder) {
    Shape out = builder.shape(builder.input());
    const std::size_t axis = out.size() == 3 ? 0 : out.size() - 1;
    out[axis] = 0;
    for (const ValueId input : builder.inputs()) {
        Shape shape = builder.shape(input);
        const bool fits = shape.size() == out.size();
        if (fits)
            out[axis] += std::exchange(shape[axis], out[axis]);
        shape[fits ? axis : 0] = out[axis];
        if (!fits || shape != out)
            return builder.problem("from",
                                   {"%1 joins inputs that differ in one extent only; it gets %2 "
                                    "and %3.",
                                    {builder.id(), describe(builder.shape(builder.input())),
                                     describe(builder.shape(input))}});
    }
    if (elementCount(out) > kMaxElements)
        return builder.problem("from", {"Together the inputs are too large."});
    return builder.addOperation("", OperationKind::Concat,
                                ConcatAttributes{static_cast<std::int64_t>(axis)}, builder.inputs(),
                                out);
}

ValueId buildFlatten(LayerBuilder& builder) {
    const Shape flat = {elementCount(builder.shape(builder.input()))};
    return builder.addOperation("", OperationKind::Reshape, ReshapeAttributes{flat},
                                {builder.input()}, flat);
}

ValueId buildReshape(LayerBuilder& builder) {
    const Shape& in = builder.shape(builder.input());
    const Shape shape = builder.list("shape");
    if (shape.size() > 3)
        return builder.problem("shape", {"A shape has at most three extents."});
    if (elementCount(shape) != elementCount(in))
        return builder.problem("shape", {"%1 has %2 elements, %3 has %4.",
                                         {describe(in), std::to_string(elementCount(in)),
                                          describe(shape), std::to_string(elementCount(shape))}});
    return builder.addOperation("", OperationKind::Reshape, ReshapeAttributes{shape},
                                {builder.input()}, shape);
}

} // namespace

ValueId addLinear(LayerBuilder& builder, const std::string& part, ValueId input,
                  std::int64_t outFeatures, bool bias, const Initializer* weight) {
    if (input < 0)
        return -1;
    Shape shape = builder.shape(input);
    const std::int64_t in = std::exchange(shape.back(), outFeatures);
    if (std::max(elementCount({in, outFeatures}), elementCount(shape)) > kMaxElements)
        return builder.problem("out_features", {"%1 × %2 weights are too many for one layer.",
                                                {std::to_string(in), std::to_string(outFeatures)}});
    const Initializer usual = initializer("default", in, outFeatures);
    std::vector<ParameterId> parameters = {
        builder.addParameter(part, "weight", {outFeatures, in}, weight ? *weight : usual, true)};
    if (bias)
        parameters.push_back(builder.addParameter(part, "bias", {outFeatures}, usual, false));
    return builder.addOperation(part, OperationKind::Linear,
                                LinearAttributes{in, outFeatures, bias}, {input}, shape,
                                std::move(parameters));
}

ValueId addBatchNorm(LayerBuilder& builder, const std::string& part, ValueId input,
                     const NormAttributes& attributes) {
    if (input < 0)
        return -1;
    const Shape in = builder.shape(input);
    if (in.size() == 2)
        return builder.problem(
            "", {"%1 needs a picture or a vector; it gets %2.", {builder.id(), describe(in)}},
            {"Use a layer norm for sequences."});
    const Shape channels = {in[0]};
    return builder.addOperation(
        part, OperationKind::BatchNorm, attributes, {input}, in,
        {builder.addParameter(part, "weight", channels, {Distribution::Constant, 1}, false),
         builder.addParameter(part, "bias", channels, {}, false),
         builder.addStatistic(part, "running_mean", channels, 0, attributes.momentum),
         builder.addStatistic(part, "running_var", channels, 1, attributes.momentum)});
}

ValueId addLayerNorm(LayerBuilder& builder, const std::string& part, ValueId input,
                     double epsilon) {
    if (input < 0)
        return -1;
    const Shape in = builder.shape(input);
    if (in.size() == 3)
        return builder.problem(
            "",
            {"%1 needs features or a sequence of them; it gets %2.", {builder.id(), describe(in)}},
            {"Use a batch norm for pictures."});
    const Shape features = {in.back()};
    return builder.addOperation(
        part, OperationKind::LayerNorm, NormAttributes{.epsilon = epsilon}, {input}, in,
        {builder.addParameter(part, "weight", features, {Distribution::Constant, 1}, false),
         builder.addParameter(part, "bias", features, {}, false)});
}

ValueId addRmsNorm(LayerBuilder& builder, const std::string& part, ValueId input, double epsilon) {
    if (input < 0)
        return -1;
    const Shape in = builder.shape(input);
    if (in.size() == 3)
        return builder.problem(
            "",
            {"%1 needs features or a sequence of them; it gets %2.", {builder.id(), describe(in)}},
            {"Use a batch norm for pictures."});
    return builder.addOperation(
        part, OperationKind::RmsNorm, NormAttributes{.epsilon = epsilon}, {input}, in,
        {builder.addParameter(part, "weight", {in.back()}, {Distribution::Constant, 1}, false)});
}

ValueId addSame(LayerBuilder& builder, const std::string& part, OperationKind kind, ValueId input,
                OperationAttributes attributes) {
    if (input < 0)
        return -1;
    const Shape shape = builder.shape(input);
    return builder.addOperation(part, kind, std::move(attributes), {input}, shape);
}

ValueId addSum(LayerBuilder& builder, const std::string& part, ValueId a, ValueId b) {
    if (a < 0 || b < 0)
        return -1;
    const Shape shape = builder.shape(a);
    return builder.addOperation(part, OperationKind::Add, {}, {a, b}, shape);
}

BuildFunctions featureLayers() {
    return {{"linear", buildLinear},
            {"batch_norm", buildBatchNorm},
            {"layer_norm", buildLayerNorm},
            {"rms_norm", buildRmsNorm},
            {"relu", buildSame<OperationKind::Relu>},
            {"gelu", buildGelu},
            {"silu", buildSame<OperationKind::Silu>},
            {"tanh", buildSame<OperationKind::Tanh>},
            {"sigmoid", buildSame<OperationKind::Sigmoid>},
            {"softmax", buildSame<OperationKind::Softmax>},
            {"dropout", buildDropout},
            {"add", buildJoin<OperationKind::Add>},
            {"multiply", buildJoin<OperationKind::Multiply>},
            {"concat", buildConcat},
            {"flatten", buildFlatten},
            {"reshape", buildReshape}};
}

} // namespace trainyard::graph
