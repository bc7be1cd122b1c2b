// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/low_rank.h"

#include "engine/plan/section.h"

#include <algorithm>

namespace trainyard::plan {

namespace {

std::size_t toCacheLine(std::size_t elements, std::size_t elementBytes) {
    const std::size_t line = 64 / elementBytes;
    return (elements + line - 1) / line * line;
}

LowRankMatrix matrixOf(const Shape& shape) {
    LowRankMatrix matrix;
    matrix.rows = shape.front();
    matrix.columns = elementCount(shape) / shape.front();
    return matrix;
}

} // namespace

bool isWorthLowRank(const Shape& shape, std::int64_t rank) {
    if (shape.size() < 2)
        return false;
    const LowRankMatrix matrix = matrixOf(shape);
    return rank * (matrix.rows + matrix.columns) < matrix.rows * matrix.columns;
}

LowRankLayout layOutLowRank(const graph::Graph& graph, const std::vector<Bucket>& buckets,
                            const std::vector<std::size_t>& parameterOffset, std::int64_t rank,
                            std::size_t elementBytes) {
    LowRankLayout layout;
    layout.rank = rank;
    for (const Bucket& bucket : buckets) {
        LowRankBucket& thin = layout.buckets.emplace_back();
        thin.firstRight = layout.rightElements;
        for (const graph::ParameterId id : bucket.parameters) {
            if (!bucket.compressed)
                continue;
            LowRankMatrix matrix = matrixOf(graph.parameters[graph::at(id)].shape);
            matrix.parameter = id;
            matrix.gradient = parameterOffset[graph::at(id)];
            matrix.error = layout.errorElements;
            matrix.left = thin.leftElements;
            matrix.right = thin.rightElements;
            thin.leftElements += static_cast<std::size_t>(rank * matrix.rows);
            thin.rightElements += static_cast<std::size_t>(rank * matrix.columns);
            layout.errorElements +=
                toCacheLine(static_cast<std::size_t>(matrix.rows * matrix.columns), elementBytes);
            thin.matrices.push_back(matrix);
        }
        layout.leftElements =
            std::max(layout.leftElements, toCacheLine(thin.leftElements, elementBytes));
        layout.rightElements += toCacheLine(thin.rightElements, elementBytes);
    }
    return layout;
}

} // namespace trainyard::plan
