// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Changes to the list of layers that keep it whole: ids stay unique, and layers that name others in
// "from" or share their weights follow when those are renamed or removed. Pure functions; the
// document makes them undoable. A "from" that only names the layer before says nothing and is
// dropped, so that a chain stays one when something is put into it; a layer that joins branches
// takes what is put before it in place of the layer before.
#pragma once

#include "engine/base/tensor_type.h"
#include "engine/spec/catalogue.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::app {

/// `wanted` when it is free, else with the first number that makes it so: "conv" -> "conv2".
std::string uniqueLayerId(const spec::ModelSpec& model, std::string_view wanted);

/// True for layers that take two or more inputs; all others take one.
bool joinsBranches(std::string_view type);
/// True where the field names an earlier layer, whose weights serve here, too.
bool namesLayer(const spec::FieldInfo& field);
/// The layers before `at` whose weights another may share.
std::vector<std::string> weightSources(const spec::ModelSpec& model, int at);

/// What a new layer is made to fit, as far as it is known.
struct LayerHints {
    std::int64_t outputs = 0;    ///< classes of the data, or numbers to predict
    std::int64_t vocabulary = 0; ///< of the data
    /// What the input and the layers give, in this order; empty where it is not known.
    std::vector<Shape> shapes;
};

/// Two inputs for a layer of this type: the layer before and the latest other one that fits it;
/// nothing where none is known to.
std::vector<std::string> fittingBranches(const spec::ModelSpec& model, std::string_view type,
                                         int at, const LayerHints& hints);

/// A layer of this type for position `at`, with an id of its own and values for the fields that
/// have no default. One that joins branches takes fitting ones.
spec::LayerSpec makeLayer(const spec::ModelSpec& model, std::string_view type, int at,
                          const LayerHints& hints = {});

/// What a layer takes, by name: "input" and ids.
std::vector<std::string> sourcesOf(const spec::ModelSpec& model, int at);
void setSources(spec::ModelSpec& model, int at, std::vector<std::string> sources);

void insertLayer(spec::ModelSpec& model, int at, spec::LayerSpec layer);
void removeLayer(spec::ModelSpec& model, int at);
/// `to` is the index the layer has afterwards.
void moveLayer(spec::ModelSpec& model, int from, int to);
/// The copy comes right after; returns its index.
int duplicateLayer(spec::ModelSpec& model, int at);
/// An id that is taken gets a number. Returns the id it has now.
std::string renameLayer(spec::ModelSpec& model, int at, const std::string& id);

} // namespace trainyard::app
