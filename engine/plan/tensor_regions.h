// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Which operations of a graph take part in tensor parallelism, and how. Internal to engine/plan.
#pragma once

#include "engine/graph/graph.h"

#include <string>
#include <vector>

namespace trainyard::plan {

enum class TensorRole {
    Whole,      ///< every rank computes all of it
    Column,     ///< whole input, cut output: opens a region
    Through,    ///< cut inputs, cut output
    Row,        ///< cut input, the output is a sum over the ranks: closes a region
    Vocabulary, ///< an embedding with some of the rows: the output is a sum over the ranks
    Scores,     ///< a cross-entropy over cut scores: each rank looks at some of the classes
};

struct TensorRegions {
    std::vector<TensorRole> roles; ///< by OperationId
    std::vector<bool> isCut;       ///< by ValueId
};

TensorRegions findTensorRegions(const graph::Graph& graph, int parts);

/// The axis along which an operation's cut output is cut: of the shape without rows.
int cutAxis(const graph::Graph& graph, graph::ValueId value);

/// The layer that makes the scores of a loss over cut ones: it opened their region.
const std::string& headOf(const graph::Graph& graph, const TensorRegions& regions,
                          const graph::Operation& loss);

/// Extents of what a column's outputs consist of: queries, keys and values before an attention,
/// else one.
std::vector<std::int64_t> outputSegments(const graph::Graph& graph,
                                         const graph::Operation& operation);

} // namespace trainyard::plan
