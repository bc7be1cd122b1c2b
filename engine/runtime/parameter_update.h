// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// ParameterUpdate: what one rank updates, and the optimizer's state of it: the whole arena, or,
// where the optimizer is sharded (ZeRO 1), its shard of each bucket.
#pragma once

#include "engine/optim/optimizer.h"
#include "engine/plan/plan.h"
#include "engine/runtime/arena.h"

#include <cstddef>
#include <vector>

namespace trainyard::engine {

class ParameterUpdate {
public:
    /// Takes the memory of the state. Throws std::bad_alloc.
    ParameterUpdate(const plan::Plan& plan, int rank, Optimizer& optimizer);

    std::size_t stateBytes() const;
    /// Sum of squares over the trained gradients that this rank updates; arenas as the plan lays
    /// them out, as everywhere here.
    double gradientSquares(const std::byte* gradients) const;
    void apply(const UpdateContext& context, std::byte* parameters, const std::byte* gradients);

private:
    /// Consecutive elements of the arenas. Ranges count from its first.
    struct Part {
        plan::Shard elements;
        std::vector<ParameterRange> ranges;
        std::vector<ParameterRange> trainedSpans; ///< as long as they can be
        std::vector<void*> state;
    };

    void addPart(const plan::Shard& elements, const std::vector<ParameterRange>& all);

    DType m_type;
    Optimizer& m_optimizer;
    std::vector<Part> m_parts;
    std::vector<Arena> m_slots;
};

/// Of all parameters, by their place in the arenas.
std::vector<ParameterRange> parameterRanges(const plan::Plan& plan);

} // namespace trainyard::engine
