// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensor parallelism: one rank's part of a graph whose layers are cut over several ranks (Shoeybi
// et al., "Megatron-LM", 2019, section 3). A region of the graph works on slices of its values: it
// opens with products whose outputs are cut (columns of a linear layer, heads of an attention,
// filters of a convolution), goes on through operations that work element by element or channel by
// channel, and closes with products whose inputs are cut and whose outputs are sums over the ranks.
// Embeddings are cut by their vocabulary, the scores of a cross-entropy by their classes.
// Everything else each rank computes whole.
#pragma once

#include "engine/graph/graph.h"
#include "engine/plan/parameter_slice.h"

#include <string>
#include <vector>

namespace trainyard::plan {

struct TensorCut {
    /// Values keep their numbers, new ones come behind; parameters keep numbers and whole shapes.
    graph::Graph graph;
    std::vector<ParameterSlice> slices; ///< by ParameterId
    /// Layers with weights that each rank has whole because they cannot be cut.
    std::vector<std::string> replicated;
    /// Layers whose classes the ranks share, and the loss over them.
    std::vector<std::string> sharedClasses;
};

/// The part of rank `index` of `parts`. All ranks' graphs have the same operations, and the same
/// shapes but for vocabularies and classes that do not divide: the first ranks then have one more.
TensorCut cutTensors(const graph::Graph& whole, int parts, int index);

} // namespace trainyard::plan
