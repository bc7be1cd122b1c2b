// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// calibrate: how fast this machine computes and exchanges, "trainyard.calibration/1" on stdout. A
// calibration that is kept (runtime/calibration_file.h) is printed; else it is measured and kept.
#pragma once

#include <string>
#include <vector>

namespace trainyard::engine {

/// Gets the words after the verb. Where nothing is kept and nothing may be measured, and where it
/// cannot be measured, the answer is {"answer": "refused", "error": ...}.
int calibrateMain(const std::vector<std::string>& arguments);

} // namespace trainyard::engine
