// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/model_edit.h"

#include "engine/base/check.h"

#include <algorithm>

namespace trainyard::app {

using spec::LayerSpec;
using spec::ModelSpec;

namespace {

constexpr std::int64_t kUsualFilters = 32;
constexpr std::int64_t kUsualOutputs = 128;
constexpr std::int64_t kUsualClasses = 10;
constexpr std::int64_t kUsualVocabulary = 256;
constexpr std::int64_t kUsualFeatures = 64;
/// Pictures with so many channels have been through layers; blocks keep their number.
constexpr std::int64_t kManyChannels = 8;

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

/// What was named twice is named once.
void replaceSource(LayerSpec& layer, const std::string& id, const std::string& replacement) {
    if (std::find(layer.from.begin(), layer.from.end(), id) == layer.from.end())
        return;
    std::vector<std::string> sources;
    for (const std::string& source : layer.from) {
        const std::string& now = source == id ? replacement : source;
        if (now != replacement || std::find(sources.begin(), sources.end(), now) == sources.end())
            sources.push_back(now);
    }
    layer.from = std::move(sources);
}

/// Fields that name this layer; no replacement: they name none.
void replaceWeightSource(ModelSpec& model, const std::string& id, const std::string& replacement) {
    for (LayerSpec& layer : model.layers) {
        const spec::TypeInfo* type = spec::findType(spec::Kind::Layer, layer.type);
        for (const spec::FieldInfo& field : type ? type->fields : std::vector<spec::FieldInfo>()) {
            const auto given = layer.values.find(field.name);
            if (!namesLayer(field) || given == layer.values.end() ||
                given->second != spec::Value(id))
                continue;
            if (replacement.empty())
                layer.values.erase(given);
            else
                given->second = replacement;
        }
    }
}

/// The layer at `at` joins branches and takes `id` among them: `replacement` comes in its place.
void reroute(ModelSpec& model, int at, const std::string& id, const std::string& replacement) {
    if (at < static_cast<int>(model.layers.size()) && layerAt(model, at).from.size() > 1)
        replaceSource(layerAt(model, at), id, replacement);
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

Shape shapeBefore(const LayerHints& hints, int at) {
    const auto index = static_cast<std::size_t>(at);
    return index < hints.shapes.size() ? hints.shapes[index] : Shape();
}

/// For a field without a default.
spec::Value firstValue(const ModelSpec& model, const spec::FieldInfo& field,
                       const spec::TypeInfo& type, int at, const LayerHints& hints) {
    const Shape before = shapeBefore(hints, at);
    if (field.kind == spec::FieldKind::IntegerList) // the same shape in another place
        return before.empty() ? Shape{kUsualFeatures} : before;
    if (field.name == "vocabulary")
        return hints.vocabulary > 0 ? hints.vocabulary : kUsualVocabulary;
    if (field.name == "features")
        return kUsualFeatures;
    if (type.type == "linear") {
        if (at < static_cast<int>(model.layers.size()))
            return kUsualOutputs;
        return hints.outputs > 0 ? hints.outputs : kUsualClasses;
    }
    const bool keeps = type.category == "Blocks" && before.size() == 3;
    return keeps && before[0] >= kManyChannels ? before[0] : kUsualFilters;
}

/// Pictures side by side need the same height and width, sums the same shape.
bool joinable(std::string_view type, const Shape& a, const Shape& b) {
    if (a.empty() || a.size() != b.size())
        return false;
    if (type != "concat")
        return a == b;
    const bool pictures = a.size() == 3;
    return pictures ? std::equal(a.begin() + 1, a.end(), b.begin() + 1)
                    : std::equal(a.begin(), a.end() - 1, b.begin());
}

/// What stands directly behind the layer takes what the layer takes, as if it were not there.
void bypass(ModelSpec& model, int at) {
    const LayerSpec& layer = layerAt(model, at);
    const std::string source = sourcesOf(model, at).front();
    if (at + 1 == static_cast<int>(model.layers.size()))
        return;
    if (LayerSpec& next = layerAt(model, at + 1); next.from.empty() && !layer.from.empty())
        next.from = {source};
    reroute(model, at + 1, layer.id, source);
}

} // namespace

std::string uniqueLayerId(const ModelSpec& model, std::string_view wanted) {
    if (!isTaken(model, wanted))
        return std::string(wanted);
    return numbered(model, withoutDigits(wanted), 2);
}

bool joinsBranches(std::string_view type) {
    const spec::TypeInfo* info = spec::findType(spec::Kind::Layer, type);
    return info && info->category == "Join";
}

bool namesLayer(const spec::FieldInfo& field) {
    return field.kind == spec::FieldKind::Text && field.name == "tied_to";
}

std::vector<std::string> weightSources(const ModelSpec& model, int at) {
    std::vector<std::string> ids;
    for (int i = 0; i < at; ++i) {
        const LayerSpec& layer = model.layers[static_cast<std::size_t>(i)];
        const auto tied = layer.values.find("tied_to");
        const bool own = tied == layer.values.end() || tied->second == spec::Value(std::string());
        if (layer.type == "embedding" || (layer.type == "linear" && own))
            ids.push_back(layer.id);
    }
    return ids;
}

std::vector<std::string> fittingBranches(const ModelSpec& model, std::string_view type, int at,
                                         const LayerHints& hints) {
    for (int other = at - 1; other >= 0; --other)
        if (joinable(type, shapeBefore(hints, at), shapeBefore(hints, other)))
            return {impliedSource(model, at), impliedSource(model, other)};
    return {};
}

LayerSpec makeLayer(const ModelSpec& model, std::string_view type, int at,
                    const LayerHints& hints) {
    const spec::TypeInfo* info = spec::findType(spec::Kind::Layer, type);
    TRAINYARD_CHECK_MSG(info != nullptr, std::string(type));
    LayerSpec layer{
        .id = numbered(model, idStem(type), 1), .type = info->type, .from = {}, .values = {}};
    for (const spec::FieldInfo& field : info->fields)
        if (!field.defaultValue)
            layer.values[field.name] = firstValue(model, field, *info, at, hints);
    if (joinsBranches(type))
        layer.from = fittingBranches(model, type, at, hints);
    return layer;
}

std::vector<std::string> sourcesOf(const ModelSpec& model, int at) {
    const LayerSpec& layer = model.layers[static_cast<std::size_t>(at)];
    return layer.from.empty() ? std::vector{impliedSource(model, at)} : layer.from;
}

void setSources(ModelSpec& model, int at, std::vector<std::string> sources) {
    layerAt(model, at).from = std::move(sources);
    dropImpliedSources(model);
}

void insertLayer(ModelSpec& model, int at, LayerSpec layer) {
    dropImpliedSources(model);
    const std::string before = impliedSource(model, at);
    const std::string id = layer.id;
    const bool takesBefore = layer.from.empty() || std::find(layer.from.begin(), layer.from.end(),
                                                             before) != layer.from.end();
    model.layers.insert(position(model, at), std::move(layer));
    if (takesBefore)
        reroute(model, at + 1, before, id);
}

void removeLayer(ModelSpec& model, int at) {
    dropImpliedSources(model);
    const LayerSpec removed = layerAt(model, at);
    const std::string source = sourcesOf(model, at).front();
    bypass(model, at);
    model.layers.erase(position(model, at));
    for (LayerSpec& layer : model.layers)
        replaceSource(layer, removed.id, source);
    replaceWeightSource(model, removed.id, {});
    dropImpliedSources(model);
}

void moveLayer(ModelSpec& model, int from, int to) {
    dropImpliedSources(model);
    LayerSpec layer = layerAt(model, from);
    bypass(model, from);
    model.layers.erase(position(model, from));
    insertLayer(model, to, std::move(layer));
    dropImpliedSources(model);
}

int duplicateLayer(ModelSpec& model, int at) {
    dropImpliedSources(model);
    LayerSpec copy = layerAt(model, at);
    copy.id = uniqueLayerId(model, copy.id);
    // It comes behind the original: a join takes that in place of its first branch.
    if (joinsBranches(copy.type) && copy.from.size() > 1)
        copy.from.front() = layerAt(model, at).id;
    else
        copy.from.clear();
    insertLayer(model, at + 1, std::move(copy));
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
    for (LayerSpec& each : model.layers)
        replaceSource(each, old, free);
    replaceWeightSource(model, old, free);
    return free;
}

} // namespace trainyard::app
