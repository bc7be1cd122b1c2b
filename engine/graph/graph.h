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
#include <string_view>
#include <vector>

namespace trainyard::graph {

using ValueId = std::int32_t;
using ParameterId = std::int32_t;
using OperationId = std::int32_t;

/// An identifier as an index.
inline std::size_t at(std::int32_t id) {
    return static_cast<std::size_t>(id);
}

struct ValueInfo {
    Shape shape; ///< per sample
    Layout layout = Layout::Plain;
    OperationId producer = -1; ///< -1: the model's input
    bool indices = false;      ///< Int32, what an embedding looks up; else of the run's type
    bool leaves = false;       ///< operations of another rank read it, too
    std::vector<OperationId> consumers;
};

enum class Distribution { Constant, Uniform, Normal };

/// What a parameter starts with.
struct Initializer {
    Distribution distribution = Distribution::Constant;
    double scale = 0; ///< the constant, the half-width, the standard deviation
    bool operator==(const Initializer&) const = default;
};

/// By its usual name: "default" is U(±1/sqrt(fan in)), what PyTorch's linear and convolution start
/// with; kaiming_uniform and kaiming_normal (He et al., 2015, gain sqrt 2), xavier_uniform and
/// xavier_normal (Glorot and Bengio, 2010), "normal" (deviation 0.02), "zeros", "ones": the choices
/// of the catalogue.
Initializer initializer(std::string_view name, std::int64_t fanIn, std::int64_t fanOut);

struct ParameterInfo {
    std::string name; ///< "conv1.weight": global, independent of any sharding
    Shape shape;
    Initializer initializer;
    bool decays = true; ///< weight decay applies (not to biases and norms)
    /// False: running statistics. They lie among the parameters; the place of their gradient holds
    /// the statistics of the batch, so that one reduction averages both over the ranks.
    bool trained = true;
    double momentum = 0; ///< of running statistics: running += momentum * (batch - running)
};

/// What ranks that share an operation's tensors add up.
enum class TensorSum : std::uint8_t {
    None,
    Output,        ///< the output, after forward: each rank has a part of the sum
    OutputGradient ///< its gradient, before backward: likewise
};

struct Operation {
    OperationKind kind = OperationKind::Linear;
    std::string layer; ///< id of the layer it comes from
    OperationAttributes attributes;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs; ///< the loss has none
    std::vector<ParameterId> parameters;
    TensorSum tensorSum = TensorSum::None; ///< only of a reshape that changes nothing
};

/// The layer of the model that an operation belongs to: "block1" of "block1.norm".
std::string layerOf(const Operation& operation);

class Graph {
public:
    ValueId input = 0;   ///< the batch's pictures, rows ...
    ValueId logits = -1; ///< what the loss takes
    /// Largest index + 1 that the input may hold; 0: the input is no indices.
    std::int64_t vocabulary = 0;
    std::vector<ValueInfo> values;
    std::vector<ParameterInfo> parameters;
    std::vector<Operation> operations; ///< the last is the loss

    /// Of trained parameters.
    std::int64_t parameterElements() const;
    const Operation& loss() const { return operations.back(); }
    /// Labels or numbers that the loss reads for each sample.
    Shape targetShape() const;
    /// Classes that labels must be below; 0 where the loss reads numbers.
    std::int64_t classes() const;
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

/// What must be known of the data, as far as it is known.
struct DataFit {
    std::int64_t classes = 0;    ///< of labels; 0: unknown
    std::int64_t numbers = 0;    ///< a sample's targets are so many numbers; 0: labels, or unknown
    std::int64_t vocabulary = 0; ///< inputs are indices below it; 0: they are not, or unknown
};

/// Paths in problems are "model.layers[3]..." .
BuiltGraph buildGraph(const spec::ModelSpec& model, const DataFit& data);

} // namespace trainyard::graph
