// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/tensor_regions.h"

#include <algorithm>
#include <optional>
#include <set>

namespace trainyard::plan {

namespace {

using graph::at;
using graph::Graph;
using graph::Operation;
using graph::OperationId;
using graph::OperationKind;
using graph::ParameterId;
using graph::ValueId;

/// The attention that alone reads a value, as queries, keys and values.
const Operation* attentionAfter(const Graph& graph, ValueId value) {
    const graph::ValueInfo& info = graph.values[at(value)];
    if (info.consumers.size() != 1)
        return nullptr;
    const Operation& consumer = graph.operations[at(info.consumers.front())];
    return consumer.kind == OperationKind::Attention ? &consumer : nullptr;
}

/// Each element of the output depends on the inputs' elements of the same channel (feature) only.
bool worksByChannel(const Operation& operation) {
    switch (operation.kind) {
    case OperationKind::MaxPool:
    case OperationKind::AveragePool:
    case OperationKind::GlobalAveragePool:
    case OperationKind::BatchNorm:
    case OperationKind::Relu:
    case OperationKind::Gelu:
    case OperationKind::Silu:
    case OperationKind::Tanh:
    case OperationKind::Sigmoid:
    case OperationKind::Dropout:
    case OperationKind::Add:
    case OperationKind::Multiply:
        return true;
    default:
        return false;
    }
}

/// Grows one region at a time. A region that meets something it cannot go through is given up.
class RegionFinder {
public:
    RegionFinder(const Graph& graph, int parts) : m_graph(graph), m_parts(parts) {
        m_found.roles.assign(graph.operations.size(), TensorRole::Whole);
        m_found.isCut.assign(graph.values.size(), false);
    }

    TensorRegions run() {
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i) {
            const auto id = static_cast<OperationId>(i);
            if (m_found.roles[i] == TensorRole::Whole && canOpen(id))
                growFrom(id);
        }
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i)
            cutHead(static_cast<OperationId>(i));
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i)
            cutVocabulary(static_cast<OperationId>(i));
        return std::move(m_found);
    }

