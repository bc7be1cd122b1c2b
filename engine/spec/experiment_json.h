// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Experiments as JSON: the same text in every locale and each time it is saved. Reading names the
// path of each problem ("model.layers[2].out_channels") and, for unknown keys and types, the
// nearest known one.
#pragma once

#include "engine/base/result.h"
#include "engine/spec/experiment.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard::spec {

struct ParsedExperiment {
    Experiment experiment; ///< as far as it could be read
    Problems problems;     ///< empty: valid by itself (graph and data are checked elsewhere)
};

/// Reads and checks `json`. `settings` are changes by path ("parallel.data" = "4") made before
/// checking; their values are JSON, or plain text where JSON does not fit.
ParsedExperiment
parseExperiment(std::string_view json,
                const std::vector<std::pair<std::string, std::string>>& settings = {});

/// Two-space indent, keys in the documented order, all fields with their values, ends with a
/// newline.
std::string toJson(const Experiment& experiment);

/// Checks values against the catalogue and against each other, as parseExperiment does after
/// reading.
Problems validate(const Experiment& experiment);

/// File paths that are not absolute are taken from `folder` (that of the experiment file).
void resolvePaths(Experiment& experiment, const std::string& folder);

} // namespace trainyard::spec
