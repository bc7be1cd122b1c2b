// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the thin matrices of PowerSGD and the errors that it keeps lie (Vogels, Karimireddy, Jaggi,
// "PowerSGD: practical low-rank gradient compression for distributed optimization", NeurIPS 2019).
// A gradient is a matrix of its first extent times all others; instead of rows x columns numbers
// rank x (rows + columns) travel. Offsets and sizes are elements of the plan's exact type.
#pragma once

#include "engine/graph/graph.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::plan {

struct Bucket;

struct LowRankMatrix {
    graph::ParameterId parameter = -1;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::size_t gradient = 0; ///< its first element in the arena of gradients
    std::size_t error = 0;    ///< in the arena of errors, {rows, columns}
    std::size_t left = 0;     ///< {rank, rows}: behind its bucket's first
    std::size_t right = 0;    ///< {rank, columns}: likewise
};

/// Matrices whose left factors travel together, then their right ones.
struct LowRankBucket {
    std::vector<LowRankMatrix> matrices;
    std::size_t leftElements = 0;
    std::size_t rightElements = 0;
    std::size_t firstRight = 0; ///< in the arena of right factors
    std::size_t elements() const { return leftElements + rightElements; }
};

struct LowRankLayout {
    std::int64_t rank = 0;
    std::vector<LowRankBucket> buckets; ///< by bucket; without matrices: it travels whole
    std::size_t errorElements = 0;
    std::size_t leftElements = 0;  ///< of the largest bucket: all take turns
    std::size_t rightElements = 0; ///< of all buckets: they are kept from step to step
    std::size_t elements() const { return errorElements + leftElements + rightElements; }
};

/// Less travels than the whole gradient. Of a shape as a rank holds it.
bool isWorthLowRank(const Shape& shape, std::int64_t rank);

/// `parameterOffset`: by ParameterId, as in Section; `elementBytes`: what follows each other begins
/// at cache lines.
LowRankLayout layOutLowRank(const graph::Graph& graph, const std::vector<Bucket>& buckets,
                            const std::vector<std::size_t>& parameterOffset, std::int64_t rank,
                            std::size_t elementBytes);

} // namespace trainyard::plan
