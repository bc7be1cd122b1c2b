// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/experiment_path.h"

#include "app/models/experiment_fields.h"
#include "app/models/model_edit.h"
#include "engine/base/number_text.h"
#include "engine/spec/catalogue.h"

#include <algorithm>
#include <array>
#include <utility>

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

/// "a, b": lists of short words in one field; none where the list is empty.
std::vector<std::string> wordsOf(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : text + ',') {
        if (c != ',' && c != ' ')
            word += c;
        else if (!word.empty())
            words.push_back(std::exchange(word, {}));
    }
    return words;
}

MaybeValue joinedOrNone(const std::vector<std::string>& words) {
    return words.empty() ? std::nullopt : MaybeValue(spec::listed(words));
}

bool setCuts(Experiment& e, const MaybeValue& value) {
    std::string text;
    if (value && !assign(text, value))
        return false;
    e.parallel.cuts = wordsOf(text);
    return true;
}

MaybeValue shares(const Experiment& e) {
    std::vector<std::string> words;
    for (const double share : e.parallel.shares)
        words.push_back(shortest(share));
    return joinedOrNone(words);
}

/// What is no number is kept out of the experiment.
bool setShares(Experiment& e, const MaybeValue& value) {
    std::string text;
    if (value && !assign(text, value))
        return false;
    std::vector<double> numbers;
    for (const std::string& word : wordsOf(text)) {
        const std::optional<double> number = parseReal(word);
        if (!number)
            return false;
        numbers.push_back(*number);
    }
    e.parallel.shares = std::move(numbers);
    return true;
}

