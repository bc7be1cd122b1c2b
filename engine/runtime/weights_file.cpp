// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/weights_file.h"

#include "engine/base/json.h"
#include "engine/base/number_text.h"
#include "engine/data/tokenizer.h"
#include "engine/spec/experiment_json.h"
#include "engine/spec/weights.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace trainyard::engine {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "format";
constexpr const char* kExperiment = "experiment";
constexpr const char* kStep = "step";
constexpr const char* kData = "data";

constexpr const char* kTokenizer = "tokenizer";

constexpr std::pair<ColumnFacts::Use, const char*> kUses[] = {
    {ColumnFacts::Use::Number, "number"},
    {ColumnFacts::Use::Category, "category"},
    {ColumnFacts::Use::Class, "class"},
    {ColumnFacts::Use::Target, "target"},
    {ColumnFacts::Use::LeftOut, "left_out"}};

Json columnsAsJson(const std::vector<ColumnFacts>& columns) {
    Json list = Json::array();
    for (const ColumnFacts& column : columns) {
        const auto* use =
            std::ranges::find(kUses, column.use, &std::pair<ColumnFacts::Use, const char*>::first);
        list.push_back(
            {{"name", column.name}, {"use", use->second}, {"categories", column.categories}});
    }
    return list;
}

/// Throws Json::exception.
std::vector<ColumnFacts> columnsFromJson(const Json& list) {
    std::vector<ColumnFacts> columns;
    for (const Json& json : list) {
        ColumnFacts column;
        json.at("name").get_to(column.name);
        json.at("categories").get_to(column.categories);
        column.use = ColumnFacts::Use::LeftOut;
        for (const auto& [use, name] : kUses)
            if (json.at("use").get<std::string>() == name)
                column.use = use;
        columns.push_back(std::move(column));
    }
    return columns;
}

std::string dataAsJson(const DatasetInfo& info) {
    const bool numbers = info.target == TargetKind::Numbers;
    // The tokenizer says it better.
    const bool named = !info.tokenizer;
    const Json json = {{"shape", info.sampleShape},
                       {"vocabulary", info.vocabulary},
                       {"classes", info.classes},
                       {"numbers", numbers ? elementCount(info.targetShape) : std::int64_t{0}},
                       {"class_names", named ? info.classNames : std::vector<std::string>()},
                       {"mean", info.mean},
                       {"deviation", info.deviation},
                       {"shift", info.shift},
                       {"scale", info.scale},
                       {"columns", columnsAsJson(info.columns)}};
    return jsonText(json);
}

/// Each input of a table has its scaling.
bool fitsColumns(const DatasetInfo& info) {
    std::size_t inputs = 0;
    for (const ColumnFacts& column : info.columns)
        if (column.use == ColumnFacts::Use::Category)
            inputs += column.categories.size();
        else if (column.use == ColumnFacts::Use::Number)
            ++inputs;
    if (info.mean.size() != info.deviation.size() || info.shift.size() != info.scale.size())
        return false;
    return info.columns.empty() || (inputs == info.mean.size() && inputs == info.shift.size() &&
                                    inputs == info.scale.size() &&
                                    info.sampleShape == Shape{static_cast<std::int64_t>(inputs)});
}

/// Throws Json::exception. A fraction or a negative number is no count.
std::int64_t countFrom(const Json& json) {
    if (!json.is_number_integer() || json.get<std::int64_t>() < 0)
        throw Json::type_error::create(302, "no count", &json);
    return json.get<std::int64_t>();
}

