// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Limits of waiting that tests make shorter, and people on an odd machine longer: seconds in
// TRAINYARD_STALL_SECONDS and TRAINYARD_WAIT_SECONDS. What makes no sense counts as not set.
#pragma once

#include "engine/agent/supervisor.h"

#include <chrono>

namespace trainyard::engine {

SupervisorTiming supervisorLimits();
/// Longest wait of a rank for the others.
std::chrono::milliseconds waitForOthersLimit();

} // namespace trainyard::engine
