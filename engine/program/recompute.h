// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Recompute (Chen et al., "Training deep nets with sublinear memory cost", 2016): a block keeps
// only what others read of it. Before its backward it runs forward again, from its inputs, into
// memory of its own. The same kernels see the same bytes and the same random numbers, so the bits
// are the same.
#pragma once

#include "engine/graph/graph.h"

#include <vector>

namespace trainyard::plan {

/// By OperationId: the block that is computed again; -1: the operation's values are kept. A block
/// is a layer of several operations.
std::vector<int> recomputedBlocks(const graph::Graph& graph);

/// By OperationId: whether the operation must run again, because a backward of its block reads what
/// it makes or what others make of that.
std::vector<bool> runsAgain(const graph::Graph& graph, const std::vector<int>& blocks);

} // namespace trainyard::plan
