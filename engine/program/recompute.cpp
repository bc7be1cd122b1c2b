// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/program/recompute.h"

#include <algorithm>
#include <string>

namespace trainyard::plan {

namespace {

using graph::Graph;
using graph::Operation;

bool savesForBackward(const Graph& graph, const Operation& operation) {
    const auto value = [&](graph::ValueId id) -> const graph::ValueInfo& {
        return graph.values[static_cast<std::size_t>(id)];
    };
    const graph::ValueInfo& output = value(operation.outputs.front());
    return graph::savedBytes(operation.kind, operation.attributes,
                             value(operation.inputs.front()).shape, output.shape, output.layout, 1,
                             DType::Fp32) > 0;
}

} // namespace

std::vector<int> recomputedBlocks(const Graph& graph) {
    std::vector<int> blocks(graph.operations.size(), -1);
    int next = 0;
    for (std::size_t first = 0, end = 0; first < blocks.size(); first = end) {
        const std::string layer = layerOf(graph.operations[first]);
        while (end < blocks.size() && layerOf(graph.operations[end]) == layer &&
               !graph::isLoss(graph.operations[end].kind))
            ++end;
        if (end - first > 1)
            std::fill(blocks.begin() + static_cast<std::ptrdiff_t>(first),
                      blocks.begin() + static_cast<std::ptrdiff_t>(end), next++);
        end = std::max(end, first + 1);
    }
    return blocks;
}

std::vector<bool> runsAgain(const Graph& graph, const std::vector<int>& blocks) {
    std::vector<bool> again(blocks.size(), false);
    for (std::size_t i = blocks.size(); i-- > 0;) {
        const Operation& operation = graph.operations[i];
        if (blocks[i] < 0)
            continue;
        again[i] = graph::traits(operation.kind).readsOutput || savesForBackward(graph, operation);
        for (const graph::ValueId output : operation.outputs)
            for (const graph::OperationId id :
                 graph.values[static_cast<std::size_t>(output)].consumers) {
                const auto consumer = static_cast<std::size_t>(id);
                if (blocks[consumer] == blocks[i] &&
                    (again[consumer] || graph::traits(graph.operations[consumer].kind).readsInput))
                    again[i] = true;
            }
    }
    return again;
}

} // namespace trainyard::plan
