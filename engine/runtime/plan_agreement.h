// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Every rank makes the plan by itself. Whether all have made the same one is found out before they
// exchange anything else, because groups, sizes and tags follow from it.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/plan/plan.h"

#include <cstdint>
#include <optional>

namespace trainyard::engine {

/// A rank whose plan is another one, in a sentence that names both sides and what differs.
struct OddPlan {
    int rank = 0;
    Error error;
};

/// Collective; the same answer on all ranks. Empty: they agree. The plan that most ranks have is
/// the right one, of two with as many that of the lower ranks.
Result<std::optional<OddPlan>> findOddPlan(const plan::Plan& plan, Communicator& world,
                                           std::uint32_t tag);

} // namespace trainyard::engine
