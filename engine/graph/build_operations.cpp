// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/build_operations.h"

#include "engine/base/check.h"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard::graph {

namespace {

std::int64_t windowsAlong(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                          std::int64_t padding) {
    const std::int64_t room = extent + 2 * padding - kernel;
    return room < 0 ? 0 : room / stride + 1;
}

ValueId needsPicture(LayerBuilder& builder) {
    return builder.problem("", {"%1 needs a picture [channels, height, width]; it gets %2.",
                                {builder.layer().id, describe(builder.inputShape())}});
}

ValueId windowTooLarge(LayerBuilder& builder) {
    const Shape& in = builder.inputShape();
    const auto kernel = builder.pair("kernel");
    return builder.problem("kernel",
                           {"The window of %1 × %2 does not fit into %3 × %4.",
                            {std::to_string(kernel[0]), std::to_string(kernel[1]),
                             std::to_string(in[1]), std::to_string(in[2])}},
                           {"Use a smaller window or more padding."});
}

ValueId buildLinear(LayerBuilder& builder) {
    const Shape& in = builder.inputShape();
    if (in.size() != 1)
        return builder.problem(
            "", {"%1 needs a vector; it gets %2.", {builder.layer().id, describe(in)}},
            {"Insert a flatten layer before it."});
    const std::int64_t out = builder.integer("out_features");
    if (elementCount({in[0], out}) > kMaxElements)
        return builder.problem("out_features", {"%1 × %2 weights are too many for one layer.",
                                                {std::to_string(in[0]), std::to_string(out)}});
    const bool bias = builder.toggle("bias");
    std::vector<ParameterId> parameters = {
        builder.addParameter("weight", {out, in[0]}, Initializer::KaimingUniform, in[0], true)};
    if (bias)
        parameters.push_back(
            builder.addParameter("bias", {out}, Initializer::FanInUniform, in[0], false));
    return builder.addOperation(OperationKind::Linear, LinearAttributes{in[0], out, bias}, {out},
                                std::move(parameters));
}

ValueId buildConv2d(LayerBuilder& builder) {
    const Shape& in = builder.inputShape();
    if (in.size() != 3)
        return needsPicture(builder);
    const auto kernel = builder.pair("kernel");
    const auto stride = builder.pair("stride");
    const auto padding = builder.pair("padding");
    const std::int64_t out = builder.integer("out_channels");
    const std::int64_t height = windowsAlong(in[1], kernel[0], stride[0], padding[0]);
    const std::int64_t width = windowsAlong(in[2], kernel[1], stride[1], padding[1]);
    if (height < 1 || width < 1)
        return windowTooLarge(builder);
    const Shape weight = {out, in[0], kernel[0], kernel[1]};
    if (std::max(elementCount(weight), elementCount({out, height, width})) > kMaxElements)
        return builder.problem("out_channels",
                               {"%1 filters make too large a layer.", {std::to_string(out)}});
    const std::int64_t fanIn = in[0] * kernel[0] * kernel[1];
    const bool bias = builder.toggle("bias");
    std::vector<ParameterId> parameters = {
        builder.addParameter("weight", weight, Initializer::KaimingUniform, fanIn, true)};
    if (bias)
        parameters.push_back(
            builder.addParameter("bias", {out}, Initializer::FanInUniform, fanIn, false));
    const Conv2dAttributes attributes{in[0],     out,        kernel[0],  kernel[1], stride[0],
                                      stride[1], padding[0], padding[1], bias};
    return builder.addOperation(OperationKind::Conv2d, attributes, {out, height, width},
                                std::move(parameters));
}

ValueId buildMaxPool(LayerBuilder& builder) {
    const Shape& in = builder.inputShape();
    if (in.size() != 3)
        return needsPicture(builder);
    const auto kernel = builder.pair("kernel");
    auto stride = builder.pair("stride");
    for (std::size_t i = 0; i < 2; ++i)
        stride[i] = stride[i] == 0 ? kernel[i] : stride[i];
    const auto padding = builder.pair("padding");
    if (2 * padding[0] > kernel[0] || 2 * padding[1] > kernel[1])
        return builder.problem("padding", {"Padding may be at most half the window."});
    const std::int64_t height = windowsAlong(in[1], kernel[0], stride[0], padding[0]);
    const std::int64_t width = windowsAlong(in[2], kernel[1], stride[1], padding[1]);
    if (height < 1 || width < 1)
        return windowTooLarge(builder);
    const PoolAttributes attributes{kernel[0], kernel[1],  stride[0],
                                    stride[1], padding[0], padding[1]};
    return builder.addOperation(OperationKind::MaxPool, attributes, {in[0], height, width});
}

ValueId buildRelu(LayerBuilder& builder) {
    return builder.addOperation(OperationKind::Relu, {}, builder.inputShape());
}

ValueId buildFlatten(LayerBuilder& builder) {
    return builder.addOperation(OperationKind::Flatten, {}, {elementCount(builder.inputShape())});
}

ValueId buildDropout(LayerBuilder& builder) {
    return builder.addOperation(OperationKind::Dropout,
                                DropoutAttributes{builder.real("probability"), 0},
                                builder.inputShape());
}

using BuildFunction = ValueId (*)(LayerBuilder&);

const std::map<std::string, BuildFunction, std::less<>>& buildFunctions() {
    static const std::map<std::string, BuildFunction, std::less<>> functions = {
        {"linear", buildLinear}, {"conv2d", buildConv2d},   {"max_pool", buildMaxPool},
        {"relu", buildRelu},     {"flatten", buildFlatten}, {"dropout", buildDropout}};
    return functions;
}

} // namespace

