// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention as a piece of layers and blocks. Internal to engine/graph.
#pragma once

#include "engine/graph/build_operations.h"

#include <cstdint>
#include <string>

namespace trainyard::graph {

struct AttentionOptions {
    std::int64_t heads = 1;
    std::int64_t kvHeads = 0; ///< 0: as many as heads
    bool causal = true;
    bool rotary = false;
    bool bias = true;
};

/// Queries, keys and values by one product, attention, and the product behind it: {T, C} -> {T, C}.
ValueId addAttention(LayerBuilder& builder, const std::string& part, ValueId input,
                     const AttentionOptions& options);

} // namespace trainyard::graph
