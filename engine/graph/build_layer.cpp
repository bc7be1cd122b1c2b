// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/check.h"
#include "engine/graph/build_operations.h"

#include <algorithm>
#include <utility>

namespace trainyard::graph {

namespace {

const BuildFunctions& buildFunctions() {
    static const BuildFunctions functions = [] {
        BuildFunctions all;
        for (auto part : {pictureLayers, featureLayers, sequenceLayers, blockLayers})
            all.merge(part());
        return all;
    }();
    return functions;
}

/// Layers that join branches.
bool takesMany(std::string_view type) {
    return type == "add" || type == "multiply" || type == "concat";
}

} // namespace

LayerBuilder::LayerBuilder(Graph& graph, const spec::LayerSpec& layer, const spec::TypeInfo& type,
                           std::vector<ValueId> inputs, std::string where, Problems& problems)
    : m_graph(graph), m_layer(layer), m_type(type), m_inputs(std::move(inputs)),
      m_where(std::move(where)), m_problems(problems) {}

ValueId LayerBuilder::build() {
    const auto found = buildFunctions().find(m_type.type);
    TRAINYARD_CHECK_MSG(found != buildFunctions().end(), m_type.type);
    if (takesMany(m_type.type) && m_inputs.size() < 2)
        return problem("from", {"%1 joins two or more inputs; one is given.", {m_layer.id}},
                       {"Name the layers to join in its \"from\"."});
    if (!takesMany(m_type.type) && m_inputs.size() != 1)
        return problem("from", {"%1 takes one input; %2 are given.",
                                {m_layer.id, std::to_string(m_inputs.size())}});
    for (const ValueId input : m_inputs)
        if (m_graph.values[static_cast<std::size_t>(input)].indices && m_type.type != "embedding")
            return problem("", {"%1 cannot compute with indices.", {m_layer.id}},
                           {"Put an embedding layer before it."});
    return found->second(*this);
}

std::int64_t LayerBuilder::integer(std::string_view field) const {
    return spec::integerOf(m_type, m_layer.values, field);
}

double LayerBuilder::real(std::string_view field) const {
    return spec::realOf(m_type, m_layer.values, field);
}

bool LayerBuilder::toggle(std::string_view field) const {
    return spec::switchOf(m_type, m_layer.values, field);
}

std::string LayerBuilder::text(std::string_view field) const {
    return spec::textOf(m_type, m_layer.values, field);
}

std::vector<std::int64_t> LayerBuilder::pair(std::string_view field) const {
    return spec::pairOf(m_type, m_layer.values, field);
}

std::vector<std::int64_t> LayerBuilder::list(std::string_view field) const {
    return spec::listOf(m_type, m_layer.values, field);
}

const Shape& LayerBuilder::shape(ValueId value) const {
    return m_graph.values[static_cast<std::size_t>(value)].shape;
}

ParameterId LayerBuilder::addParameter(const std::string& part, const std::string& suffix,
                                       Shape shape, Initializer initializer, bool decays) {
    const std::string prefix = part.empty() ? m_layer.id : m_layer.id + "." + part;
    m_graph.parameters.push_back({.name = prefix + "." + suffix,
                                  .shape = std::move(shape),
                                  .initializer = initializer,
                                  .decays = decays});
    return static_cast<ParameterId>(m_graph.parameters.size() - 1);
}

ParameterId LayerBuilder::addStatistic(const std::string& part, const std::string& suffix,
                                       Shape shape, double start, double momentum) {
    const ParameterId id =
        addParameter(part, suffix, std::move(shape), {Distribution::Constant, start}, false);
    m_graph.parameters.back().trained = false;
    m_graph.parameters.back().momentum = momentum;
    return id;
}

ValueId LayerBuilder::addOperation(const std::string& part, OperationKind kind,
                                   OperationAttributes attributes, std::vector<ValueId> inputs,
                                   Shape output, std::vector<ParameterId> parameters) {
    const auto id = static_cast<OperationId>(m_graph.operations.size());
    if (auto* dropout = std::get_if<DropoutAttributes>(&attributes))
        dropout->stream = static_cast<std::uint32_t>(id);
    for (const ValueId input : inputs)
        m_graph.values[static_cast<std::size_t>(input)].consumers.push_back(id);
    const auto value = static_cast<ValueId>(m_graph.values.size());
    m_graph.values.push_back({.shape = std::move(output), .producer = id, .consumers = {}});
    m_graph.operations.push_back({kind,
                                  part.empty() ? m_layer.id : m_layer.id + "." + part,
                                  std::move(attributes),
                                  std::move(inputs),
                                  {value},
                                  std::move(parameters)});
    return value;
}

bool LayerBuilder::readAsIndices(ValueId value, std::int64_t vocabulary) {
    if (value != m_graph.input)
        return false;
    ValueInfo& input = m_graph.values[static_cast<std::size_t>(value)];
    const bool first = !input.indices;
    if (first && !input.consumers.empty())
        return false;
    input.indices = true;
    m_graph.vocabulary = first ? vocabulary : std::min(vocabulary, m_graph.vocabulary);
    return true;
}

ValueId LayerBuilder::problem(const std::string& field, Message what, Message cure) {
    m_problems.push_back(
        {std::move(what), field.empty() ? m_where : m_where + "." + field, std::move(cure)});
    return -1;
}

ValueId LayerBuilder::needsPicture(ValueId input) {
    return problem("", {"%1 needs a picture [channels, height, width]; it gets %2.",
                        {m_layer.id, describe(shape(input))}});
}

} // namespace trainyard::graph
