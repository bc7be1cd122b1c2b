// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the values, gradients and saved bytes of a program lie: buffers that run in place are one,
// and what is not alive at the same time may share bytes. Internal to engine/program.
#pragma once

#include "engine/program/program.h"

namespace trainyard::plan {

/// Fills everything of `program` that follows from its instructions, blocks, micro-batches and the
/// number of its places.
void placeMemory(const Plan& plan, const Section& section, Program& program);

} // namespace trainyard::plan
