// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Changes one value of an experiment's JSON by its path: "parallel.data", "model.layers[2].kernel"
// or, by the layer's id, "model.layers.conv1.kernel". Internal to engine/spec.
#pragma once

#include "engine/spec/json_reader.h"

#include <string>

namespace trainyard::spec {

/// `value` is JSON where it can be read as such, else text. Objects on the way are made when
/// missing (a misspelt key is found by the reader afterwards); list elements must exist.
void applySetting(Json& json, const std::string& path, const std::string& value,
                  Problems& problems);

} // namespace trainyard::spec
