// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/section.h"

#include <algorithm>

namespace trainyard::plan {

std::vector<std::string> Section::layers() const {
    std::vector<std::string> layers;
    for (const graph::Operation& operation : graph.operations)
        if (const std::string layer = graph::layerOf(operation);
            !graph::isLoss(operation.kind) && (layers.empty() || layers.back() != layer))
            layers.push_back(layer);
    return layers;
}

std::size_t Section::compressedElements() const {
    std::size_t most = 0;
    for (const Bucket& bucket : buckets)
        most = std::max(most, bucket.compressed ? bucket.elements : 0);
    return most;
}

bool Section::readsInput() const {
    return std::ranges::any_of(graph.operations, [&](const graph::Operation& operation) {
        return std::ranges::count(operation.inputs, graph.input) > 0;
    });
}

bool Section::hasLoss() const {
    return !graph.operations.empty() && graph::isLoss(graph.operations.back().kind);
}

std::optional<IndexRange> Section::classSlice() const {
    if (!hasLoss())
        return std::nullopt;
    const graph::Operation& loss = graph.operations.back();
    const auto* slice = std::get_if<graph::CrossEntropyAttributes>(&loss.attributes);
    if (!slice || slice->parts == 1)
        return std::nullopt;
    return IndexRange{slice->first, graph.values[graph::at(loss.inputs.front())].shape.back()};
}

} // namespace trainyard::plan
