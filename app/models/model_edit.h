// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Changes to the list of layers that keep it whole: ids stay unique, and layers that name others in
// "from" follow when those are renamed or removed. Pure functions; the document makes them
// undoable. A "from" that only names the layer before says nothing and is dropped, so that a chain
// stays one when something is put into it.
#pragma once

#include "engine/spec/experiment.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard::app {

/// `wanted` when it is free, else with the first number that makes it so: "conv" -> "conv2".
std::string uniqueLayerId(const spec::ModelSpec& model, std::string_view wanted);

/// A layer of this type for position `at`, with an id of its own and values for the fields that
/// have no default. `classes` of the data, 0 when unknown: outputs of a last dense layer.
spec::LayerSpec makeLayer(const spec::ModelSpec& model, std::string_view type, int at,
                          std::int64_t classes);

void insertLayer(spec::ModelSpec& model, int at, spec::LayerSpec layer);
void removeLayer(spec::ModelSpec& model, int at);
/// `to` is the index the layer has afterwards.
void moveLayer(spec::ModelSpec& model, int from, int to);
/// The copy comes right after; returns its index.
int duplicateLayer(spec::ModelSpec& model, int at);
/// An id that is taken gets a number. Returns the id it has now.
std::string renameLayer(spec::ModelSpec& model, int at, const std::string& id);

} // namespace trainyard::app
