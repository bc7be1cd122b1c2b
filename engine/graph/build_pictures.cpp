// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Layers that work on pictures {C, H, W}.
#include "engine/graph/build_operations.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace trainyard::graph {

namespace {

std::int64_t windowsAlong(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                          std::int64_t padding) {
    const std::int64_t room = extent + 2 * padding - kernel;
    return room < 0 ? 0 : room / stride + 1;
}

ValueId windowTooLarge(LayerBuilder& builder, const Shape& in,
                       const std::vector<std::int64_t>& window) {
    return builder.problem("kernel",
                           {"The window of %1 × %2 does not fit into %3 × %4.",
                            {std::to_string(window[0]), std::to_string(window[1]),
                             std::to_string(in[1]), std::to_string(in[2])}},
                           {"Use a smaller window or more padding."});
}

ValueId buildConv2d(LayerBuilder& builder) {
    return addConvolution(builder, "", builder.input(),
                          {.outChannels = builder.integer("out_channels"),
                           .kernel = builder.pair("kernel"),
                           .stride = builder.pair("stride"),
                           .padding = builder.pair("padding"),
                           .dilation = builder.pair("dilation"),
                           .groups = builder.integer("groups"),
                           .bias = builder.toggle("bias"),
                           .initializer = builder.text("init")});
}

ValueId buildPool(LayerBuilder& builder, OperationKind kind) {
    const Shape in = builder.shape(builder.input());
    if (in.size() != 3)
        return builder.needsPicture(builder.input());
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
        return windowTooLarge(builder, in, kernel);
    const PoolAttributes attributes{kernel[0], kernel[1],  stride[0],
                                    stride[1], padding[0], padding[1]};
    return builder.addOperation("", kind, attributes, {builder.input()}, {in[0], height, width});
}

ValueId buildMaxPool(LayerBuilder& builder) {
    return buildPool(builder, OperationKind::MaxPool);
}

ValueId buildAveragePool(LayerBuilder& builder) {
    return buildPool(builder, OperationKind::AveragePool);
}

ValueId buildGlobalAveragePool(LayerBuilder& builder) {
    const Shape& in = builder.shape(builder.input());
    if (in.size() != 3)
        return builder.needsPicture(builder.input());
    return builder.addOperation("", OperationKind::GlobalAveragePool, {}, {builder.input()},
                                {in[0]});
}

} // namespace

ValueId addConvolution(LayerBuilder& builder, const std::string& part, ValueId input,
                       const ConvolutionOptions& o) {
    if (input < 0)
        return -1;
    const Shape in = builder.shape(input);
    if (in.size() != 3)
        return builder.needsPicture(input);
    if (in[0] % o.groups != 0 || o.outChannels % o.groups != 0)
        return builder.problem(
            "groups",
            {"%1 groups do not divide %2 channels into %3 filters evenly.",
             {std::to_string(o.groups), std::to_string(in[0]), std::to_string(o.outChannels)}},
            {"Choose a number that divides both."});
    const std::vector<std::int64_t> window = {o.dilation[0] * (o.kernel[0] - 1) + 1,
                                              o.dilation[1] * (o.kernel[1] - 1) + 1};
    const std::int64_t height = windowsAlong(in[1], window[0], o.stride[0], o.padding[0]);
    const std::int64_t width = windowsAlong(in[2], window[1], o.stride[1], o.padding[1]);
    if (height < 1 || width < 1)
        return windowTooLarge(builder, in, window);
    const std::int64_t out = o.outChannels;
    const Shape weight = {out, in[0] / o.groups, o.kernel[0], o.kernel[1]};
    if (std::max(elementCount(weight), elementCount({out, height, width})) > kMaxElements)
        return builder.problem("out_channels",
                               {"%1 filters make too large a layer.", {std::to_string(out)}});
    const std::int64_t plane = o.kernel[0] * o.kernel[1];
    const std::int64_t fanIn = weight[1] * plane;
    const std::int64_t fanOut = out / o.groups * plane;
    std::vector<ParameterId> parameters = {builder.addParameter(
        part, "weight", weight, initializer(o.initializer, fanIn, fanOut), true)};
    if (o.bias)
        parameters.push_back(builder.addParameter(part, "bias", {out},
                                                  initializer("default", fanIn, fanOut), false));
    const Conv2dAttributes attributes{.inChannels = in[0],
                                      .outChannels = out,
                                      .kernelHeight = o.kernel[0],
                                      .kernelWidth = o.kernel[1],
                                      .strideHeight = o.stride[0],
                                      .strideWidth = o.stride[1],
                                      .paddingHeight = o.padding[0],
                                      .paddingWidth = o.padding[1],
                                      .bias = o.bias,
                                      .dilationHeight = o.dilation[0],
                                      .dilationWidth = o.dilation[1],
                                      .groups = o.groups};
    return builder.addOperation(part, OperationKind::Conv2d, attributes, {input},
                                {out, height, width}, std::move(parameters));
}

BuildFunctions pictureLayers() {
    return {{"conv2d", buildConv2d},
            {"max_pool", buildMaxPool},
            {"avg_pool", buildAveragePool},
            {"global_avg_pool", buildGlobalAveragePool}};
}

} // namespace trainyard::graph
