// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Cuts the plan's graph into the sections of its mesh. Internal to engine/plan.
#pragma once

#include "engine/plan/plan.h"

namespace trainyard::plan {

/// Fills `plan.sections` and `plan.stages`; the rest of the plan is there but for `ranks`. `cuts`:
/// layers that begin stages, `stageSpeeds`: of pipeline ranks, see assignStages().
Problems makeSections(Plan& plan, const MachineFacts& machine, const std::vector<std::string>& cuts,
                      const std::vector<double>& stageSpeeds);

} // namespace trainyard::plan
