// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/section.h"

#include <algorithm>

namespace trainyard::plan {

bool Section::readsInput() const {
    return std::ranges::any_of(graph.operations, [&](const graph::Operation& operation) {
        return std::ranges::count(operation.inputs, graph.input) > 0;
    });
}

bool Section::hasLoss() const {
    return !graph.operations.empty() && graph::isLoss(graph.operations.back().kind);
}

} // namespace trainyard::plan
