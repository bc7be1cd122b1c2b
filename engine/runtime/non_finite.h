// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a training diverged: the first number that is not finite among all that a step computes.
#pragma once

#include "engine/backend/backend.h"
#include "engine/base/message.h"
#include "engine/graph/graph.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace trainyard::engine {

struct NonFinite {
    enum class What {
        Sample,            ///< of the batch, as it was read
        Parameter,         ///< the update before made it
        Output,            ///< of a layer whose inputs are finite
        Loss,              ///< of finite scores
        ValueGradient,     ///< that goes back from a layer
        ParameterGradient, ///< of a parameter
        Received           ///< came from another rank, which is the one to ask
    };
    What what = What::Output;
    std::string layer;
    std::string parameter; ///< its name
    std::int64_t instruction = 0;
};

/// Before a kernel runs: what it finds. After: what it has left. `operation`: of `graph`.
std::optional<NonFinite> nonFiniteBefore(const KernelRequest& request, const graph::Graph& graph,
                                         graph::OperationId operation);
std::optional<NonFinite> nonFiniteAfter(const KernelRequest& request, const graph::Graph& graph,
                                        graph::OperationId operation);

/// "Training diverged at step 7: loss nan, gradient norm nan. It began on rank 1 (process 20): the
/// output of layer fc1 is not finite."
Message divergedAt(std::int64_t step, double loss, double gradientNorm, int rank,
                   const NonFinite& begin);

} // namespace trainyard::engine
