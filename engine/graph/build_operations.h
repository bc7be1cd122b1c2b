// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// From one layer to its operations: the shape rule of each layer type. A new layer type adds one
// function and its row in build_operations.cpp. Internal to engine/graph.
#pragma once

#include "engine/graph/graph.h"
#include "engine/spec/catalogue.h"

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::graph {

/// Most elements one value or parameter may have per sample: more is a slip of the keyboard, not a
/// model.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;

/// Adds operations to a graph for one layer.
class LayerBuilder {
public:
    LayerBuilder(Graph& graph, const spec::LayerSpec& layer, const spec::TypeInfo& type,
                 std::vector<ValueId> inputs, std::string where, Problems& problems);

    /// The layer's output, or -1 after a problem was added.
    ValueId build();

    const spec::LayerSpec& layer() const { return m_layer; }
    std::int64_t integer(std::string_view field) const;
    double real(std::string_view field) const;
    bool toggle(std::string_view field) const;
    std::vector<std::int64_t> pair(std::string_view field) const;

    const Shape& inputShape() const;
    ParameterId addParameter(const std::string& suffix, Shape shape, Initializer initializer,
                             std::int64_t fanIn, bool decays);
    ValueId addOperation(OperationKind kind, OperationAttributes attributes, Shape output,
                         std::vector<ParameterId> parameters = {});
    ValueId problem(const std::string& field, Message what, Message cure = {});

private:
    Graph& m_graph;
    const spec::LayerSpec& m_layer;
    const spec::TypeInfo& m_type;
    std::vector<ValueId> m_inputs;
    std::string m_where;
    Problems& m_problems;
};

} // namespace trainyard::graph
