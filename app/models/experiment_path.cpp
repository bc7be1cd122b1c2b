// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/experiment_path.h"

#include "app/models/experiment_fields.h"
#include "engine/base/number_text.h"
#include "engine/spec/catalogue.h"

#include <array>

namespace trainyard::app {

using spec::Experiment;
using spec::Value;
using MaybeValue = std::optional<Value>;

namespace {

constexpr std::string_view kLayerPrefix = "model.layers[";

/// Whole numbers count as numbers; nothing else is converted.
std::optional<double> asReal(const Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value))
        return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value))
        return *real;
    return std::nullopt;
}

template <class T>
bool assign(T& target, const MaybeValue& value) {
    const T* held = value ? std::get_if<T>(&*value) : nullptr;
    if (held)
        target = *held;
    return held != nullptr;
}

bool assignReal(double& target, const MaybeValue& value) {
    const auto real = value ? asReal(*value) : std::nullopt;
    if (real)
        target = *real;
    return real.has_value();
}

/// A value that may be absent.
template <class T, class Assign>
bool assignOptional(std::optional<T>& target, const MaybeValue& value, Assign assignTo) {
    if (!value) {
        target.reset();
        return true;
    }
    T held{};
    if (!assignTo(held, value))
        return false;
    target = held;
    return true;
}

struct Accessor {
    std::string_view path;
    MaybeValue (*get)(const Experiment&);
    bool (*set)(Experiment&, const MaybeValue&);
};

template <class T>
MaybeValue orNone(const std::optional<T>& value) {
    return value ? MaybeValue(Value(*value)) : std::nullopt;
}

bool setSeed(Experiment& e, const MaybeValue& value) {
    std::int64_t seed = 0;
    if (!assign(seed, value) || seed < 0)
        return false;
    e.training.seed = static_cast<std::uint64_t>(seed);
    return true;
}

bool setPrecision(Experiment& e, const MaybeValue& value) {
    std::string text;
    if (!assign(text, value) || (text != "fp32" && text != "fp64"))
        return false;
    e.precision = text == "fp64" ? spec::Precision::Fp64 : spec::Precision::Fp32;
    return true;
}

/// The metric switches early stopping on and off; the other values are there only while it is on.
MaybeValue stoppingMetric(const Experiment& e) {
    const auto& stopping = e.training.earlyStopping;
    return Value(stopping ? stopping->metric : std::string(kNoStopping));
}

bool setStoppingMetric(Experiment& e, const MaybeValue& value) {
    std::string metric = kNoStopping;
    if (value && !assign(metric, value))
        return false;
    auto& stopping = e.training.earlyStopping;
    if (metric == kNoStopping)
        stopping.reset();
    else if (stopping)
        stopping->metric = metric;
    else
        stopping.emplace().metric = metric;
    return true;
}