LayerBuilder::LayerBuilder(Graph& graph, const spec::LayerSpec& layer, const spec::TypeInfo& type,
                           std::vector<ValueId> inputs, std::string where, Problems& problems)
    : m_graph(graph), m_layer(layer), m_type(type), m_inputs(std::move(inputs)),
      m_where(std::move(where)), m_problems(problems) {}

ValueId LayerBuilder::build() {
    const auto found = buildFunctions().find(m_type.type);
    TRAINYARD_CHECK_MSG(found != buildFunctions().end(), m_type.type);
    if (m_inputs.size() != 1)
        return problem("from", {"%1 takes one input; %2 are given.",
                                {m_layer.id, std::to_string(m_inputs.size())}});
    return found->second(*this);
}

std::int64_t LayerBuilder::integer(std::string_view field) const {
    return spec::integerOf(m_type, m_layer.values, field);
}

double LayerBuilder::real(std::string_view field) const {
    return spec::realOf(m_type, m_layer.values, field);
}

bool LayerBuilder::toggle(std::string_view field) const {
    return spec::switchOf(m_type, m_layer.values, field);
}

std::vector<std::int64_t> LayerBuilder::pair(std::string_view field) const {
    return spec::pairOf(m_type, m_layer.values, field);
}

const Shape& LayerBuilder::inputShape() const {
    return m_graph.values[static_cast<std::size_t>(m_inputs.front())].shape;
}

ParameterId LayerBuilder::addParameter(const std::string& suffix, Shape shape,
                                       Initializer initializer, std::int64_t fanIn, bool decays) {
    m_graph.parameters.push_back(
        {m_layer.id + "." + suffix, std::move(shape), initializer, fanIn, decays});
    return static_cast<ParameterId>(m_graph.parameters.size() - 1);
}

ValueId LayerBuilder::addOperation(OperationKind kind, OperationAttributes attributes, Shape output,
                                   std::vector<ParameterId> parameters) {
    const auto id = static_cast<OperationId>(m_graph.operations.size());
    if (auto* dropout = std::get_if<DropoutAttributes>(&attributes))
        dropout->stream = static_cast<std::uint32_t>(id);
    for (const ValueId input : m_inputs)
        m_graph.values[static_cast<std::size_t>(input)].consumers.push_back(id);
    const auto value = static_cast<ValueId>(m_graph.values.size());
    m_graph.values.push_back({std::move(output), Layout::Plain, id, {}});
    m_graph.operations.push_back(
        {kind, m_layer.id, std::move(attributes), m_inputs, {value}, std::move(parameters)});
    return value;
}

ValueId LayerBuilder::problem(const std::string& field, Message what, Message cure) {
    m_problems.push_back(
        {std::move(what), field.empty() ? m_where : m_where + "." + field, std::move(cure)});
    return -1;
}

} // namespace trainyard::graph
