// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Catalogue entries of layers, in the order of the palette, and of losses.
#include "engine/spec/catalogue_fields.h"

namespace trainyard::spec {

namespace {

constexpr const char* kLayers = "Layers";
constexpr const char* kNormalise = "Normalise and activate";
constexpr const char* kShape = "Pool and shape";
constexpr const char* kJoin = "Join";
constexpr const char* kSequence = "Sequences";
constexpr const char* kBlocks = "Blocks";

FieldInfo biasField() {
    return toggle("bias", "Bias", true, "Adds a learned number to each output.");
}

FieldInfo initField() {
    return choice("init", "First weights",
                  {"default", "kaiming_uniform", "kaiming_normal", "xavier_uniform",
                   "xavier_normal", "normal", "zeros", "ones"},
                  "How the weights are drawn before training.");
}

FieldInfo epsilonField() {
    return aboveZero(real("epsilon", "Epsilon", 1e-5, 0, 1,
                          "Added to the variance, so that nothing is divided by zero."));
}

FieldInfo strideField() {
    return pair("stride", "Stride", 1, 1, "How far the window moves at once.");
}

std::vector<FieldInfo> poolFields() {
    return {pair("kernel", "Window", 2, 1),
            pair("stride", "Stride", 0, 0, "0: as large as the window."),
            pair("padding", "Padding", 0, 0)};
}

std::vector<FieldInfo> attentionFields() {
    return {integer("heads", "Heads", 4, 1, 1024),
            integer("kv_heads", "Key heads", 0, 0, 1024,
                    "Fewer key and value heads than heads save memory; 0: as many."),
            toggle("causal", "Causal", true, "A position sees itself and those before it only."),
            toggle("rotary", "Rotary positions", false,
                   "Turns queries and keys by their position, so that only distances count.")};
}

TypeInfo layer(std::string type, std::string label, const char* category, std::string icon,
               std::string help, std::vector<FieldInfo> fields = {}) {
    return {.kind = Kind::Layer,
            .type = std::move(type),
            .label = std::move(label),
            .category = category,
            .icon = std::move(icon),
            .help = std::move(help),
            .fields = std::move(fields)};
}

std::vector<TypeInfo> weightedLayers() {
    return {
        layer("linear", "Dense", kLayers, "dense", "Each output is a weighted sum of all inputs.",
              {integer("out_features", "Outputs", std::nullopt, 1, kMaxExtent), biasField(),
               initField(),
               text("tied_to", "Weights of", "",
                    "A layer whose weights serve here too, for example the embedding.")}),
        layer("conv2d", "Convolution", kLayers, "conv",
              "Slides small windows over the picture; each looks for one pattern and writes where "
              "it found it.",
              {integer("out_channels", "Filters", std::nullopt, 1, kMaxExtent),
               pair("kernel", "Kernel", 3, 1), strideField(),
               pair("padding", "Padding", 0, 0, "Rows and columns of zeros around the picture."),
               biasField(),
               pair("dilation", "Dilation", 1, 1, "Distance between the elements of a window."),
               integer("groups", "Groups", 1, 1, kMaxExtent,
                       "Convolutions side by side, each on its share of the channels."),
               initField()}),
    };
}

std::vector<TypeInfo> activations() {
    return {
        layer("batch_norm", "Batch norm", kNormalise, "norm",
              "Brings each channel to mean 0 and deviation 1 over the batch.",
              {epsilonField(),
               belowOne(aboveZero(real("momentum", "Momentum", 0.1, 0, 1,
                                       "Share of the newest batch in the running statistics."))),
               toggle("synchronized", "All ranks together", true,
                      "Statistics over the whole batch, not over each rank's part.")}),
        layer("layer_norm", "Layer norm", kNormalise, "norm",
              "Brings the features of each position to mean 0 and deviation 1.", {epsilonField()}),
        layer("rms_norm", "RMS norm", kNormalise, "norm",
              "Divides the features of each position by their root mean square.", {epsilonField()}),
        layer("relu", "ReLU", kNormalise, "activation",
              "Passes positive values and cuts negative ones to zero."),
        layer("gelu", "GELU", kNormalise, "activation", "A smooth ReLU, usual in transformers.",
              {choice("approximation", "Form", {"none", "tanh"},
                      "None: by the error function. Tanh: as GPT-2 computes it.")}),
        layer("silu", "SiLU", kNormalise, "activation",
              "The value times its sigmoid; also called swish."),
        layer("tanh", "Tanh", kNormalise, "activation", "Squeezes values between -1 and 1."),
        layer("sigmoid", "Sigmoid", kNormalise, "activation", "Squeezes values between 0 and 1."),
        layer("softmax", "Softmax", kNormalise, "softmax",
              "Turns scores into shares that add up to 1. The cross-entropy loss does this by "
              "itself."),
        layer("dropout", "Dropout", kNormalise, "dropout",
              "While training, sets a random share of the values to zero so that the model does "
              "not rely on any single one.",
              {belowOne(real("probability", "Share dropped", 0.5, 0, 1))}),
    };
}

std::vector<TypeInfo> shapes() {
    return {
        layer("max_pool", "Max pool", kShape, "pool", "Keeps the largest value of each window.",
              poolFields()),
        layer("avg_pool", "Average pool", kShape, "pool", "Keeps the mean of each window.",
              poolFields()),
        layer("global_avg_pool", "Global average pool", kShape, "pool",
              "One number for each channel: its mean over the picture."),
        layer("flatten", "Flatten", kShape, "flatten", "Writes a picture as one row of numbers."),
        layer("reshape", "Reshape", kShape, "reshape", "The same numbers in another shape.",
              {FieldInfo{.name = "shape",
                         .label = "Shape",
                         .kind = FieldKind::IntegerList,
                         .minimum = 1,
                         .maximum = kMaxExtent}}),
        layer("add", "Add", kJoin, "add", "Adds up branches of one shape."),
        layer("multiply", "Multiply", kJoin, "scatter",
              "Multiplies branches of one shape, element by element."),
        layer("concat", "Concatenate", kJoin, "concat",
              "Puts branches side by side: channels of pictures, features of anything else."),
    };
}

std::vector<TypeInfo> sequences() {
    std::vector<FieldInfo> attention = attentionFields();
    attention.push_back(biasField());
    return {
        layer("embedding", "Embedding", kSequence, "embedding",
              "Looks up a learned vector for each word or character.",
              {integer("vocabulary", "Vocabulary", std::nullopt, 1, 1 << 24),
               integer("features", "Features", std::nullopt, 1, kMaxExtent),
               choice("init", "First weights",
                      {"normal", "default", "xavier_uniform", "xavier_normal", "zeros"},
                      "How the vectors are drawn before training.")}),
        layer("position_embedding", "Positions", kSequence, "embedding",
              "Adds a learned vector for each position."),
        layer("attention", "Attention", kSequence, "attention",
              "Each position gathers from the others what it needs.", std::move(attention)),
    };
}

std::vector<TypeInfo> blocks() {
    std::vector<FieldInfo> transformer = attentionFields();
    const std::vector<FieldInfo> more = {
        integer("feed_forward", "Feed-forward", 0, 0, kMaxExtent,
                "Features between the two dense layers; 0: four times the width."),
        choice("activation", "Activation", {"gelu", "silu", "relu"}),
        choice("norm", "Norm", {"layer_norm", "rms_norm"}),
        belowOne(real("dropout", "Share dropped", 0, 0, 1))};
    transformer.insert(transformer.end(), more.begin(), more.end());
    const FieldInfo filters = integer("out_channels", "Filters", std::nullopt, 1, kMaxExtent);
    return {
        layer("residual_block", "Residual block", kBlocks, "repeat",
              "Two convolutions with norms and a way around them.", {filters, strideField()}),
        layer("bottleneck_block", "Bottleneck block", kBlocks, "repeat",
              "Three convolutions, the middle one narrow, and a way around them.",
              {filters, strideField()}),
        layer("transformer_block", "Transformer block", kBlocks, "attention",
              "Attention and two dense layers, each with a norm before and a way around.",
              std::move(transformer)),
    };
}

TypeInfo loss(std::string type, std::string label, std::string help,
              std::vector<FieldInfo> fields = {}) {
    return {.kind = Kind::Loss,
            .type = std::move(type),
            .label = std::move(label),
            .icon = "loss",
            .help = std::move(help),
            .fields = std::move(fields)};
}

} // namespace

std::vector<TypeInfo> layerEntries() {
    std::vector<TypeInfo> all;
    for (auto part : {weightedLayers, activations, shapes, sequences, blocks})
        for (TypeInfo& type : part())
            all.push_back(std::move(type));
    return all;
}

std::vector<TypeInfo> lossEntries() {
    return {
        loss("cross_entropy", "Cross-entropy", "How surprised the model is by the right class.",
             {belowOne(real("label_smoothing", "Label smoothing", 0, 0, 1,
                            "This share of the target is spread evenly over all classes.")),
              integer("ignored_label", "Ignored label", -1, -1, 1 << 30,
                      "Samples with this label count for nothing; -1: none.")}),
        loss("binary_cross_entropy", "Binary cross-entropy",
             "How surprised the model is by a yes or no; the last layer gives scores, not shares."),
        loss("mse", "Mean squared error", "The square of how far predictions are off."),
        loss("mae", "Mean absolute error", "How far predictions are off."),
        loss("huber", "Huber", "Squared for small errors, absolute for large ones.",
             {aboveZero(real("delta", "Delta", 1, 0, kInfinity,
                             "The size of error at which it changes over."))}),
    };
}

} // namespace trainyard::spec
