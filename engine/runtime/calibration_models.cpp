// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/calibration_models.h"

#include "engine/base/check.h"
#include "engine/spec/experiment_json.h"

#include <string>
#include <utility>

namespace trainyard::engine {

namespace {

const std::string kSgd = R"({"type": "sgd", "learning_rate": 0.001, "momentum": 0.9})";
const std::string kAdamW = R"({"type": "adamw", "learning_rate": 0.0001})";

CalibrationModel model(const std::string& input, const std::string& layers,
                       const std::string& optimizer, std::int64_t batch, std::int64_t classes,
                       std::int64_t vocabulary = 0) {
    const std::string text =
        R"({"format": "trainyard.experiment/1", "name": "calibration", "data": {"format": "idx",
           "train": {"images": "none", "labels": "none"}}, "model": {"input": {"shape": )" +
        input + R"(}, "layers": [)" + layers + R"(]}, "training": {"batch": )" +
        std::to_string(batch) + R"(, "optimizer": )" + optimizer + "}}";
    spec::ParsedExperiment parsed = spec::parseExperiment(text);
    TRAINYARD_CHECK_MSG(parsed.problems.empty(),
                        parsed.problems.empty() ? std::string() : parsed.problems[0].sentence());
    const plan::DataCounts counts{.trainSamples = batch * 100000,
                                  .sampleShape = parsed.experiment.model.inputShape,
                                  .classes = classes,
                                  .vocabulary = vocabulary};
    return {std::move(parsed.experiment), counts};
}

std::string linear(const std::string& id, int features) {
    return R"({"id": ")" + id + R"(", "type": "linear", "out_features": )" +
           std::to_string(features) + "}";
}

std::string layer(const std::string& id, const std::string& type) {
    return R"({"id": ")" + id + R"(", "type": ")" + type + R"("},)";
}

std::string conv(const std::string& id, int channels, const std::string& more = "") {
    return R"({"id": ")" + id + R"(", "type": "conv2d", "padding": 1, "out_channels": )" +
           std::to_string(channels) + more + "},";
}

std::string residual(const std::string& id, int channels, int stride) {
    return R"({"id": ")" + id + R"(", "type": "residual_block", "out_channels": )" +
           std::to_string(channels) + R"(, "stride": )" + std::to_string(stride) + "},";
}

std::string mlp(int width) {
    return linear("fc1", width) + "," + layer("relu1", "relu") + linear("fc2", width) + "," +
           layer("norm", "layer_norm") + layer("gelu", "gelu") +
           R"({"id": "drop", "type": "dropout", "probability": 0.1},)" + linear("fc3", 10);
}

std::string cnn(int channels) {
    return conv("conv1", channels) + layer("norm", "batch_norm") + layer("relu1", "relu") +
           R"({"id": "pool1", "type": "max_pool", "kernel": 2},)" + conv("conv2", 2 * channels) +
           layer("relu2", "relu") + layer("pool", "global_avg_pool") + linear("classes", 10);
}

std::string gpt(int vocabulary, int features, int heads, int blocks) {
    std::string text = R"({"id": "tokens", "type": "embedding", "vocabulary": )" +
                       std::to_string(vocabulary) + R"(, "features": )" + std::to_string(features) +
                       "}," + layer("positions", "position_embedding");
    for (int i = 0; i < blocks; ++i)
        text += R"({"id": "block)" + std::to_string(i) +
                R"(", "type": "transformer_block", "heads": )" + std::to_string(heads) + "},";
    return text + layer("norm", "layer_norm") + R"({"id": "head", "type": "linear", "bias": false,
        "out_features": )" +
           std::to_string(vocabulary) + "}";
}

std::string stem(int channels) {
    return conv("stem", channels, R"(, "bias": false)") + layer("norm", "batch_norm") +
           layer("relu", "relu");
}

} // namespace

std::vector<CalibrationModel> calibrationModels() {
    const std::string pool = layer("pool", "global_avg_pool") + linear("classes", 10);
    return {
        model("[32]", mlp(32), kSgd, 8, 10),
        model("[256]", mlp(192), kAdamW, 64, 10),
        model("[784]", mlp(512), kSgd, 128, 10),
        model("[512]", mlp(1024), kAdamW, 256, 10),
        model("[1, 28, 28]", cnn(16), kSgd, 32, 10),
        model("[3, 32, 32]", cnn(32), kAdamW, 64, 10),
        model("[3, 32, 32]",
              stem(64) + residual("block1", 64, 1) + residual("block2", 128, 2) + pool, kSgd, 16,
              10),
        model("[64, 16, 16]",
              residual("block1", 128, 2) + residual("block2", 256, 2) + residual("block3", 512, 2) +
                  pool,
              kSgd, 16, 10),
        model("[32]", gpt(64, 64, 2, 1), kAdamW, 8, 64, 64),
        model("[128]", gpt(256, 128, 4, 1), kAdamW, 8, 256, 256),
        model("[256]", gpt(256, 256, 4, 1), kAdamW, 4, 256, 256),
    };
}

} // namespace trainyard::engine
