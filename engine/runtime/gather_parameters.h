// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The whole model's parameters from the ranks that have parts of them.
#pragma once

#include "engine/base/result.h"
#include "engine/plan/plan.h"
#include "engine/runtime/process_groups.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::engine {

/// Collective over all ranks. They all get all parameters, one after the other, row-major, of
/// exactType(plan.type). `arena`: what
/// this rank keeps of its section, whole or in shards.
Result<std::vector<std::byte>> gatherParameters(const plan::Plan& plan, int rank,
                                                ProcessGroups& groups, const std::byte* arena,
                                                std::uint32_t tag);

} // namespace trainyard::engine
