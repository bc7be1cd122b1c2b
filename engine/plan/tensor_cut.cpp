// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/tensor_cut.h"

#include "engine/base/check.h"
#include "engine/plan/tensor_regions.h"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard::plan {

namespace {

using graph::at;
using graph::Graph;
using graph::Operation;
using graph::OperationId;
using graph::OperationKind;
using graph::ParameterId;
using graph::TensorSum;
using graph::ValueId;

class Cutter {
public:
    Cutter(const Graph& model, int parts, int index)
        : m_whole(model), m_parts(parts), m_index(index),
          m_regions(findTensorRegions(model, parts)) {
        m_cut.graph = model;
        m_cut.graph.operations.clear();
        m_cut.slices.resize(model.parameters.size());
    }

    TensorCut run() {
        for (std::size_t i = 0; i < m_whole.values.size(); ++i)
            if (m_regions.isCut[i])
                m_cut.graph.values[i].shape = localValueShape(static_cast<ValueId>(i));
        for (std::size_t i = 0; i < m_whole.operations.size(); ++i)
            addPartOf(static_cast<OperationId>(i));
        relink();
        return std::move(m_cut);
    }

private:
    Shape localValueShape(ValueId value) const {
        Shape shape = m_whole.values[at(value)].shape;
        std::int64_t& extent = shape[static_cast<std::size_t>(cutAxis(m_whole, value))];
        extent = evenRange(extent, m_parts, m_index).count;
        return shape;
    }

    void addPartOf(OperationId id) {
        Operation part = m_whole.operations[at(id)];
        switch (m_regions.roles[at(id)]) {
        case TensorRole::Whole:
            addWhole(std::move(part));
            break;
        case TensorRole::Column:
            addColumn(std::move(part));
            break;
        case TensorRole::Through:
            addThrough(std::move(part));
            break;
        case TensorRole::Row:
            addRow(std::move(part));
            break;
        case TensorRole::Vocabulary:
            addVocabulary(std::move(part));
            break;
        case TensorRole::Scores:
            addScores(std::move(part));
            break;
        }
    }

    void addWhole(Operation operation) {
        if (!operation.parameters.empty() && m_parts > 1 &&
            (operation.kind == OperationKind::Linear || operation.kind == OperationKind::Conv2d ||
             operation.kind == OperationKind::Embedding))
            m_cut.replicated.push_back(operation.layer);
        for (const ParameterId parameter : operation.parameters)
            hold(parameter, whole(m_index == 0));
        m_cut.graph.operations.push_back(std::move(operation));
    }

    void addColumn(Operation operation) {
        const Shape output = localValueShape(operation.outputs.front());
        const std::vector<std::int64_t> segments = outputSegments(m_whole, operation);
        const std::vector<IndexRange> ranges =
            segments.size() == 1 ? std::vector{evenRange(segments.front(), m_parts, m_index)}
                                 : evenRanges(segments, m_parts, m_index);
        for (const ParameterId parameter : operation.parameters)
            hold(parameter, cutAlong(0, ranges));
        operation.inputs.front() = copyOf(operation.inputs.front(), operation.layer);
        if (auto* linear = std::get_if<graph::LinearAttributes>(&operation.attributes))
            linear->outFeatures = output.back();
        else
            std::get<graph::Conv2dAttributes>(operation.attributes).outChannels = output.front();
        m_cut.graph.operations.push_back(std::move(operation));
    }

    void addThrough(Operation operation) {
        const ValueId out = operation.outputs.front();
        const std::vector<IndexRange> ranges = evenRanges({elementAlong(out)}, m_parts, m_index);
        for (const ParameterId parameter : operation.parameters)
            hold(parameter, cutAlong(0, ranges));
        if (auto* attention = std::get_if<graph::AttentionAttributes>(&operation.attributes)) {
            attention->heads /= m_parts;
            attention->kvHeads /= m_parts;
        } else if (auto* reshape = std::get_if<graph::ReshapeAttributes>(&operation.attributes))
            reshape->shape = localValueShape(out);
        else if (auto* dropout = std::get_if<graph::DropoutAttributes>(&operation.attributes))
            cutDropout(*dropout, out);
        m_cut.graph.operations.push_back(std::move(operation));
    }

    std::int64_t elementAlong(ValueId value) const {
        return m_whole.values[at(value)].shape[static_cast<std::size_t>(cutAxis(m_whole, value))];
    }

    void cutDropout(graph::DropoutAttributes& dropout, ValueId value) const {
        const Shape& shape = m_whole.values[at(value)].shape;
        const auto axis = static_cast<std::size_t>(cutAxis(m_whole, value));
        dropout.stride = 1;
        for (std::size_t i = axis; i < shape.size(); ++i)
            dropout.stride *= shape[i];
        dropout.run = dropout.stride / m_parts;
        dropout.offset = dropout.run * m_index;
    }