constexpr std::array kAccessors = {
    Accessor{"name", [](const Experiment& e) { return MaybeValue(e.name); },
             [](Experiment& e, const MaybeValue& v) {
                 return assign(e.name, v);
             }},
    Accessor{"data.format", [](const Experiment& e) { return MaybeValue(e.data.format); },
             [](Experiment& e, const MaybeValue& v) {
                 return assign(e.data.format, v);
             }},
    Accessor{"data.normalize", [](const Experiment& e) { return MaybeValue(e.data.normalize); },
             [](Experiment& e, const MaybeValue& v) {
                 return assign(e.data.normalize, v);
             }},
    Accessor{"data.validation.fraction",
             [](const Experiment& e) { return MaybeValue(e.data.validationFraction); },
             [](Experiment& e, const MaybeValue& v) {
                 return assignReal(e.data.validationFraction, v);
             }},
    Accessor{"model.input.shape",
             [](const Experiment& e) { return MaybeValue(e.model.inputShape); },
             [](Experiment& e, const MaybeValue& v) {
                 return assign(e.model.inputShape, v);
             }},
    Accessor{"training.batch", [](const Experiment& e) { return MaybeValue(e.training.batch); },
             [](Experiment& e, const MaybeValue& v) {
                 return assign(e.training.batch, v);
             }},
    Accessor{"training.epochs", [](const Experiment& e) { return MaybeValue(e.training.epochs); },
             [](Experiment& e, const MaybeValue& v) {
                 return assign(e.training.epochs, v);
             }},
    Accessor{"training.max_steps", [](const Experiment& e) { return orNone(e.training.maxSteps); },
             [](Experiment& e, const MaybeValue& v) {
                 return assignOptional(e.training.maxSteps, v, assign<std::int64_t>);
             }},
    Accessor{
        "training.seed",
        [](const Experiment& e) { return MaybeValue(static_cast<std::int64_t>(e.training.seed)); },
        setSeed},
    Accessor{"training.clip_norm", [](const Experiment& e) { return orNone(e.training.clipNorm); },
             [](Experiment& e, const MaybeValue& v) {
                 return assignOptional(e.training.clipNorm, v, assignReal);
             }},
    Accessor{"training.learning_rate_batch",
             [](const Experiment& e) { return orNone(e.training.learningRateBatch); },
             [](Experiment& e, const MaybeValue& v) {
                 return assignOptional(e.training.learningRateBatch, v, assign<std::int64_t>);
             }},
    Accessor{"training.ema_decay", [](const Experiment& e) { return orNone(e.training.emaDecay); },
             [](Experiment& e, const MaybeValue& v) {
                 return assignOptional(e.training.emaDecay, v, assignReal);
             }},
    Accessor{"training.early_stopping.metric", stoppingMetric, setStoppingMetric},
    Accessor{"training.early_stopping.patience",
             [](const Experiment& e) {
                 const auto& stopping = e.training.earlyStopping;
                 return stopping ? MaybeValue(stopping->patience) : std::nullopt;
             },
             [](Experiment& e, const MaybeValue& v) {
                 return e.training.earlyStopping && assign(e.training.earlyStopping->patience, v);
             }},
    Accessor{"training.early_stopping.min_delta",
             [](const Experiment& e) {
                 const auto& stopping = e.training.earlyStopping;
                 return stopping ? MaybeValue(stopping->minDelta) : std::nullopt;
             },
             [](Experiment& e, const MaybeValue& v) {
                 return e.training.earlyStopping &&
                        assignReal(e.training.earlyStopping->minDelta, v);
             }},
    Accessor{"precision",
             [](const Experiment& e) {
                 return MaybeValue(
                     std::string(e.precision == spec::Precision::Fp64 ? "fp64" : "fp32"));
             },
             setPrecision},
    Accessor{"parallel.data", [](const Experiment& e) { return MaybeValue(e.parallel.data); },
             [](Experiment& e, const MaybeValue& v) {
                 return assign(e.parallel.data, v);
             }},
    Accessor{"parallel.transport",
             [](const Experiment& e) { return MaybeValue(e.parallel.transport); },
             [](Experiment& e, const MaybeValue& v) {
                 return assign(e.parallel.transport, v);
             }},
};

const Accessor* findAccessor(std::string_view path) {
    for (const Accessor& accessor : kAccessors)
        if (accessor.path == path)
            return &accessor;
    return nullptr;
}

/// The part of `path` behind `prefix`; none when it does not start so.
std::optional<std::string_view> after(std::string_view path, std::string_view prefix) {
    if (!path.starts_with(prefix))
        return std::nullopt;
    return path.substr(prefix.size());
}

/// A type with its values: a layer, the optimizer, the schedule, the loss.
template <class Type, class ValuesType>
struct TypedPlace {
    spec::Kind kind;
    Type* type;
    ValuesType* values;
    std::string_view field;
};

template <class AnyExperiment>
auto typedPlace(AnyExperiment& e, std::string_view path) {
    using Type = std::remove_reference_t<decltype((e.model.loss.type))>;
    using ValuesType = std::remove_reference_t<decltype((e.model.loss.values))>;
    using Place = TypedPlace<Type, ValuesType>;
    const auto of = [](spec::Kind kind, auto& choice, std::string_view field) {
        return std::optional<Place>(Place{kind, &choice.type, &choice.values, field});
    };
    if (const auto field = after(path, "training.optimizer."))
        return of(spec::Kind::Optimizer, e.training.optimizer, *field);
    if (const auto field = after(path, "training.schedule."))
        return of(spec::Kind::Schedule, e.training.schedule, *field);
    if (const auto field = after(path, "model.loss."))
        return of(spec::Kind::Loss, e.model.loss, *field);
    const int layer = layerOfPath(path);
    if (layer >= 0 && layer < static_cast<int>(e.model.layers.size()))
        return of(spec::Kind::Layer, e.model.layers[static_cast<std::size_t>(layer)],
                  fieldOfLayerPath(path));
    return std::optional<Place>();
}