bool setPrecision(Experiment& e, const MaybeValue& value) {
    std::string text;
    if (!assign(text, value))
        return false;
    const std::optional<spec::Precision> precision = spec::precisionOf(text);
    e.precision = precision.value_or(e.precision);
    return precision.has_value();
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

bool setDataFormat(Experiment& e, const MaybeValue& value);

/// A field of the strategy that always has a value.
template <auto Member>
constexpr Accessor ofStrategy(std::string_view path) {
    return {path, [](const Experiment& e) { return MaybeValue(e.parallel.*Member); },
            [](Experiment& e, const MaybeValue& v) {
                return assign(e.parallel.*Member, v);
            }};
}

constexpr std::array kAccessors = {
    Accessor{"name", [](const Experiment& e) { return MaybeValue(e.name); },
             [](Experiment& e, const MaybeValue& v) {
                 return assign(e.name, v);
             }},
    Accessor{"data.format", [](const Experiment& e) { return MaybeValue(e.data.format); },
             setDataFormat},
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
             [](const Experiment& e) { return MaybeValue(std::string(spec::name(e.precision))); },
             setPrecision},
    ofStrategy<&spec::ParallelSpec::data>("parallel.data"),
    Accessor{"parallel.shares", shares, setShares},
    ofStrategy<&spec::ParallelSpec::balance>("parallel.balance"),
    Accessor{"parallel.cuts", [](const Experiment& e) { return joinedOrNone(e.parallel.cuts); },
             setCuts},
    ofStrategy<&spec::ParallelSpec::tensor>("parallel.tensor"),
    ofStrategy<&spec::ParallelSpec::pipeline>("parallel.pipeline"),
    ofStrategy<&spec::ParallelSpec::microBatches>("parallel.micro_batches"),
    ofStrategy<&spec::ParallelSpec::schedule>("parallel.schedule"),
    ofStrategy<&spec::ParallelSpec::stagesPerRank>("parallel.stages_per_rank"),
    ofStrategy<&spec::ParallelSpec::accumulate>("parallel.accumulate"),
    ofStrategy<&spec::ParallelSpec::zero>("parallel.zero"),
    ofStrategy<&spec::ParallelSpec::recompute>("parallel.recompute"),
    ofStrategy<&spec::ParallelSpec::compression>("parallel.compression"),
    ofStrategy<&spec::ParallelSpec::compressionRank>("parallel.compression_rank"),
    ofStrategy<&spec::ParallelSpec::compressionWarmup>("parallel.compression_warmup"),
    ofStrategy<&spec::ParallelSpec::transport>("parallel.transport"),
    Accessor{"parallel.bucket_bytes",
             [](const Experiment& e) {
                 const std::int64_t bytes = e.parallel.bucketBytes;
                 return bytes != 0 ? MaybeValue(bytes) : std::nullopt;
             },
             [](Experiment& e, const MaybeValue& v) {
                 e.parallel.bucketBytes = v ? e.parallel.bucketBytes : 0;
                 return !v || assign(e.parallel.bucketBytes, v);
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

/// A type with its values: a layer, the optimizer, the schedule, the loss, the data's format.
template <class Type, class ValuesType>
struct TypedPlace {
    const spec::TypeInfo* info; ///< null: there is no such type
    spec::Kind kind;
    Type* type; ///< null where it is chosen elsewhere
    ValuesType* values;
    std::string_view field;
};

template <class AnyExperiment>
auto typedPlace(AnyExperiment& e, std::string_view path) {
    using Type = std::remove_reference_t<decltype((e.model.loss.type))>;
    using ValuesType = std::remove_reference_t<decltype((e.model.loss.values))>;
    using Place = TypedPlace<Type, ValuesType>;
    const auto of = [](spec::Kind kind, auto& choice, std::string_view field) {
        return std::optional<Place>(
            Place{spec::findType(kind, choice.type), kind, &choice.type, &choice.values, field});
    };
    const auto fixed = [](spec::Kind kind, std::string_view type, auto& values,
                          std::string_view field) {
        return std::optional<Place>(
            Place{spec::findType(kind, type), kind, nullptr, &values, field});
    };
    if (const auto field = after(path, "training.optimizer."))
        return of(spec::Kind::Optimizer, e.training.optimizer, *field);
    if (const auto field = after(path, "training.schedule."))
        return of(spec::Kind::Schedule, e.training.schedule, *field);
    if (const auto field = after(path, "model.loss."))
        return of(spec::Kind::Loss, e.model.loss, *field);
    if (const auto field = after(path, "data.augment."))
        return fixed(spec::Kind::Augmentation, spec::kPictureAugmentation, e.data.augment, *field);
    if (const auto field = after(path, "data."))
        return fixed(spec::Kind::DataFormat, e.data.format, e.data.values, *field);
    const int layer = layerOfPath(path);
    if (layer >= 0 && layer < static_cast<int>(e.model.layers.size()))
        return of(spec::Kind::Layer, e.model.layers[static_cast<std::size_t>(layer)],
                  fieldOfLayerPath(path));
    return std::optional<Place>();
}

/// Values of `from` that `to` knows, too, unless they were only the old type's default: the new
/// type's default suits it better (a learning rate for SGD is not one for Adam).
spec::Values keptValues(const spec::TypeInfo* from, const spec::TypeInfo* to,
                        const spec::Values& values) {
    spec::Values kept;
    for (const auto& [name, value] : values) {
        const spec::FieldInfo* known = from ? from->field(name) : nullptr;
        const spec::FieldInfo* wanted = to ? to->field(name) : nullptr;
        if (known && wanted && known->defaultValue != value && !spec::misfit(*wanted, value))
            kept[name] = value;
    }
    return kept;
}

/// Files in roles that both formats have. A part that is made of files stays one: the form then
/// asks for those of the new format.
void keepFiles(spec::FileSet& files, const spec::TypeInfo* from, const spec::TypeInfo& to) {
    if (files.empty())
        return;
    spec::FileSet kept;
    for (const spec::FileRole& role : to.roles) {
        const bool both =
            from && std::any_of(from->roles.begin(), from->roles.end(), [&](const auto& old) {
                return old.name == role.name && old.folder == role.folder;
            });
        const auto file = files.find(role.name);
        if (both && file != files.end())
            kept.insert(*file);
        else if (!role.optional)
            kept[role.name] = "";
    }
    files = std::move(kept);
}

bool setDataFormat(Experiment& e, const MaybeValue& value) {
    std::string format;
    if (!assign(format, value))
        return false;
    const spec::TypeInfo* from = spec::findType(spec::Kind::DataFormat, e.data.format);
    const spec::TypeInfo* to = spec::findType(spec::Kind::DataFormat, format);
    if (!to)
        return false;
    e.data.values = keptValues(from, to, e.data.values);
    keepFiles(e.data.train, from, *to);
    keepFiles(e.data.validation, from, *to);
    if (!to->pictures)
        e.data.augment.clear();
    e.data.format = format;
    return true;
}

/// "conv1, relu2": names have no commas.
std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::vector<std::string> separated(std::string_view text) {
    std::vector<std::string> names;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view name = text.substr(0, comma);
        while (name.starts_with(' '))
            name.remove_prefix(1);
        while (name.ends_with(' '))
            name.remove_suffix(1);
        if (!name.empty())
            names.emplace_back(name);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return names;
}

/// The layer whose inputs the path names; -1: none.
int layerOfInputs(const Experiment& e, std::string_view path) {
    const int layer = layerOfPath(path);
    const bool known = layer >= 0 && layer < static_cast<int>(e.model.layers.size());
    return known && fieldOfLayerPath(path) == "from" ? layer : -1;
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
    if (const int layer = layerOfInputs(experiment, path); layer >= 0)
        return Value(joined(experiment.model.layers[static_cast<std::size_t>(layer)].from));
    if (const auto [files, role] = filesOf(experiment, path); files) {
        const auto file = files->find(role);
        return file == files->end() ? std::nullopt : MaybeValue(Value(file->second));
    }
    const auto place = typedPlace(experiment, path);
    if (!place)
        return std::nullopt;
    if (place->type && place->field == "type")
        return Value(*place->type);
    const auto given = place->values->find(std::string(place->field));
    if (given != place->values->end())
        return given->second;
    const spec::FieldInfo* field = place->info ? place->info->field(place->field) : nullptr;
    return field ? field->defaultValue : std::nullopt;
}

bool setValueAt(Experiment& experiment, std::string_view path, const MaybeValue& value) {
    if (const Accessor* accessor = findAccessor(path))
        return accessor->set(experiment, value);
    if (const int layer = layerOfInputs(experiment, path); layer >= 0) {
        std::string names;
        if (value && !assign(names, value))
            return false;
        setSources(experiment.model, layer, separated(names));
        return true;
    }
    if (const auto [files, role] = filesOf(experiment, path); files) {
        if (!value) {
            files->erase(role);
            return true;
        }
        return assign((*files)[role], value);
    }
    const auto place = typedPlace(experiment, path);
    if (!place)
        return false;
    if (place->type && place->field == "type") {
        std::string type;
        const bool known = assign(type, value) && spec::findType(place->kind, type);
        if (!known)
            return false;
        *place->values = keptValues(place->info, spec::findType(place->kind, type), *place->values);
        *place->type = type;
        return true;
    }
    if (!place->info || !place->info->field(place->field))
        return false;
    if (value)
        (*place->values)[std::string(place->field)] = *value;
    else
        place->values->erase(std::string(place->field));
    return true;
}

} // namespace trainyard::app
