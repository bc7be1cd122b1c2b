// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The first samples of data as a person can look at them: pictures as bytes, the begin of a text,
// columns of a table with their first values. Internal to engine/runtime.
#pragma once

#include "engine/data/dataset.h"
#include "engine/spec/experiment.h"

#include <string>

namespace trainyard::engine {

/// Null where there is nothing to show, else one of
/// {"pictures": [{"label", "bytes"}]}: bytes {channels, height, width} in base64
/// {"text": "..."}
/// {"columns": [{"name", "use", "missing", "examples", "categories"}]}, of inputs that are numbers
///   with "mean" and "deviation"
/// Throws as Dataset::gather().
std::string previewAsJson(const Dataset& dataset, const spec::DataSpec& data);

} // namespace trainyard::engine
