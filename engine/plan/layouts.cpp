// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/layouts.h"

namespace trainyard::plan {

void assignLayouts(graph::Graph& graph) {
    const auto value = [&](graph::ValueId id) -> graph::ValueInfo& {
        return graph.values[static_cast<std::size_t>(id)];
    };
    for (const graph::Operation& operation : graph.operations) {
        if (operation.outputs.empty())
            continue;
        graph::ValueInfo& output = value(operation.outputs.front());
        switch (operation.kind) {
        case graph::OperationKind::Conv2d:
            output.layout = output.shape[0] >= 16 ? Layout::Blocked16 : Layout::Plain;
            break;
        case graph::OperationKind::MaxPool:
        case graph::OperationKind::Relu:
        case graph::OperationKind::Dropout:
            output.layout = value(operation.inputs.front()).layout;
            break;
        case graph::OperationKind::Linear:
        case graph::OperationKind::Flatten:
        case graph::OperationKind::SoftmaxCrossEntropy:
            break;
        }
    }
}

} // namespace trainyard::plan
