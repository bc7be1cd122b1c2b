// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Looks at what an experiment names on this machine before anything is started: the data files,
// their statistics, and everything that is wrong.
#pragma once

#include "engine/plan/calibration.h"

#include <string>
#include <string_view>

namespace trainyard::engine {

/// One JSON object, "trainyard.inspect/1":
/// {"problems": [{"where", "what": {"format", "arguments"}, "cure": {...}}],
///  "data": {"train": {"samples", "shape", "vocabulary", "numbers", "classes", "class_counts",
///                      "class_names", "mean", "deviation", "notes"},
///           "validation": {...} or null,
///           "preview": as previewAsJson() in data_preview.h gives it} or null,
///  "machine": {"cores", "blocked_pictures", "bf16", "bucket_bytes", "network_bucket_bytes"}}
/// `calibration`: of this machine, for the sizes of buckets; null: not measured, they are 0.
std::string inspectExperiment(std::string_view experimentJson,
                              const plan::Calibration* calibration = nullptr);

} // namespace trainyard::engine