/// Values that both types know stay, unless they were only the old type's default: the new type's
/// default suits it better (a learning rate for SGD is not one for Adam).
void changeType(spec::Kind kind, std::string& type, spec::Values& values,
                const std::string& newType) {
    const spec::TypeInfo* from = spec::findType(kind, type);
    const spec::TypeInfo* to = spec::findType(kind, newType);
    spec::Values kept;
    for (const auto& [name, value] : values) {
        const spec::FieldInfo* known = from ? from->field(name) : nullptr;
        if (to && to->field(name) && known && known->defaultValue != value)
            kept[name] = value;
    }
    type = newType;
    values = std::move(kept);
}

/// The files of one part of the data: "data.train.images".
template <class AnyExperiment>
auto filesOf(AnyExperiment& e, std::string_view path)
    -> std::pair<decltype(&e.data.train), std::string> {
    if (const auto role = after(path, "data.train."))
        return {&e.data.train, std::string(*role)};
    if (const auto role = after(path, "data.validation."))
        return {&e.data.validation, std::string(*role)};
    return {nullptr, {}};
}

} // namespace

int layerOfPath(std::string_view path) {
    const auto rest = after(path, kLayerPrefix);
    const std::size_t end = rest ? rest->find(']') : std::string_view::npos;
    if (end == std::string_view::npos)
        return -1;
    return static_cast<int>(parseInteger(rest->substr(0, end)).value_or(-1));
}

std::string_view fieldOfLayerPath(std::string_view path) {
    const std::size_t end = path.find("].");
    return end == std::string_view::npos ? std::string_view() : path.substr(end + 2);
}

std::string layerPath(int layer, std::string_view field) {
    std::string path = std::string(kLayerPrefix) + std::to_string(layer) + "]";
    return field.empty() ? path : path + "." + std::string(field);
}

MaybeValue valueAt(const Experiment& experiment, std::string_view path) {
    if (const Accessor* accessor = findAccessor(path))
        return accessor->get(experiment);
    if (const auto place = typedPlace(experiment, path)) {
        if (place->field == "type")
            return Value(*place->type);
        const spec::TypeInfo* type = spec::findType(place->kind, *place->type);
        const spec::FieldInfo* field = type ? type->field(place->field) : nullptr;
        const auto given = place->values->find(std::string(place->field));
        if (given != place->values->end())
            return given->second;
        return field ? field->defaultValue : std::nullopt;
    }
    if (const auto [files, role] = filesOf(experiment, path); files) {
        const auto file = files->find(role);
        return file == files->end() ? std::nullopt : MaybeValue(Value(file->second));
    }
    return std::nullopt;
}

bool setValueAt(Experiment& experiment, std::string_view path, const MaybeValue& value) {
    if (const Accessor* accessor = findAccessor(path))
        return accessor->set(experiment, value);
    if (const auto place = typedPlace(experiment, path)) {
        if (place->field == "type") {
            std::string type;
            if (!assign(type, value) || !spec::findType(place->kind, type))
                return false;
            changeType(place->kind, *place->type, *place->values, type);
            return true;
        }
        const spec::TypeInfo* type = spec::findType(place->kind, *place->type);
        if (!type || !type->field(place->field))
            return false;
        if (value)
            (*place->values)[std::string(place->field)] = *value;
        else
            place->values->erase(std::string(place->field));
        return true;
    }
    if (const auto [files, role] = filesOf(experiment, path); files) {
        if (!value) {
            files->erase(role);
            return true;
        }
        return assign((*files)[role], value);
    }
    return false;
}

} // namespace trainyard::app