private:
    struct Region {
        std::set<ValueId> cut;
        std::set<OperationId> columns, through, rows, losses;
    };

    const Operation& operation(OperationId id) const { return m_graph.operations[at(id)]; }

    bool divides(std::int64_t extent) const { return extent % m_parts == 0; }

    /// Of the operations that share parameters with this one all are as asked. What they share has
    /// to be cut alike in all of them.
    template <class Predicate>
    bool sharesOnlyWith(const Operation& asked, const Predicate& fits) const {
        for (std::size_t i = 0; i < m_graph.operations.size(); ++i) {
            const Operation& other = m_graph.operations[i];
            const bool shares = std::ranges::any_of(asked.parameters, [&](ParameterId parameter) {
                return std::ranges::count(other.parameters, parameter) > 0;
            });
            if (shares && &other != &asked && !fits(static_cast<OperationId>(i)))
                return false;
        }
        return true;
    }

    bool sharesParameters(const Operation& asked) const {
        return !sharesOnlyWith(asked, [](OperationId) { return false; });
    }

    bool isProduct(const Operation& asked) const {
        if (sharesParameters(asked))
            return false;
        if (asked.kind == OperationKind::Conv2d)
            return std::get<graph::Conv2dAttributes>(asked.attributes).groups == 1;
        return asked.kind == OperationKind::Linear &&
               m_graph.values[at(asked.outputs.front())].shape.size() <= 2;
    }

    bool canOpen(OperationId id) const {
        const Operation& product = operation(id);
        if (!isProduct(product) || m_found.isCut[at(product.inputs.front())])
            return false;
        if (const Operation* attention = attentionAfter(m_graph, product.outputs.front())) {
            const auto& heads = std::get<graph::AttentionAttributes>(attention->attributes);
            return divides(heads.heads) && divides(heads.kvHeads);
        }
        return std::ranges::all_of(outputSegments(m_graph, product),
                                   [&](std::int64_t extent) { return divides(extent); });
    }

    bool canClose(OperationId id, ValueId cut) const {
        const Operation& product = operation(id);
        if (!isProduct(product) || m_found.roles[at(id)] != TensorRole::Whole)
            return false;
        const Shape& shape = m_graph.values[at(cut)].shape;
        const std::size_t axis = product.kind == OperationKind::Linear ? shape.size() - 1 : 0;
        return static_cast<int>(axis) == cutAxis(m_graph, cut) && divides(shape[axis]);
    }

    bool canPass(OperationId id) const {
        const Operation& asked = operation(id);
        if (m_found.roles[at(id)] != TensorRole::Whole)
            return false;
        if (asked.kind == OperationKind::Attention)
            return true; // its heads divide, or what makes its input could not open
        if (asked.kind == OperationKind::Reshape) // a picture, channel after channel
            return cutAxis(m_graph, asked.inputs.front()) == 0 &&
                   m_graph.values[at(asked.outputs.front())].shape.size() == 1;
        return worksByChannel(asked);
    }

    void growFrom(OperationId first) {
        Region region;
        std::vector<ValueId> open = {operation(first).outputs.front()};
        while (!open.empty()) {
            const ValueId value = open.back();
            open.pop_back();
            if (!region.cut.insert(value).second)
                continue;
            if (!reachProducer(value, region, open) || !reachConsumers(value, region, open))
                return;
        }
        // A product reads a cut value or makes one, not both.
        for (const OperationId id : region.columns)
            if (region.rows.contains(id) || region.cut.contains(operation(id).inputs.front()))
                return;
        accept(region);
    }

    bool reachProducer(ValueId value, Region& region, std::vector<ValueId>& open) const {
        const OperationId producer = m_graph.values[at(value)].producer;
        if (producer < 0 || m_found.roles[at(producer)] != TensorRole::Whole)
            return false;
        if (isProduct(operation(producer))) {
            region.columns.insert(producer);
            return canOpen(producer);
        }
        return pass(producer, region, open);
    }

    bool reachConsumers(ValueId value, Region& region, std::vector<ValueId>& open) const {
        const std::vector<OperationId>& consumers = m_graph.values[at(value)].consumers;
        const bool beforeAttention = attentionAfter(m_graph, value) != nullptr;
        for (const OperationId consumer : consumers) {
            if (!beforeAttention && operation(consumer).kind == OperationKind::Attention)
                return false;
            if (isProduct(operation(consumer))) {
                if (!canClose(consumer, value))
                    return false;
                region.rows.insert(consumer);
            } else if (operation(consumer).kind == OperationKind::SoftmaxCrossEntropy) {
                region.losses.insert(consumer);
            } else if (!pass(consumer, region, open))
                return false;
        }
        return !consumers.empty();
    }

    /// All that it reads and makes must be cut.
    bool pass(OperationId id, Region& region, std::vector<ValueId>& open) const {
        if (!canPass(id))
            return false;
        const Operation& through = operation(id);
        if (through.kind == OperationKind::Attention) {
            const OperationId producer = m_graph.values[at(through.inputs.front())].producer;
            if (producer < 0 || !isProduct(operation(producer)))
                return false; // queries, keys and values would not be next to each other
        }
        region.through.insert(id);
        open.insert(open.end(), through.inputs.begin(), through.inputs.end());
        open.insert(open.end(), through.outputs.begin(), through.outputs.end());
        return true;
    }

    void accept(const Region& region) {
        for (const ValueId value : region.cut)
            m_found.isCut[at(value)] = true;
        for (const OperationId id : region.columns)
            m_found.roles[at(id)] = TensorRole::Column;
        for (const OperationId id : region.through)
            m_found.roles[at(id)] = TensorRole::Through;
        for (const OperationId id : region.rows)
            m_found.roles[at(id)] = TensorRole::Row;
        for (const OperationId id : region.losses)
            m_found.roles[at(id)] = TensorRole::Scores;
    }

    bool isTable(OperationId id) const { return operation(id).kind == OperationKind::Embedding; }

    /// A linear layer right before the loss, which growing has left whole: slices may differ in
    /// size by one class, and tables with the same weights are cut like it.
    void cutHead(OperationId loss) {
        if (operation(loss).kind != OperationKind::SoftmaxCrossEntropy ||
            m_found.roles[at(loss)] != TensorRole::Whole)
            return;
        const ValueId scores = operation(loss).inputs.front();
        const graph::ValueInfo& info = m_graph.values[at(scores)];
        if (info.producer < 0 || info.consumers.size() > 1 || info.shape.back() < m_parts)
            return;
        const Operation& head = operation(info.producer);
        if (head.kind != OperationKind::Linear ||
            m_found.roles[at(info.producer)] != TensorRole::Whole ||
            m_found.isCut[at(head.inputs.front())] ||
            !sharesOnlyWith(head, [&](OperationId other) { return isTable(other); }))
            return;
        m_found.isCut[at(scores)] = true;
        m_found.roles[at(info.producer)] = TensorRole::Column;
        m_found.roles[at(loss)] = TensorRole::Scores;
    }

    void cutVocabulary(OperationId id) {
        if (!isTable(id))
            return;
        const Operation& table = operation(id);
        const auto isCutAlike = [&](OperationId other) {
            return isTable(other) || m_found.roles[at(other)] == TensorRole::Column;
        };
        if (sharesOnlyWith(table, isCutAlike) &&
            std::get<graph::EmbeddingAttributes>(table.attributes).vocabulary >= m_parts)
            m_found.roles[at(id)] = TensorRole::Vocabulary;
    }

    const Graph& m_graph;
    const int m_parts;
    TensorRegions m_found;
};

} // namespace

TensorRegions findTensorRegions(const Graph& graph, int parts) {
    return RegionFinder(graph, parts).run();
}

int cutAxis(const Graph& graph, ValueId value) {
    const graph::ValueInfo& info = graph.values[at(value)];
    return info.shape.size() == 3 ? 0 : static_cast<int>(info.shape.size()) - 1;
}

const std::string& headOf(const Graph& graph, const TensorRegions& regions, const Operation& loss) {
    const Operation* before = &loss;
    do {
        before = &graph.operations[at(graph.values[at(before->inputs.front())].producer)];
    } while (regions.roles[at(graph.values[at(before->outputs.front())].producer)] !=
             TensorRole::Column);
    return before->layer;
}

std::vector<std::int64_t> outputSegments(const Graph& graph, const Operation& operation) {
    const ValueId output = operation.outputs.front();
    if (const Operation* attention = attentionAfter(graph, output)) {
        const auto& heads = std::get<graph::AttentionAttributes>(attention->attributes);
        return {heads.heads * heads.headSize, heads.kvHeads * heads.headSize,
                heads.kvHeads * heads.headSize};
    }
    return {graph.values[at(output)].shape[static_cast<std::size_t>(cutAxis(graph, output))]};
}

} // namespace trainyard::plan
