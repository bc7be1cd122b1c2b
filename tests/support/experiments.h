// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Small experiments for tests, as text and as values, and what the reader says about them.
#pragma once

#include "engine/spec/experiment_json.h"

#include <QByteArrayList>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::test {

/// Convolution, pooling, dropout and two dense layers on 28 x 28 pictures; only what must be given.
inline std::string smallExperimentText() {
    return R"({
  "format": "trainyard.experiment/1",
  "name": "small",
  "data": {
    "format": "idx",
    "train": {"images": "train-images.gz", "labels": "train-labels.gz"},
    "validation": {"images": "test-images.gz", "labels": "test-labels.gz"}
  },
  "model": {
    "input": {"shape": [1, 28, 28]},
    "layers": [
      {"id": "conv1", "type": "conv2d", "out_channels": 16, "padding": 1},
      {"id": "relu1", "type": "relu"},
      {"id": "pool1", "type": "max_pool"},
      {"id": "flatten", "type": "flatten"},
      {"id": "dropout", "type": "dropout", "probability": 0.25},
      {"id": "dense", "type": "linear", "out_features": 32},
      {"id": "relu2", "type": "relu"},
      {"id": "classes", "type": "linear", "out_features": 10}
    ]
  },
  "training": {"batch": 128, "epochs": 5, "optimizer": {"type": "adamw", "learning_rate": 0.001}},
  "parallel": {"data": 2}
}
)";
}

using Settings = std::vector<std::pair<std::string, std::string>>;

inline spec::Experiment smallExperiment(const Settings& settings = {}) {
    return spec::parseExperiment(smallExperimentText(), settings).experiment;
}

/// One sentence per problem.
inline QByteArrayList sentences(const Problems& problems) {
    QByteArrayList out;
    for (const Error& error : problems)
        out << QByteArray::fromStdString(error.sentence());
    return out;
}

inline spec::LayerSpec layer(const std::string& id, const std::string& type,
                             spec::Values values = {}, std::vector<std::string> from = {}) {
    return {id, type, std::move(from), std::move(values)};
}

inline spec::Value whole(std::int64_t value) {
    return value;
}

} // namespace trainyard::test