    /// The bias is added once, by the first rank.
    void addRow(Operation operation) {
        const Shape& input = m_whole.values[at(operation.inputs.front())].shape;
        if (auto* linear = std::get_if<graph::LinearAttributes>(&operation.attributes)) {
            hold(operation.parameters.front(),
                 cutAlong(1, evenRanges({input.back()}, m_parts, m_index)));
            linear->inFeatures /= m_parts;
            keepBias(operation, linear->bias);
        } else {
            auto& conv = std::get<graph::Conv2dAttributes>(operation.attributes);
            hold(operation.parameters.front(),
                 cutAlong(1, evenRanges({input.front()}, m_parts, m_index)));
            conv.inChannels /= m_parts;
            keepBias(operation, conv.bias);
        }
        addWithSum(std::move(operation));
    }

    void keepBias(Operation& operation, bool& bias) {
        if (!bias)
            return;
        if (m_index == 0) {
            hold(operation.parameters.back(), whole(true));
            return;
        }
        bias = false;
        operation.parameters.pop_back();
    }

    void addVocabulary(Operation operation) {
        auto& table = std::get<graph::EmbeddingAttributes>(operation.attributes);
        const IndexRange range = evenRange(table.vocabulary, m_parts, m_index);
        table.vocabulary = range.count;
        table.first = range.first;
        table.partial = true;
        hold(operation.parameters.front(), cutAlong(0, {range}));
        addWithSum(std::move(operation));
    }

    void addScores(Operation operation) {
        m_cut.sharedClasses.push_back(headOf(m_whole, m_regions, operation));
        auto& loss = std::get<graph::CrossEntropyAttributes>(operation.attributes);
        loss.classes = m_whole.values[at(operation.inputs.front())].shape.back();
        loss.first = evenRange(loss.classes, m_parts, m_index).first;
        loss.part = m_index;
        loss.parts = m_parts;
        m_cut.graph.operations.push_back(std::move(operation));
    }

    static ParameterSlice whole(bool owned) {
        return {.held = true, .owned = owned, .axis = -1, .ranges = {}};
    }

    ParameterSlice cutAlong(int axis, std::vector<IndexRange> ranges) const {
        return {.held = true, .owned = true, .axis = axis, .ranges = std::move(ranges)};
    }

    void hold(ParameterId parameter, ParameterSlice slice) {
        ParameterSlice& held = m_cut.slices[at(parameter)];
        TRAINYARD_CHECK(!held.held || held == slice);
        held = std::move(slice);
    }

    /// The operation makes a part of the sum, in a value of its own.
    void addWithSum(Operation operation) {
        const ValueId sum = operation.outputs.front();
        const ValueId part = addValueLike(sum);
        operation.outputs.front() = part;
        const std::string layer = operation.layer;
        m_cut.graph.operations.push_back(std::move(operation));
        addSame(part, sum, layer, TensorSum::Output);
    }

    /// What a region reads: its gradient is the sum of what all ranks' parts of the region ask for.
    ValueId copyOf(ValueId value, const std::string& layer) {
        const auto [place, isNew] = m_copies.try_emplace(value, -1);
        if (isNew) {
            place->second = addValueLike(value);
            addSame(value, place->second, layer, TensorSum::OutputGradient);
        }
        return place->second;
    }

    ValueId addValueLike(ValueId value) {
        graph::ValueInfo info;
        info.shape = m_cut.graph.values[at(value)].shape;
        m_cut.graph.values.push_back(std::move(info));
        return static_cast<ValueId>(m_cut.graph.values.size()) - 1;
    }

    void addSame(ValueId from, ValueId to, const std::string& layer, TensorSum sum) {
        Operation same;
        same.kind = OperationKind::Reshape;
        same.layer = layer;
        same.attributes = graph::ReshapeAttributes{m_cut.graph.values[at(from)].shape};
        same.inputs = {from};
        same.outputs = {to};
        same.tensorSum = sum;
        m_cut.graph.operations.push_back(std::move(same));
    }

    void relink() {
        for (graph::ValueInfo& value : m_cut.graph.values) {
            value.producer = -1;
            value.consumers.clear();
        }
        for (std::size_t i = 0; i < m_cut.graph.operations.size(); ++i) {
            const auto id = static_cast<OperationId>(i);
            for (const ValueId input : m_cut.graph.operations[i].inputs)
                m_cut.graph.values[at(input)].consumers.push_back(id);
            for (const ValueId output : m_cut.graph.operations[i].outputs)
                m_cut.graph.values[at(output)].producer = id;
        }
    }

    const Graph& m_whole;
    const int m_parts;
    const int m_index;
    const TensorRegions m_regions;
    TensorCut m_cut;
    std::map<ValueId, ValueId> m_copies; ///< of what regions read
};

} // namespace

TensorCut cutTensors(const Graph& whole, int parts, int index) {
    return Cutter(whole, parts, index).run();
}

} // namespace trainyard::plan
