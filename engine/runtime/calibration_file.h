// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The calibration of this machine that is kept between runs, in the user's cache folder. It holds
// for one version, processor and number of cores; of another, or damaged, it counts as not there.
// Deleting it is harmless.
#pragma once

#include "engine/plan/calibration.h"

#include <filesystem>
#include <optional>

namespace trainyard::engine {

/// $XDG_CACHE_HOME/trainyard/calibration.json, else in ~/.cache; empty when there is no home.
std::filesystem::path defaultCalibrationFile();

/// None: there is none for this key.
std::optional<plan::Calibration> readCalibration(const std::filesystem::path& file,
                                                 const plan::CalibrationKey& key);

/// Whole or not at all; what was there before stays when it fails.
Result<void> writeCalibration(const std::filesystem::path& file,
                              const plan::Calibration& calibration);

} // namespace trainyard::engine
