// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Pipeline parallelism: a graph cut between layers into stages that follow each other. Stage s is
// computed by pipeline rank s modulo the number of ranks; with more stages than ranks a rank has
// several (the interleaved schedule).
#pragma once

#include "engine/base/result.h"
#include "engine/graph/graph.h"

#include <string>
#include <vector>

namespace trainyard::plan {

/// What one rank's stage makes and stages of another rank read: one message each way, a value after
/// the other.
struct Transfer {
    int from = 0; ///< pipeline ranks
    int to = 0;
    int madeIn = 0;   ///< stage
    int neededIn = 0; ///< the first stage of `to` that reads any of it
    std::vector<graph::ValueId> values;
};

/// A parameter that operations of several pipeline ranks use: each has it, and they add their
/// gradients.
struct SharedParameter {
    graph::ParameterId parameter = -1;
    std::vector<int> ranks; ///< in order; the first one owns it
};

struct StageOutcome {
    std::vector<int> stageOf; ///< by OperationId
    Problems problems;
};

/// `cuts`: the layers that begin the second stage and those after it; empty: where the slowest
/// stage takes least time, which is what it computes over the speed of its rank. `speeds`: of the
/// pipeline ranks, in any unit; empty: all alike.
StageOutcome assignStages(const graph::Graph& graph, int stages,
                          const std::vector<std::string>& cuts,
                          const std::vector<double>& speeds = {});

/// All that goes from rank to rank, in a fixed order.
std::vector<Transfer> transfersOf(const graph::Graph& graph, const std::vector<int>& stageOf,
                                  int ranks);
std::vector<SharedParameter> sharedParametersOf(const graph::Graph& graph,
                                                const std::vector<int>& stageOf, int ranks);

/// The operations of one pipeline rank. Values and parameters keep their numbers; a value made
/// elsewhere has no producer.
graph::Graph stagesOfRank(const graph::Graph& graph, const std::vector<int>& stageOf, int ranks,
                          int rank);

} // namespace trainyard::plan
