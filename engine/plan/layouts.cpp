// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/layouts.h"

#include <algorithm>

namespace trainyard::plan {

namespace {

using graph::Operation;
using graph::OperationKind;

/// Channels of which a block is made.
constexpr std::int64_t kBlock = 16;

/// So does a reshape that changes nothing.
bool keepsShape(const Operation& operation, const graph::Graph& graph) {
    const auto shapeOf = [&](graph::ValueId id) -> const Shape& {
        return graph.values[static_cast<std::size_t>(id)].shape;
    };
    return graph::traits(operation.kind).keepsShape ||
           (operation.kind == OperationKind::Reshape &&
            shapeOf(operation.inputs.front()) == shapeOf(operation.outputs.front()));
}

/// `pictures`: what convolutions make where they can.
Layout layoutOf(const Operation& operation, const graph::Graph& graph, Layout pictures) {
    const auto value = [&](graph::ValueId id) -> const graph::ValueInfo& {
        return graph.values[static_cast<std::size_t>(id)];
    };
    const auto preferred = [&](graph::ValueId id) {
        return value(id).layout == pictures;
    };
    const bool all = std::ranges::all_of(operation.inputs, preferred);
    switch (operation.kind) {
    case OperationKind::Conv2d:
        if (pictures == Layout::Blocked16 && value(operation.outputs.front()).shape[0] < kBlock)
            return Layout::Plain;
        return pictures;
    case OperationKind::MaxPool:
    case OperationKind::AveragePool:
        return value(operation.inputs.front()).layout;
    case OperationKind::Concat: {
        const bool whole = std::ranges::all_of(operation.inputs, [&](graph::ValueId id) {
            return pictures == Layout::Blocked16 && preferred(id) &&
                   value(id).shape[0] % kBlock == 0;
        });
        return whole ? Layout::Blocked16 : Layout::Plain;
    }
    default:
        return keepsShape(operation, graph) && all ? pictures : Layout::Plain;
    }
}

} // namespace

void assignLayouts(graph::Graph& graph, Layout pictures) {
    for (const Operation& operation : graph.operations)
        if (!operation.outputs.empty())
            graph.values[static_cast<std::size_t>(operation.outputs.front())].layout =
                layoutOf(operation, graph, pictures);
}

} // namespace trainyard::plan
