// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/model_edit.h"

#include "engine/base/check.h"
#include "engine/spec/catalogue.h"

#include <algorithm>

namespace trainyard::app {

using spec::LayerSpec;
using spec::ModelSpec;

namespace {

constexpr std::int64_t kUsualFilters = 32;
constexpr std::int64_t kUsualOutputs = 128;
constexpr std::int64_t kUsualClasses = 10;

auto position(const ModelSpec& model, int index) {
    TRAINYARD_CHECK(index >= 0 && index <= static_cast<int>(model.layers.size()));
    return model.layers.begin() + index;
}

LayerSpec& layerAt(ModelSpec& model, int index) {
    TRAINYARD_CHECK(index >= 0 && index < static_cast<int>(model.layers.size()));
    return model.layers[static_cast<std::size_t>(index)];
}

/// The layer (or "input") that `index` takes when it names none.
std::string impliedSource(const ModelSpec& model, int index) {
    return index == 0 ? "input" : model.layers[static_cast<std::size_t>(index) - 1].id;
}

void dropImpliedSources(ModelSpec& model) {
    for (int i = 0; i < static_cast<int>(model.layers.size()); ++i) {
        LayerSpec& layer = layerAt(model, i);
        if (layer.from.size() == 1 && layer.from.front() == impliedSource(model, i))
            layer.from.clear();
    }
}

void replaceSource(ModelSpec& model, const std::string& id, const std::string& replacement) {
    for (LayerSpec& layer : model.layers)
        std::replace(layer.from.begin(), layer.from.end(), id, replacement);
}

/// "conv2d" -> "conv", "max_pool" -> "max_pool": what ids of this type start with.
std::string idStem(std::string_view type) {
    if (type.size() > 2 && (type.ends_with("1d") || type.ends_with("2d") || type.ends_with("3d")))
        type.remove_suffix(2);
    return std::string(type);
}

bool isTaken(const ModelSpec& model, std::string_view id) {
    return id == "input" || id == "loss" ||
           std::any_of(model.layers.begin(), model.layers.end(),
                       [&](const LayerSpec& layer) { return layer.id == id; });
}

std::string withoutDigits(std::string_view id) {
    while (id.size() > 1 && id.back() >= '0' && id.back() <= '9')
        id.remove_suffix(1);
    return std::string(id);
}

std::string numbered(const ModelSpec& model, const std::string& stem, int first) {
    for (int number = first;; ++number)
        if (const std::string id = stem + std::to_string(number); !isTaken(model, id))
            return id;
}

} // namespace

std::string uniqueLayerId(const ModelSpec& model, std::string_view wanted) {
    if (!isTaken(model, wanted))
        return std::string(wanted);
    return numbered(model, withoutDigits(wanted), 2);
}

LayerSpec makeLayer(const ModelSpec& model, std::string_view type, int at, std::int64_t classes) {
    const spec::TypeInfo* info = spec::findType(spec::Kind::Layer, type);
    TRAINYARD_CHECK_MSG(info != nullptr, std::string(type));
    LayerSpec layer{
        .id = numbered(model, idStem(type), 1), .type = info->type, .from = {}, .values = {}};
    const bool last = at == static_cast<int>(model.layers.size());
    for (const spec::FieldInfo& field : info->fields) {
        if (field.defaultValue)
            continue;
        // Counts of outputs are the only fields without a default.
        std::int64_t value = type == "linear" ? kUsualOutputs : kUsualFilters;
        if (type == "linear" && last)
            value = classes > 0 ? classes : kUsualClasses;
        layer.values[field.name] = value;
    }
    return layer;
}

void insertLayer(ModelSpec& model, int at, LayerSpec layer) {
    dropImpliedSources(model);
    model.layers.insert(position(model, at), std::move(layer));
}

void removeLayer(ModelSpec& model, int at) {
    dropImpliedSources(model);
    const LayerSpec removed = layerAt(model, at);
    const std::string source =
        removed.from.empty() ? impliedSource(model, at) : removed.from.front();
    model.layers.erase(position(model, at));
    replaceSource(model, removed.id, source);
    dropImpliedSources(model);
}

void moveLayer(ModelSpec& model, int from, int to) {
    dropImpliedSources(model);
    LayerSpec layer = layerAt(model, from);
    model.layers.erase(position(model, from));
    model.layers.insert(position(model, to), std::move(layer));
    dropImpliedSources(model);
}

int duplicateLayer(ModelSpec& model, int at) {
    dropImpliedSources(model);
    LayerSpec copy = layerAt(model, at);
    copy.id = uniqueLayerId(model, copy.id);
    copy.from.clear();
    model.layers.insert(position(model, at + 1), std::move(copy));
    return at + 1;
}

std::string renameLayer(ModelSpec& model, int at, const std::string& id) {
    LayerSpec& layer = layerAt(model, at);
    if (layer.id == id)
        return id;
    const std::string old = layer.id;
    layer.id.clear(); // its own old id is free
    const std::string free = uniqueLayerId(model, id);
    layer.id = free;
    replaceSource(model, old, free);
    return free;
}

} // namespace trainyard::app
