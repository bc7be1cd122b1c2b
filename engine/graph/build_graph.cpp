// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Makes the graph of a model: walks the layers in order, then puts the loss behind the last one.
#include "engine/graph/build_operations.h"
#include "engine/graph/graph.h"
#include "engine/spec/catalogue.h"

#include <map>
#include <utility>

namespace trainyard::graph {

namespace {

class GraphBuilder {
public:
    GraphBuilder(const spec::ModelSpec& model, std::int64_t classes)
        : m_model(model), m_classes(classes) {}

    BuiltGraph run() {
        if (elementCount(m_model.inputShape) > kMaxElements) {
            m_built.problems.push_back(
                {{"An input of %1 is too large.", {describe(m_model.inputShape)}},
                 "model.input.shape"});
            return std::move(m_built);
        }
        m_built.graph.values.push_back({m_model.inputShape, Layout::Plain, -1, {}});
        m_valueOf["input"] = 0;
        std::string previous = "input";
        for (std::size_t i = 0; i < m_model.layers.size(); ++i) {
            addLayer(m_model.layers[i], "model.layers[" + std::to_string(i) + "]", previous);
            previous = m_model.layers[i].id;
        }
        checkUse();
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
        if (whole)
            output = LayerBuilder(m_built.graph, layer, *type, std::move(inputs), where,
                                  m_built.problems)
                         .build();
        if (output >= 0)
            describeLayer(shapes, output, firstParameter);
        m_valueOf[layer.id] = output;
        m_built.layers.push_back(std::move(shapes));
    }

    void describeLayer(LayerShapes& shapes, ValueId output, std::size_t firstParameter) {
        const Graph& graph = m_built.graph;
        shapes.output = value(output).shape;
        for (std::size_t i = firstParameter; i < graph.parameters.size(); ++i)
            shapes.parameters += elementCount(graph.parameters[i].shape);
        shapes.flops = graph.forwardFlops(graph.operations.back());
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

    void addLoss(ValueId logits) {
        if (logits < 0 || !m_built.problems.empty())
            return;
        const Shape shape = value(logits).shape;
        if (shape.size() != 1) {
            m_built.problems.push_back(
                {{"The loss needs one score per class; it gets %1.", {describe(shape)}},
                 "model.loss",
                 {"End the model with flatten and linear layers."}});
            return;
        }
        if (m_classes > shape[0]) {
            m_built.problems.push_back(
                {{"The model ends in %1 scores, but the data has %2 classes.",
                  {std::to_string(shape[0]), std::to_string(m_classes)}},
                 "model.loss",
                 {"Give the last layer %1 outputs.", {std::to_string(m_classes)}}});
            return;
        }
        const auto id = static_cast<OperationId>(m_built.graph.operations.size());
        m_built.graph.values[static_cast<std::size_t>(logits)].consumers.push_back(id);
        m_built.graph.operations.push_back(
            {OperationKind::SoftmaxCrossEntropy, "loss", {}, {logits}, {}, {}});
        m_built.graph.logits = logits;
    }

    ValueInfo& value(ValueId id) { return m_built.graph.values[static_cast<std::size_t>(id)]; }

    const spec::ModelSpec& m_model;
    std::int64_t m_classes;
    BuiltGraph m_built;
    std::map<std::string, ValueId> m_valueOf;
};

} // namespace

std::int64_t Graph::parameterElements() const {
    std::int64_t sum = 0;
    for (const ParameterInfo& parameter : parameters)
        sum += elementCount(parameter.shape);
    return sum;
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
    if (const auto* linear = std::get_if<LinearAttributes>(&operation.attributes))
        return 2.0 * static_cast<double>(linear->inFeatures) *
               static_cast<double>(linear->outFeatures);
    if (const auto* conv = std::get_if<Conv2dAttributes>(&operation.attributes))
        return 2.0 * elements(operation.outputs.front()) *
               static_cast<double>(conv->inChannels * conv->kernelHeight * conv->kernelWidth);
    if (const auto* pool = std::get_if<PoolAttributes>(&operation.attributes))
        return elements(operation.outputs.front()) *
               static_cast<double>(pool->kernelHeight * pool->kernelWidth);
    if (operation.kind == OperationKind::Flatten)
        return 0;
    return elements(operation.outputs.empty() ? operation.inputs.front()
                                              : operation.outputs.front());
}

BuiltGraph buildGraph(const spec::ModelSpec& model, std::int64_t classes) {
    return GraphBuilder(model, classes).run();
}

} // namespace trainyard::graph
