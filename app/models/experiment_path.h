// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Single values of an experiment by their path, the same paths that problems name:
// "training.batch", "model.layers[2].kernel", "training.optimizer.learning_rate". Lets one field
// widget, one undo rule and one way to a problem's place serve every value.
#pragma once

#include "engine/spec/experiment.h"

#include <optional>
#include <string>
#include <string_view>

namespace trainyard::app {

/// Inputs of a layer, "model.layers[2].from", are a text with names and commas; empty: the layer
/// before. Another format of the data keeps the files and values that it has, too.

/// The value, or the default of its catalogue entry. None where nothing is chosen (max_steps), the
/// path is not known, or a required field of a layer is missing.
std::optional<spec::Value> valueAt(const spec::Experiment& experiment, std::string_view path);

/// False, and nothing is changed, when there is no such path or the value is of the wrong kind.
/// No value takes back what was chosen: the default counts again.
bool setValueAt(spec::Experiment& experiment, std::string_view path,
                const std::optional<spec::Value>& value);

/// "model.layers[2]" and "model.layers[2].kernel" are of layer 2; -1: of none.
int layerOfPath(std::string_view path);
/// What follows the layer: "kernel", empty for the layer itself.
std::string_view fieldOfLayerPath(std::string_view path);
std::string layerPath(int layer, std::string_view field = {});

} // namespace trainyard::app
