// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Makes the graph of a model: walks the layers in order, then puts the loss behind the last one.
#include "engine/graph/build_loss.h"
#include "engine/graph/build_operations.h"
#include "engine/graph/graph.h"
#include "engine/spec/catalogue.h"

#include <map>
#include <optional>
#include <utility>

namespace trainyard::graph {

namespace {

class GraphBuilder {
public:
    GraphBuilder(const spec::ModelSpec& model, const DataFit& data)
        : m_model(model), m_data(data) {}

    BuiltGraph run() {
        if (elementCount(m_model.inputShape) > kMaxElements) {
            m_built.problems.push_back(
                {{"An input of %1 is too large.", {describe(m_model.inputShape)}},
                 "model.input.shape"});
            return std::move(m_built);
        }
        m_built.graph.values.push_back({.shape = m_model.inputShape, .consumers = {}});
        m_valueOf["input"] = 0;
        std::string previous = "input";
        for (std::size_t i = 0; i < m_model.layers.size(); ++i) {
            addLayer(m_model.layers[i], "model.layers[" + std::to_string(i) + "]", previous);
            previous = m_model.layers[i].id;
        }
        checkUse();
        checkIndices();
        addLoss(m_valueOf[previous]);
        return std::move(m_built);
    }

private:
    void addLayer(const spec::LayerSpec& layer, const std::string& where,
                  const std::string& previous) {
        const spec::TypeInfo* type = spec::findType(spec::Kind::Layer, layer.type);
        const auto sources = layer.from.empty() ? std::vector<std::string>{previous} : layer.from;
        std::vector<ValueId> inputs;
        LayerShapes shapes{.layer = layer.id, .inputs = {}, .output = {}};
        for (const std::string& source : sources) {
            const auto found = m_valueOf.find(source);
            inputs.push_back(found == m_valueOf.end() ? -1 : found->second);
            if (inputs.back() >= 0)
                shapes.inputs.push_back(value(inputs.back()).shape);
        }
        ValueId output = -1;
        const bool whole = shapes.inputs.size() == sources.size() && type != nullptr;
        const std::size_t firstParameter = m_built.graph.parameters.size();
        const std::size_t firstOperation = m_built.graph.operations.size();
        if (whole)
            output = LayerBuilder(m_built.graph, layer, *type, std::move(inputs), where,
                                  m_built.problems)
                         .build();
        if (output >= 0)
            describeLayer(shapes, output, firstParameter, firstOperation);
        m_valueOf[layer.id] = output;
        m_built.layers.push_back(std::move(shapes));
    }

    void describeLayer(LayerShapes& shapes, ValueId output, std::size_t firstParameter,
                       std::size_t firstOperation) {
        const Graph& graph = m_built.graph;
        shapes.output = value(output).shape;
        for (std::size_t i = firstParameter; i < graph.parameters.size(); ++i)
            if (graph.parameters[i].trained)
                shapes.parameters += elementCount(graph.parameters[i].shape);
        for (std::size_t i = firstOperation; i < graph.operations.size(); ++i)
            shapes.flops += graph.forwardFlops(graph.operations[i]);
    }

    /// Each layer but the last must feed another one.
    void checkUse() {
        for (std::size_t i = 0; i + 1 < m_model.layers.size(); ++i) {
            const ValueId output = m_valueOf[m_model.layers[i].id];
            if (output >= 0 && value(output).consumers.empty() && m_built.problems.empty())
                m_built.problems.push_back(
                    {{"Nothing uses the output of \"%1\".", {m_model.layers[i].id}},
                     "model.layers[" + std::to_string(i) + "]",
                     {"Name it in the \"from\" of a later layer, or remove it."}});
        }
    }

