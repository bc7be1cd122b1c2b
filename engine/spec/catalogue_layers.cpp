// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Catalogue entries of layers and losses.
#include "engine/graph/graph.h"
#include "engine/spec/catalogue_fields.h"

namespace trainyard::spec {

std::vector<TypeInfo> layerEntries() {
    const FieldInfo init = choice("init", "First weights", graph::initializerNames(),
                                  "How the weights are drawn before training.");
    const FieldInfo bias = toggle("bias", "Bias", true, "Adds a learned number to each output.");
    return {
        {Kind::Layer,
         "linear",
         "Dense",
         "Layers",
         "dense",
         "Each output is a weighted sum of all inputs.",
         {integer("out_features", "Outputs", std::nullopt, 1, kMaxExtent), bias, init,
          text("tied_to", "Weights of", "",
               "A layer whose weights serve here too, for example the embedding.")}},
        {Kind::Layer,
         "conv2d",
         "Convolution",
         "Layers",
         "conv",
         "Slides small windows over the picture; each looks for one pattern and writes where it "
         "found it.",
         {integer("out_channels", "Filters", std::nullopt, 1, kMaxExtent),
          pair("kernel", "Kernel", 3, 1), pair("stride", "Stride", 1, 1),
          pair("padding", "Padding", 0, 0, "Rows and columns of zeros around the picture."), bias,
          pair("dilation", "Dilation", 1, 1, "Distance between the elements of a window."),
          integer("groups", "Groups", 1, 1, kMaxExtent,
                  "Convolutions side by side, each on its share of the channels."),
          init}},
        {Kind::Layer,
         "relu",
         "ReLU",
         "Normalise and activate",
         "activation",
         "Passes positive values and cuts negative ones to zero.",
         {}},
        {Kind::Layer,
         "dropout",
         "Dropout",
         "Normalise and activate",
         "dropout",
         "While training, sets a random share of the values to zero so that the model does not "
         "rely "
         "on any single one.",
         {belowOne(real("probability", "Share dropped", 0.5, 0, 1))}},
        {Kind::Layer,
         "max_pool",
         "Max pool",
         "Pool and shape",
         "pool",
         "Keeps the largest value of each window.",
         {pair("kernel", "Window", 2, 1),
          pair("stride", "Stride", 0, 0, "0: as large as the window."),
          pair("padding", "Padding", 0, 0)}},
        {Kind::Layer,
         "flatten",
         "Flatten",
         "Pool and shape",
         "flatten",
         "Writes a picture as one row of numbers.",
         {}},
    };
}

std::vector<TypeInfo> lossEntries() {
    return {{Kind::Loss,
             "cross_entropy",
             "Cross-entropy",
             "",
             "loss",
             "How surprised the model is by the right class.",
             {belowOne(real("label_smoothing", "Label smoothing", 0, 0, 1,
                            "This share of the target is spread evenly over all classes.")),
              integer("ignored_label", "Ignored label", -1, -1, 1 << 30,
                      "Samples with this label count for nothing; -1: none.")}}};
}

} // namespace trainyard::spec
