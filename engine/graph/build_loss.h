// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The operation of a loss, checked against what the model gives and what the data has. Internal to
// engine/graph.
#pragma once

#include "engine/graph/graph.h"

#include <optional>

namespace trainyard::graph {

struct LossOperation {
    OperationKind kind = OperationKind::SoftmaxCrossEntropy;
    OperationAttributes attributes;
};

/// `scores`: shape of the last layer's output. Nothing: a problem was added.
std::optional<LossOperation> lossOf(const spec::Choice& loss, const Shape& scores,
                                    const DataFit& data, Problems& problems);

} // namespace trainyard::graph
