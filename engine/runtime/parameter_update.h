// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// ParameterUpdate: what one rank updates, and the optimizer's state of it: the whole arena, or,
// where the optimizer is sharded (ZeRO), its shard of each bucket. Where gradients or parameters
// are sharded, too, their arenas consist of the shards, one after the other.
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
    /// Sum of squares over the trained gradients that this rank updates and owns; arenas as the
    /// plan lays them out, as everywhere here.
    double gradientSquares(const std::byte* gradients) const;
    void apply(const UpdateContext& context, std::byte* parameters, const std::byte* gradients);

private:
    /// Consecutive elements of the arenas. Ranges count from its first.
    struct Part {
        plan::Shard elements;       ///< of the whole arena
        std::size_t shards = 0;     ///< elements of the parts before it
        std::size_t parameters = 0; ///< its first element in the parameters' arena
        std::size_t gradients = 0;
        std::vector<ParameterRange> ranges;
        std::vector<ParameterRange> countedSpans; ///< as long as they can be
        std::vector<void*> state;
    };

    void addPart(const plan::Plan& plan, const plan::Shard& elements,
                 const std::vector<ParameterRange>& all);

    DType m_type;
    Optimizer& m_optimizer;
    std::vector<Part> m_parts;
    std::vector<Arena> m_slots;
};

/// Of the section's parameters, by their place in the arenas.
std::vector<ParameterRange> parameterRanges(const plan::Section& section);

} // namespace trainyard::engine
