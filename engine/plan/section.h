// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Section: the part of the model that the ranks at one place of the tensor and pipeline axes hold;
// data parallel ranks have the same one. Its graph is what programs are compiled from.
#pragma once

#include "engine/graph/graph.h"
#include "engine/plan/low_rank.h"
#include "engine/plan/parameter_slice.h"
#include "engine/plan/stage_cut.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::plan {

/// Gradients that travel together: one slice of the gradient arena.
struct Bucket {
    std::size_t firstElement = 0;
    std::size_t elements = 0; ///< with padding to data parallel ranks x 64 bytes
    std::vector<graph::ParameterId> parameters;
    bool compressed = false; ///< as Plan::compression says; running statistics never are
};

struct Section {
    /// Of these operations. Values and parameters have the same numbers in all sections; shapes are
    /// those of this section's slices.
    graph::Graph graph;
    std::vector<int> stageOf;           ///< by OperationId of this graph
    std::vector<bool> withGradient;     ///< by ValueId: something before it has parameters
    std::vector<ParameterSlice> slices; ///< by ParameterId
    std::vector<Transfer> arriving;     ///< from other pipeline ranks
    std::vector<Transfer> leaving;
    std::vector<SharedParameter> shared; ///< with other pipeline ranks
    std::vector<std::string> replicated; ///< layers that tensor ranks have whole
    /// Layers whose classes tensor ranks share, and the loss over them.
    std::vector<std::string> sharedClasses;

    /// First element of each held parameter in the parameter, gradient and optimizer arenas.
    std::vector<std::size_t> parameterOffset;
    std::size_t arenaElements = 0;
    std::vector<Bucket> buckets; ///< in the order their gradients are finished
    std::vector<int> bucketOf;   ///< by ParameterId; -1: not held

    LowRankLayout lowRank; ///< of PowerSGD; else empty

    /// Elements of the largest bucket that is compressed.
    std::size_t compressedElements() const;
    bool holds(graph::ParameterId parameter) const {
        return slices[static_cast<std::size_t>(parameter)].held;
    }
    /// Of the model, whose operations these are, in order; without the loss.
    std::vector<std::string> layers() const;
    bool readsInput() const;
    bool hasLoss() const;
    /// The classes that this section scores, where its loss looks at a slice of them.
    std::optional<IndexRange> classSlice() const;
};

} // namespace trainyard::plan
