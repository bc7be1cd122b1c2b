// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading experiments. Writing is in experiment_writer.cpp, checks of values in validation.cpp.
#include "engine/spec/experiment_json.h"

#include "engine/base/json.h"
#include "engine/spec/catalogue.h"
#include "engine/spec/json_reader.h"
#include "engine/spec/json_text.h"
#include "engine/spec/settings_path.h"

#include <algorithm>
#include <filesystem>

namespace trainyard::spec {

namespace {

std::optional<Value> toValue(const Json& json, FieldKind kind) {
    if (json.is_boolean())
        return Value(json.get<bool>());
    if (json.is_string())
        return Value(json.get<std::string>());
    if (isAboveInt64(json))
        return Value(json.get<double>());
    if (json.is_number_integer() && kind != FieldKind::Real)
        return Value(json.get<std::int64_t>());
    if (json.is_number())
        return Value(json.get<double>());
    const auto isWhole = [](const Json& item) {
        return item.is_number_integer() && !isAboveInt64(item);
    };
    if (json.is_array() && std::all_of(json.begin(), json.end(), isWhole))
        return Value(json.get<std::vector<std::int64_t>>());
    return std::nullopt;
}

/// Reads the fields of `type`; the keys already taken by the caller stay known.
void readFields(ObjectReader& reader, const TypeInfo& type, Values& values) {
    for (const FieldInfo& field : type.fields) {
        const Json* json = reader.take(field.name, !field.defaultValue);
        if (!json)
            continue;
        if (const std::optional<Value> value = toValue(*json, field.kind))
            values[field.name] = *value;
        else
            reader.problem(field.name, {"Expected a value, found %1.", {kindOf(*json)}});
    }
    reader.finish();
}

/// Null when there is no such type. An absent one is an error, or leaves `type` as it is.
const TypeInfo* readType(ObjectReader& reader, Kind kind, std::string& type, bool required,
                         Problems& problems) {
    const std::size_t before = problems.size();
    reader.text("type", type, required);
    if (problems.size() > before)
        return nullptr;
    const TypeInfo* info = findType(kind, type);
    if (!info) {
        const std::string near = nearest(type, typeNames(kind));
        Message cure{"Known types: %1.", {listed(typeNames(kind))}};
        if (!near.empty())
            cure = {"Did you mean \"%1\"?", {near}};
        problems.push_back({{"There is no %1 \"%2\".", {std::string(name(kind)), excerpt(type)}},
                            reader.at("type"),
                            std::move(cure)});
    }
    return info;
}

void readChoice(ObjectReader& parent, const std::string& key, Kind kind, Choice& choice,
                Problems& problems) {
    const Json* json = parent.take(key);
    if (!json)
        return;
    choice.values.clear();
    ObjectReader reader(*json, parent.at(key), problems);
    if (const TypeInfo* info = readType(reader, kind, choice.type, false, problems))
        readFields(reader, *info, choice.values);
}

void readFiles(const Json& json, const std::string& path, const TypeInfo& format, FileSet& files,
               Problems& problems) {
    ObjectReader reader(json, path, problems);
    for (const FileRole& role : format.roles) {
        std::string file;
        reader.text(role.name, file, !role.optional);
        if (!file.empty())
            files[role.name] = file;
    }
    reader.finish();
}

void readValidation(const Json& json, const TypeInfo& format, DataSpec& data, Problems& problems) {
    if (json.is_object() && json.contains("fraction")) {
        ObjectReader part(json, "data.validation", problems);
        part.real("fraction", data.validationFraction);
        part.finish();
    } else if (!json.is_null()) {
        readFiles(json, "data.validation", format, data.validation, problems);
    }
}

void readAugment(const Json& json, DataSpec& data, Problems& problems) {
    ObjectReader reader(json, "data.augment", problems);
    readFields(reader, *findType(Kind::Augmentation, kPictureAugmentation), data.augment);
}

void readData(const Json& json, DataSpec& data, Problems& problems) {
    ObjectReader reader(json, "data", problems);
    reader.text("format", data.format, true);
    const TypeInfo* format = findType(Kind::DataFormat, data.format);
    if (!format) { // its keys mean nothing without it
        reader.problem("format", {"Found \"%1\"; known are: %2.",
                                  {excerpt(data.format), listed(typeNames(Kind::DataFormat))}});
        return;
    }
    if (const Json* train = reader.take("train", true))
        readFiles(*train, "data.train", *format, data.train, problems);
    if (const Json* validation = reader.take("validation"))
        readValidation(*validation, *format, data, problems);
    reader.text("normalize", data.normalize);
    if (format->pictures)
        if (const Json* augment = reader.take("augment"))
            readAugment(*augment, data, problems);
    readFields(reader, *format, data.values);
}

LayerSpec readLayer(const Json& json, const std::string& path, Problems& problems) {
    LayerSpec layer;
    ObjectReader reader(json, path, problems);
    reader.text("id", layer.id, true);
    if (const Json* from = reader.take("from")) {
        if (from->is_string())
            layer.from = {from->get<std::string>()};
        else if (from->is_array() && std::all_of(from->begin(), from->end(),
                                                 [](const Json& id) { return id.is_string(); }))
            layer.from = from->get<std::vector<std::string>>();
        else
            reader.problem("from", {"Expected a list of layer ids, found %1.", {kindOf(*from)}});
    }
    if (const TypeInfo* info = readType(reader, Kind::Layer, layer.type, true, problems))
        readFields(reader, *info, layer.values);
    return layer;
}

void readModel(const Json& json, ModelSpec& model, Problems& problems) {
    ObjectReader reader(json, "model", problems);
    if (const Json* input = reader.take("input", true)) {
        ObjectReader part(*input, "model.input", problems);
        if (const Json* shape = part.take("shape", true)) {
            const auto value = toValue(*shape, FieldKind::IntegerPair);
            if (value && std::holds_alternative<std::vector<std::int64_t>>(*value))
                model.inputShape = std::get<std::vector<std::int64_t>>(*value);
            else
                part.problem("shape",
                             {"Expected a list of whole numbers such as [1, 28, 28], found %1.",
                              {shape->is_array() ? "other elements in it" : kindOf(*shape)}});
        }
        part.finish();
    }
    if (const Json* layers = reader.take("layers", true)) {
        if (layers->is_array())
            for (std::size_t i = 0; i < layers->size(); ++i)
                model.layers.push_back(
                    readLayer((*layers)[i], "model.layers[" + std::to_string(i) + "]", problems));
        else
            reader.problem("layers", {"Expected a list, found %1.", {kindOf(*layers)}});
    }
    readChoice(reader, "loss", Kind::Loss, model.loss, problems);
    reader.finish();
}

/// False when absent or null; known to the reader in each case.
bool isGiven(ObjectReader& reader, const std::string& key) {
    const Json* json = reader.take(key);
    return json && !json->is_null();
}

void readEarlyStopping(const Json& json, EarlyStopping& stopping, Problems& problems) {
    ObjectReader reader(json, "training.early_stopping", problems);
    reader.text("metric", stopping.metric);
    reader.integer("patience", stopping.patience);
    reader.real("min_delta", stopping.minDelta);
    reader.finish();
}

void readTraining(const Json& json, TrainingSpec& training, Problems& problems) {
    ObjectReader reader(json, "training", problems);
    reader.integer("batch", training.batch);
    reader.integer("epochs", training.epochs);
    if (isGiven(reader, "max_steps"))
        reader.integer("max_steps", training.maxSteps.emplace());
    reader.unsignedInteger("seed", training.seed);
    if (isGiven(reader, "clip_norm"))
        reader.real("clip_norm", training.clipNorm.emplace());
    if (isGiven(reader, "learning_rate_batch"))
        reader.integer("learning_rate_batch", training.learningRateBatch.emplace());
    if (isGiven(reader, "ema_decay"))
        reader.real("ema_decay", training.emaDecay.emplace());
    if (isGiven(reader, "early_stopping"))
        readEarlyStopping(json["early_stopping"], training.earlyStopping.emplace(), problems);
    readChoice(reader, "optimizer", Kind::Optimizer, training.optimizer, problems);
    readChoice(reader, "schedule", Kind::Schedule, training.schedule, problems);
    reader.finish();
}

void readPrecision(ObjectReader& reader, Precision& precision) {
    std::string text = "fp32";
    reader.text("precision", text);
    if (const std::optional<Precision> known = precisionOf(text))
        precision = *known;
    else
        reader.problem("precision", {"Found \"%1\"; this version computes in fp64, fp32 or bf16.",
                                     {excerpt(text)}});
}

/// `example`: how such a list looks.
void readTexts(const Json& json, const char* where, const char* example,
               std::vector<std::string>& texts, Problems& problems) {
    const bool all = json.is_array() && std::all_of(json.begin(), json.end(),
                                                    [](const Json& id) { return id.is_string(); });
    if (all)
        texts = json.get<std::vector<std::string>>();
    else if (!json.is_null())
        problems.push_back(
            {{"Expected a list such as %1, found %2.", {example, kindOf(json)}}, where});
}

void readNumbers(const Json& json, const char* where, std::vector<double>& numbers,
                 Problems& problems) {
    const bool all =
        json.is_array() &&
        std::all_of(json.begin(), json.end(), [](const Json& value) { return value.is_number(); });
    if (all)
        numbers = json.get<std::vector<double>>();
    else if (!json.is_null())
        problems.push_back(
            {{"Expected a list of numbers such as [2, 1], found %1.", {kindOf(json)}}, where});
}

void readParallel(const Json& json, ParallelSpec& parallel, Problems& problems) {
    ObjectReader reader(json, "parallel", problems);
    reader.integer("data", parallel.data);
    if (const Json* shares = reader.take("shares"))
        readNumbers(*shares, "parallel.shares", parallel.shares, problems);
    reader.text("balance", parallel.balance);
    reader.integer("tensor", parallel.tensor);
    reader.integer("pipeline", parallel.pipeline);
    reader.integer("micro_batches", parallel.microBatches);
    reader.text("schedule", parallel.schedule);
    reader.integer("stages_per_rank", parallel.stagesPerRank);
    if (const Json* cuts = reader.take("cuts"))
        readTexts(*cuts, "parallel.cuts", "[\"block3\", \"block6\"]", parallel.cuts, problems);
    reader.integer("accumulate", parallel.accumulate);
    reader.integer("zero", parallel.zero);
    reader.text("recompute", parallel.recompute);
    reader.text("transport", parallel.transport);
    reader.integer("bucket_bytes", parallel.bucketBytes);
    reader.text("compression", parallel.compression);
    reader.integer("compression_rank", parallel.compressionRank);
    reader.integer("compression_warmup", parallel.compressionWarmup);
    reader.finish();
}

void readExperiment(const Json& json, Experiment& experiment, Problems& problems) {
    ObjectReader reader(json, "", problems);
    std::string format;
    reader.text("format", format, true);
    if (!format.empty() && format != kExperimentFormat)
        reader.problem("format", {"Found \"%1\"; this version reads \"%2\".",
                                  {excerpt(format), kExperimentFormat}});
    reader.text("name", experiment.name);
    if (const Json* data = reader.take("data", true))
        readData(*data, experiment.data, problems);
    if (const Json* model = reader.take("model", true))
        readModel(*model, experiment.model, problems);
    if (const Json* training = reader.take("training"))
        readTraining(*training, experiment.training, problems);
    readPrecision(reader, experiment.precision);
    if (const Json* parallel = reader.take("parallel"))
        readParallel(*parallel, experiment.parallel, problems);
    if (const Json* devices = reader.take("devices"))
        readTexts(*devices, "devices", "[\"local/cpu:0\"]", experiment.devices, problems);
    reader.finish();
}

} // namespace

ParsedExperiment parseExperiment(std::string_view text,
                                 const std::vector<std::pair<std::string, std::string>>& settings) {
    ParsedExperiment parsed;
    std::optional<Json> json = parseJsonText(text, parsed.problems);
    if (json)
        for (const auto& [path, value] : settings)
            applySetting(*json, path, value, parsed.problems);
    if (json && parsed.problems.empty())
        readExperiment(*json, parsed.experiment, parsed.problems);
    if (parsed.problems.empty())
        parsed.problems = validate(parsed.experiment);
    return parsed;
}

void resolvePaths(Experiment& experiment, const std::string& folder) {
    for (FileSet* files : {&experiment.data.train, &experiment.data.validation})
        for (auto& [role, path] : *files)
            if (!path.empty() && path.front() != '/')
                path = (std::filesystem::path(folder) / path).lexically_normal().string();
}

} // namespace trainyard::spec
