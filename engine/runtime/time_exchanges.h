// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Times collectives and messages of two ranks, in shared memory and over TCP on the loopback.
#pragma once

#include "engine/plan/calibration.h"

#include <chrono>

namespace trainyard::engine {

/// Fills the calibration's exchanges. `each`: about how long one of one size is repeated.
Result<void> timeExchanges(std::chrono::milliseconds each, plan::Calibration& calibration);

} // namespace trainyard::engine
