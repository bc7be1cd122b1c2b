// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/json.h"
#include "engine/spec/catalogue.h"
#include "engine/spec/experiment_json.h"
#include "engine/spec/json_reader.h"

namespace trainyard::spec {

namespace {

Json toJson(const Value& value, FieldKind kind) {
    const auto* whole = std::get_if<std::int64_t>(&value);
    if (whole && kind == FieldKind::Real)
        return static_cast<double>(*whole); // 1.0 however it was entered
    return std::visit([](const auto& held) { return Json(held); }, value);
}

/// Adds each field of the type, with its default where nothing was chosen.
void addFields(Json& json, Kind kind, const std::string& type, const Values& values) {
    const TypeInfo* info = findType(kind, type);
    if (!info)
        return;
    for (const FieldInfo& field : info->fields)
        if (values.contains(field.name) || field.defaultValue)
            json[field.name] = toJson(valueOf(*info, values, field.name), field.kind);
}

Json toJson(Kind kind, const Choice& choice) {
    Json json = {{"type", choice.type}};
    addFields(json, kind, choice.type, choice.values);
    return json;
}

Json toJson(const LayerSpec& layer) {
    Json json = {{"id", layer.id}, {"type", layer.type}};
    if (!layer.from.empty())
        json["from"] = layer.from;
    addFields(json, Kind::Layer, layer.type, layer.values);
    return json;
}

Json toJson(const DataSpec& data) {
    Json json = {{"format", data.format}, {"train", data.train}};
    if (!data.validation.empty())
        json["validation"] = data.validation;
    else if (data.validationFraction > 0)
        json["validation"] = {{"fraction", data.validationFraction}};
    else
        json["validation"] = nullptr;
    json["normalize"] = data.normalize;
    const TypeInfo* format = findType(Kind::DataFormat, data.format);
    if (format && format->pictures && !data.augment.empty())
        addFields(json["augment"], Kind::Augmentation, kPictureAugmentation, data.augment);
    addFields(json, Kind::DataFormat, data.format, data.values);
    return json;
}

template <class T>
Json orNull(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json toJson(const std::optional<EarlyStopping>& stopping) {
    if (!stopping)
        return nullptr;
    return {{"metric", stopping->metric},
            {"patience", stopping->patience},
            {"min_delta", stopping->minDelta}};
}

} // namespace

std::string toJson(const Experiment& experiment) {
    Json layers = Json::array();
    for (const LayerSpec& layer : experiment.model.layers)
        layers.push_back(toJson(layer));
    const TrainingSpec& training = experiment.training;
    const Json json = {{"format", kExperimentFormat},
                       {"name", experiment.name},
                       {"data", toJson(experiment.data)},
                       {"model",
                        {{"input", {{"shape", experiment.model.inputShape}}},
                         {"layers", std::move(layers)},
                         {"loss", toJson(Kind::Loss, experiment.model.loss)}}},
                       {"training",
                        {{"batch", training.batch},
                         {"epochs", training.epochs},
                         {"max_steps", orNull(training.maxSteps)},
                         {"seed", training.seed},
                         {"clip_norm", orNull(training.clipNorm)},
                         {"learning_rate_batch", orNull(training.learningRateBatch)},
                         {"ema_decay", orNull(training.emaDecay)},
                         {"early_stopping", toJson(training.earlyStopping)},
                         {"optimizer", toJson(Kind::Optimizer, training.optimizer)},
                         {"schedule", toJson(Kind::Schedule, training.schedule)}}},
                       {"precision", name(experiment.precision)},
                       {"parallel",
                        {{"data", experiment.parallel.data},
                         {"shares", experiment.parallel.shares},
                         {"balance", experiment.parallel.balance},
                         {"tensor", experiment.parallel.tensor},
                         {"pipeline", experiment.parallel.pipeline},
                         {"micro_batches", experiment.parallel.microBatches},
                         {"schedule", experiment.parallel.schedule},
                         {"stages_per_rank", experiment.parallel.stagesPerRank},
                         {"cuts", experiment.parallel.cuts},
                         {"accumulate", experiment.parallel.accumulate},
                         {"zero", experiment.parallel.zero},
                         {"recompute", experiment.parallel.recompute},
                         {"compression", experiment.parallel.compression},
                         {"compression_rank", experiment.parallel.compressionRank},
                         {"compression_warmup", experiment.parallel.compressionWarmup},
                         {"transport", experiment.parallel.transport},
                         {"bucket_bytes", experiment.parallel.bucketBytes}}},
                       {"devices", experiment.devices}};
    return jsonText(json, 2) + "\n";
}

} // namespace trainyard::spec
