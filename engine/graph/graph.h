// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Graph: typed operations with known shapes, made from a model. Operations are in execution order;
// values and parameters are numbered in the order they are made. Shapes are per sample: the batch
// is added where memory is planned. Backward is not a second graph: each operation has a backward
// rule (operation.h says what it reads), run in reverse order.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"
#include "engine/graph/operation.h"
#include "engine/spec/experiment.h"

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::graph {

using ValueId = std::int32_t;
using ParameterId = std::int32_t;
using OperationId = std::int32_t;

struct ValueInfo {
    Shape shape; ///< per sample
    Layout layout = Layout::Plain;
    OperationId producer = -1; ///< -1: the model's input
    std::vector<OperationId> consumers;
};

enum class Initializer { Zeros, Ones, KaimingUniform, FanInUniform };

struct ParameterInfo {
    std::string name; ///< "conv1.weight": global, independent of any sharding
    Shape shape;
    Initializer initializer = Initializer::Zeros;
    std::int64_t fanIn = 1;
    bool decays = true; ///< weight decay applies (not to biases and norms)
};

struct Operation {
    OperationKind kind = OperationKind::Linear;
    std::string layer; ///< id of the layer it comes from
    OperationAttributes attributes;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs; ///< the loss has none
    std::vector<ParameterId> parameters;
};

class Graph {
public:
    ValueId input = 0;   ///< the batch's pictures, rows ...
    ValueId logits = -1; ///< what the loss takes
    std::vector<ValueInfo> values;
    std::vector<ParameterInfo> parameters;
    std::vector<Operation> operations; ///< the last is the loss

    std::int64_t parameterElements() const;
    /// Multiply-adds count two; forward pass of one sample.
    double forwardFlops() const;
    double forwardFlops(const Operation& operation) const;
};

/// One row per layer for editors and `check`: what goes in and out of it.
struct LayerShapes {
    std::string layer;
    std::vector<Shape> inputs;
    Shape output;
    std::int64_t parameters = 0;
    double flops = 0;
};

struct BuiltGraph {
    Graph graph;
    std::vector<LayerShapes> layers;
    /// Empty: the graph is whole. Otherwise `layers` holds what could still be computed.
    Problems problems;
};

/// `classes`: what the data has, 0 when unknown. Paths in problems are "model.layers[3]..." .
BuiltGraph buildGraph(const spec::ModelSpec& model, std::int64_t classes);

} // namespace trainyard::graph
