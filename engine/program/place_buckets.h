// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where buckets of parameters and gradients lie that a rank has whole only for a while (ZeRO 2 and
// 3). Internal to engine/program.
#pragma once

#include "engine/program/program.h"

namespace trainyard::plan {

/// Fills the windows of `program` from its instructions.
void placeBuckets(const Plan& plan, const Section& section, Program& program);

} // namespace trainyard::plan
