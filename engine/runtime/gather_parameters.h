// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The whole model's parameters from the ranks that have parts of them, one after the other, so that
// no rank needs room for more than it wants to keep.
#pragma once

#include "engine/base/result.h"
#include "engine/plan/plan.h"
#include "engine/runtime/process_groups.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace trainyard::engine {

/// Gets the elements of one whole parameter, row-major, of exactType(plan.type); they are gone
/// after the call.
using TakeParameter = std::function<void(std::span<const std::byte>)>;

/// Collective over all ranks. Each calls `take` for every parameter of the model, in order.
/// `arena`: what this rank keeps of its section, whole or in shards.
Result<void> gatherParameters(const plan::Plan& plan, int rank, ProcessGroups& groups,
                              const std::byte* arena, std::uint32_t tag, const TakeParameter& take);

} // namespace trainyard::engine