    /// Data of indices needs an embedding and the other way round.
    void checkIndices() {
        const Graph& graph = m_built.graph;
        if (!m_built.problems.empty())
            return;
        if (m_data.vocabulary > 0 && graph.vocabulary == 0)
            m_built.problems.push_back({{"The data is text: numbers of words or characters, which "
                                         "layers cannot compute with."},
                                        "model.layers[0]",
                                        {"Begin the model with an embedding layer."}});
        else if (m_data.vocabulary > graph.vocabulary)
            m_built.problems.push_back(
                {{"The data has a vocabulary of %1, the embedding one of %2.",
                  {std::to_string(m_data.vocabulary), std::to_string(graph.vocabulary)}},
                 "model.layers[0].vocabulary",
                 {"Set it to %1.", {std::to_string(m_data.vocabulary)}}});
    }

    void addLoss(ValueId logits) {
        if (logits < 0 || !m_built.problems.empty())
            return;
        const std::optional<LossOperation> loss =
            lossOf(m_model.loss, value(logits).shape, m_data, m_built.problems);
        if (!loss)
            return;
        const auto id = static_cast<OperationId>(m_built.graph.operations.size());
        m_built.graph.values[static_cast<std::size_t>(logits)].consumers.push_back(id);
        m_built.graph.operations.push_back(
            {loss->kind, "loss", loss->attributes, {logits}, {}, {}});
        m_built.graph.logits = logits;
    }

    ValueInfo& value(ValueId id) { return m_built.graph.values[static_cast<std::size_t>(id)]; }

    const spec::ModelSpec& m_model;
    DataFit m_data;
    BuiltGraph m_built;
    std::map<std::string, ValueId> m_valueOf;
};

} // namespace

std::int64_t Graph::parameterElements() const {
    std::int64_t sum = 0;
    for (const ParameterInfo& parameter : parameters)
        if (parameter.trained)
            sum += elementCount(parameter.shape);
    return sum;
}

std::string layerOf(const Operation& operation) {
    return operation.layer.substr(0, operation.layer.find('.'));
}

double Graph::forwardFlops() const {
    double sum = 0;
    for (const Operation& operation : operations)
        sum += forwardFlops(operation);
    return sum;
}

double Graph::forwardFlops(const Operation& operation) const {
    const auto elements = [this](ValueId id) {
        return static_cast<double>(elementCount(values[static_cast<std::size_t>(id)].shape));
    };
    const double out =
        elements(operation.outputs.empty() ? operation.inputs.front() : operation.outputs.front());
    if (const auto* linear = std::get_if<LinearAttributes>(&operation.attributes))
        return 2.0 * out * static_cast<double>(linear->inFeatures);
    if (const auto* conv = std::get_if<Conv2dAttributes>(&operation.attributes))
        return 2.0 * out *
               static_cast<double>(conv->inChannels / conv->groups * conv->kernelHeight *
                                   conv->kernelWidth);
    if (const auto* pool = std::get_if<PoolAttributes>(&operation.attributes))
        return out * static_cast<double>(pool->kernelHeight * pool->kernelWidth);
    if (std::holds_alternative<AttentionAttributes>(operation.attributes)) {
        // Two products of {T, head size} and {T, T} for each head, half of it where causal.
        const auto& a = std::get<AttentionAttributes>(operation.attributes);
        const double positions = out / static_cast<double>(a.heads * a.headSize);
        return 4.0 * out * positions * (a.causal ? 0.5 : 1.0);
    }
    if (operation.kind == OperationKind::Reshape)
        return 0;
    return out;
}

Shape Graph::targetShape() const {
    Shape shape = values[static_cast<std::size_t>(logits)].shape;
    if (loss().kind == OperationKind::SoftmaxCrossEntropy)
        shape.pop_back();
    return shape;
}

std::int64_t Graph::classes() const {
    return loss().kind == OperationKind::SoftmaxCrossEntropy
               ? values[static_cast<std::size_t>(logits)].shape.back()
               : 0;
}

BuiltGraph buildGraph(const spec::ModelSpec& model, const DataFit& data) {
    return GraphBuilder(model, data).run();
}

} // namespace trainyard::graph
