// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// From one layer to its operations: the shape rule of each layer type. A new layer type adds one
// function and its row in build_layer.cpp. Internal to engine/graph.
#pragma once

#include "engine/graph/graph.h"
#include "engine/spec/catalogue.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trainyard::graph {

/// Most elements one value or parameter may have per sample: more is a slip of the keyboard, not a
/// model.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;

/// Adds the operations of one layer to a graph. Every function that makes an operation gives its
/// output, or -1 after a problem was added; -1 as an input gives -1.
class LayerBuilder {
public:
    LayerBuilder(Graph& graph, const spec::LayerSpec& layer, const spec::TypeInfo& type,
                 std::vector<ValueId> inputs, std::string where, Problems& problems);

    /// The layer's output, or -1 after a problem was added.
    ValueId build();

    const std::string& id() const { return m_layer.id; }
    const std::string& where() const { return m_where; }
    const Graph& graph() const { return m_graph; }
    std::int64_t integer(std::string_view field) const;
    double real(std::string_view field) const;
    bool toggle(std::string_view field) const;
    std::string text(std::string_view field) const;
    std::vector<std::int64_t> pair(std::string_view field) const;
    std::vector<std::int64_t> list(std::string_view field) const;

    const std::vector<ValueId>& inputs() const { return m_inputs; }
    ValueId input() const { return m_inputs.front(); }
    const Shape& shape(ValueId value) const;

    /// "conv1" + "weight" -> "block2.conv1.weight"; `part` is empty in a layer of one operation.
    ParameterId addParameter(const std::string& part, const std::string& suffix, Shape shape,
                             Initializer initializer, bool decays);
    ParameterId addStatistic(const std::string& part, const std::string& suffix, Shape shape,
                             double start, double momentum);
    ValueId addOperation(const std::string& part, OperationKind kind,
                         OperationAttributes attributes, std::vector<ValueId> inputs, Shape output,
                         std::vector<ParameterId> parameters = {});
    /// `value` is now indices for an embedding; false: it is not the model's input.
    bool readAsIndices(ValueId value, std::int64_t vocabulary);

    ValueId problem(const std::string& field, Message what, Message cure = {});
    ValueId needsPicture(ValueId input);

private:
    Graph& m_graph;
    const spec::LayerSpec& m_layer;
    const spec::TypeInfo& m_type;
    std::vector<ValueId> m_inputs;
    std::string m_where;
    Problems& m_problems;
};

using BuildFunction = ValueId (*)(LayerBuilder&);
using BuildFunctions = std::map<std::string, BuildFunction, std::less<>>;

// By layer type; one function per file of build functions.
BuildFunctions pictureLayers();
BuildFunctions featureLayers();
BuildFunctions sequenceLayers();
BuildFunctions blockLayers();

struct ConvolutionOptions {
    std::int64_t outChannels = 1;
    std::vector<std::int64_t> kernel = {1, 1}, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
    std::int64_t groups = 1;
    bool bias = true;
    std::string initializer = "default";
};

// Pieces that layers and blocks are made of. `part`: see addParameter.
ValueId addConvolution(LayerBuilder& builder, const std::string& part, ValueId input,
                       const ConvolutionOptions& options);
ValueId addLinear(LayerBuilder& builder, const std::string& part, ValueId input,
                  std::int64_t outFeatures, bool bias, const Initializer* weight = nullptr);
ValueId addBatchNorm(LayerBuilder& builder, const std::string& part, ValueId input,
                     const NormAttributes& attributes);
ValueId addLayerNorm(LayerBuilder& builder, const std::string& part, ValueId input, double epsilon);
ValueId addRmsNorm(LayerBuilder& builder, const std::string& part, ValueId input, double epsilon);
/// Any operation that keeps its input's shape and has no parameters.
ValueId addSame(LayerBuilder& builder, const std::string& part, OperationKind kind, ValueId input,
                OperationAttributes attributes = {});
ValueId addSum(LayerBuilder& builder, const std::string& part, ValueId a, ValueId b);

} // namespace trainyard::graph