/// Empty when it is not what dataAsJson() writes.
std::optional<DatasetInfo> dataFromJson(const std::string& text) {
    try {
        const Json json = parsedJson(text);
        DatasetInfo info;
        for (const Json& extent : json.at("shape").get_ref<const Json::array_t&>())
            info.sampleShape.push_back(countFrom(extent));
        info.vocabulary = countFrom(json.at("vocabulary"));
        info.classes = countFrom(json.at("classes"));
        json.at("class_names").get_to(info.classNames);
        json.at("mean").get_to(info.mean);
        json.at("deviation").get_to(info.deviation);
        json.at("shift").get_to(info.shift);
        json.at("scale").get_to(info.scale);
        info.columns = columnsFromJson(json.at("columns"));
        if (!fitsColumns(info))
            return std::nullopt;
        if (const auto numbers = countFrom(json.at("numbers")); numbers > 0) {
            info.target = TargetKind::Numbers;
            info.targetShape = {numbers};
        }
        return info;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

} // namespace

Result<void> saveWeights(const std::string& path, const spec::Experiment& experiment,
                         const plan::Plan& plan, std::span<const std::byte> parameters,
                         const DatasetInfo& training, std::int64_t step) {
    std::vector<TensorToSave> tensors;
    const DType type = exactType(plan.type);
    const std::byte* next = parameters.data();
    for (const graph::ParameterInfo& info : plan.graph.parameters) {
        tensors.push_back({info.name, type, info.shape, next});
        next += static_cast<std::size_t>(elementCount(info.shape)) * bytesOf(type);
    }
    SafetensorsMetadata metadata{{kFormat, spec::kWeightsFormat},
                                 {kExperiment, spec::toJson(experiment)},
                                 {kStep, std::to_string(step)},
                                 {kData, dataAsJson(training)}};
    if (training.tokenizer)
        metadata[kTokenizer] = training.tokenizer->toJson();
    return writeSafetensors(path, tensors, metadata);
}

Error SavedWeights::problem(Message what) const {
    return Error(Message("%1: %2.", {m_file.path(), what.text()}), {},
                 Message("Take the weights of another run, or train this one again."));
}

Result<SavedWeights> SavedWeights::open(const std::string& path) {
    Result<SafetensorsFile> file = SafetensorsFile::open(path);
    if (!file)
        return file.error();
    SavedWeights weights(std::move(*file));
    if (Result<void> read = weights.readMetadata(); !read)
        return read.error();
    return weights;
}

Result<void> SavedWeights::readMetadata() {
    const auto text = [this](const char* key) {
        const auto found = m_file.metadata().find(key);
        return found == m_file.metadata().end() ? std::string() : found->second;
    };
    if (const std::string format = text(kFormat); format != spec::kWeightsFormat)
        return problem({"weights of Trainyard have the format \"%1\", these have \"%2\"",
                        {spec::kWeightsFormat, excerpt(format)}});
    spec::ParsedExperiment parsed = spec::parseExperiment(text(kExperiment));
    if (!parsed.problems.empty())
        return problem({"the experiment in its metadata cannot be read (%1)",
                        {parsed.problems.front().sentence()}});
    m_experiment = std::move(parsed.experiment);
    std::optional<DatasetInfo> data = dataFromJson(text(kData));
    const std::optional<std::int64_t> step = parseInteger(text(kStep));
    if (!data || !step)
        return problem({"its metadata lacks what is known of the data or the step"});
    m_data = std::move(*data);
    m_step = *step;
    if (const std::string json = text(kTokenizer); !json.empty()) {
        Result<Tokenizer> tokenizer = Tokenizer::fromJson(json);
        if (!tokenizer)
            return problem({"its tokenizer cannot be read (%1)", {tokenizer.error().sentence()}});
        m_data.tokenizer = std::make_shared<const Tokenizer>(std::move(*tokenizer));
    }
    return {};
}

Result<void> SavedWeights::copyInto(const plan::Plan& plan, std::byte* arena) const {
    const std::string type = plan.type == DType::Fp64 ? "F64" : "F32";
    for (std::size_t i = 0; i < plan.graph.parameters.size(); ++i) {
        const graph::ParameterInfo& info = plan.graph.parameters[i];
        const SavedTensor* saved = m_file.find(info.name);
        if (!saved)
            return problem({"the model has a parameter \"%1\", which is not there", {info.name}});
        if (saved->type != type || saved->shape != info.shape)
            return problem(
                {"\"%1\" is %2 of %3; the model has %4 of %5",
                 {info.name, describe(saved->shape), saved->type, describe(info.shape), type}});
        std::byte* place =
            arena + plan.sectionOf(0).parameterOffset[i] * bytesOf(exactType(plan.type));
        if (Result<void> read = m_file.read(*saved, {place, saved->bytes}); !read)
            return read;
    }
    return {};
}

} // namespace trainyard::engine
