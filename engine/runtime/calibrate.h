// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Measures this machine for the prices of plans: small models of every kind are trained for some
// steps through the real executor, and each kernel and update is timed where it stands, with what
// lies in the caches there. So a kernel that is new, or faster than it was, needs nothing here.
// Besides: exchanges of two ranks. Takes some seconds and all cores.
#pragma once

#include "engine/plan/calibration.h"

#include <chrono>

namespace trainyard::engine {

struct CalibrateOptions {
    plan::CalibrationKey key;
    /// For one model and one way to use the cores.
    std::chrono::milliseconds perModel{100};
    /// For one exchange of one size.
    std::chrono::milliseconds perExchange{8};
};

/// With all of the key's cores in use the settings are: one thread alone, one thread on each core,
/// all cores for one rank.
Result<plan::Calibration> calibrate(const CalibrateOptions& options);

/// Of this build on this machine.
plan::CalibrationKey calibrationKey(const std::string& version, int cores);

} // namespace trainyard::engine
