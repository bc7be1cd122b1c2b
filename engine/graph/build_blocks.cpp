// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Blocks: layers that stand for several operations. Residual and bottleneck: He et al., "Deep
// residual learning", 2016, figure 5 (stride in the 3 x 3 convolution). Transformer: norms before
// attention and feed-forward, as in GPT-2.
#include "engine/graph/build_sequences.h"

namespace trainyard::graph {

namespace {

using Extents = std::vector<std::int64_t>;

/// A convolution without bias and the batch norm behind it: "conv1" and "norm1".
ValueId addConvNorm(LayerBuilder& builder, const std::string& number, ValueId input,
                    ConvolutionOptions options) {
    options.bias = false;
    options.initializer = "kaiming_normal";
    const ValueId conv = addConvolution(builder, "conv" + number, input, options);
    return addBatchNorm(builder, "norm" + number, conv, {});
}

ConvolutionOptions three(std::int64_t channels, const Extents& stride) {
    return {.outChannels = channels, .kernel = {3, 3}, .stride = stride, .padding = {1, 1}};
}

ConvolutionOptions one(std::int64_t channels, const Extents& stride) {
    return {.outChannels = channels, .kernel = {1, 1}, .stride = stride};
}

/// The input beside the block, brought to the block's shape where that differs.
ValueId addShortcut(LayerBuilder& builder, std::int64_t channels, const Extents& stride) {
    const ValueId input = builder.input();
    const Shape& in = builder.shape(input);
    if (in.size() == 3 && in[0] == channels && stride == Extents{1, 1})
        return input;
    return addConvNorm(builder, "_shortcut", input, one(channels, stride));
}

ValueId finish(LayerBuilder& builder, ValueId body, ValueId shortcut) {
    return addSame(builder, "relu", OperationKind::Relu, addSum(builder, "add", body, shortcut));
}

ValueId buildResidualBlock(LayerBuilder& builder) {
    const std::int64_t channels = builder.integer("out_channels");
    const Extents stride = builder.pair("stride");
    ValueId x = addConvNorm(builder, "1", builder.input(), three(channels, stride));
    x = addSame(builder, "relu1", OperationKind::Relu, x);
    x = addConvNorm(builder, "2", x, three(channels, {1, 1}));
    if (x < 0)
        return -1;
    return finish(builder, x, addShortcut(builder, channels, stride));
}

ValueId buildBottleneckBlock(LayerBuilder& builder) {
    const std::int64_t channels = builder.integer("out_channels");
    const Extents stride = builder.pair("stride");
    const std::int64_t inner = channels / 4;
    if (inner < 1)
        return builder.problem("out_channels", {"A bottleneck needs at least 4 filters."});
    ValueId x = addConvNorm(builder, "1", builder.input(), one(inner, {1, 1}));
    x = addSame(builder, "relu1", OperationKind::Relu, x);
    x = addConvNorm(builder, "2", x, three(inner, stride));
    x = addSame(builder, "relu2", OperationKind::Relu, x);
    x = addConvNorm(builder, "3", x, one(channels, {1, 1}));
    if (x < 0)
        return -1;
    return finish(builder, x, addShortcut(builder, channels, stride));
}

ValueId addNorm(LayerBuilder& builder, const std::string& part, ValueId input) {
    constexpr double kEpsilon = 1e-5;
    return builder.text("norm") == "rms_norm" ? addRmsNorm(builder, part, input, kEpsilon)
                                              : addLayerNorm(builder, part, input, kEpsilon);
}

OperationKind activationOf(const std::string& name) {
    if (name == "relu")
        return OperationKind::Relu;
    return name == "silu" ? OperationKind::Silu : OperationKind::Gelu;
}

OperationAttributes attributesOf(OperationKind activation) {
    if (activation == OperationKind::Gelu)
        return GeluAttributes{};
    return {};
}

ValueId addDropout(LayerBuilder& builder, const std::string& part, ValueId input) {
    const double probability = builder.real("dropout");
    if (probability <= 0)
        return input;
    return addSame(builder, part, OperationKind::Dropout, input, DropoutAttributes{probability, 0});
}

ValueId buildTransformerBlock(LayerBuilder& builder) {
    const ValueId input = builder.input();
    const Shape in = builder.shape(input);
    if (in.size() != 2)
        return builder.problem("", {"%1 needs a sequence [positions, features]; it gets %2.",
                                    {builder.id(), describe(in)}});
    constexpr Initializer kNarrow{Distribution::Normal, 0.02};
    ValueId x = addNorm(builder, "norm1", input);
    x = addAttention(builder, "attention", x,
                     {.heads = builder.integer("heads"),
                      .kvHeads = builder.integer("kv_heads"),
                      .causal = builder.toggle("causal"),
                      .rotary = builder.toggle("rotary"),
                      .bias = true});
    const ValueId middle = addSum(builder, "add1", input, addDropout(builder, "dropout1", x));
    const std::int64_t wide = builder.integer("feed_forward");
    const OperationKind activation = activationOf(builder.text("activation"));
    x = addNorm(builder, "norm2", middle);
    x = addLinear(builder, "expand", x, wide == 0 ? 4 * in[1] : wide, true, &kNarrow);
    x = addSame(builder, "activation", activation, x, attributesOf(activation));
    x = addLinear(builder, "contract", x, in[1], true, &kNarrow);
    return addSum(builder, "add2", middle, addDropout(builder, "dropout2", x));
}

} // namespace

BuildFunctions blockLayers() {
    return {{"residual_block", buildResidualBlock},
            {"bottleneck_block", buildBottleneckBlock},
            {"transformer_block", buildTransformerBlock}};
}

} // namespace trainyard::graph
