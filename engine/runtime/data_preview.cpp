// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/data_preview.h"

#include "engine/base/json.h"
#include "engine/data/tokenizer.h"
#include "engine/spec/catalogue.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::engine {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kPicturesShown = 16;
constexpr std::int64_t kMostPictureBytes = 3 * 128 * 128;
constexpr std::int64_t kTokensShown = 400;
constexpr std::size_t kCategoriesShown = 50;

std::string base64(const std::vector<std::uint8_t>& bytes) {
    constexpr const char* kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j)
            group = group << 8 | (j < count ? bytes[i + j] : 0u);
        for (std::size_t j = 0; j < 4; ++j)
            text += j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
    return text;
}

/// Spread over the data, which is often sorted by class.
std::vector<std::int64_t> someSamples(std::int64_t count, std::int64_t wanted) {
    std::vector<std::int64_t> samples;
    for (std::int64_t i = 0; i < std::min(count, wanted); ++i)
        samples.push_back(i * count / std::min(count, wanted));
    return samples;
}

/// What normalisation has made of a byte, made undone.
std::uint8_t byteOf(float value, const DatasetInfo& info, std::size_t channel,
                    const std::string& normalize) {
    double share = static_cast<double>(value);
    if (normalize == "standard") {
        const double deviation = info.deviation[channel];
        share = share * (deviation > 0 ? deviation : 1.0) + info.mean[channel];
    } else if (normalize == "none") {
        share /= 255;
    }
    return static_cast<std::uint8_t>(std::clamp(share * 255 + 0.5, 0.0, 255.0));
}

Json picturesOf(const Dataset& dataset, const std::string& normalize) {
    const DatasetInfo& info = dataset.info();
    const std::vector<std::int64_t> samples = someSamples(info.samples, kPicturesShown);
    const auto perPicture = static_cast<std::size_t>(elementCount(info.sampleShape));
    const auto perLabel = static_cast<std::size_t>(elementCount(info.targetShape));
    const std::size_t perChannel = perPicture / info.mean.size();
    std::vector<float> inputs(samples.size() * perPicture);
    std::vector<std::int32_t> labels(samples.size() * perLabel);
    std::vector<float> numbers(labels.size());
    dataset.gather(samples,
                   {.inputs = inputs.data(), .labels = labels.data(), .numbers = numbers.data()});
    Json list = Json::array();
    for (std::size_t i = 0; i < samples.size(); ++i) {
        std::vector<std::uint8_t> bytes(perPicture);
        for (std::size_t at = 0; at < perPicture; ++at)
            bytes[at] = byteOf(inputs[i * perPicture + at], info, at / perChannel, normalize);
        const bool named = info.target == TargetKind::Labels && perLabel == 1;
        list.push_back(
            {{"label", named ? Json(labels[i]) : Json(nullptr)}, {"bytes", base64(bytes)}});
    }
    return list;
}

std::string textOf(const Dataset& dataset) {
    const DatasetInfo& info = dataset.info();
    const std::int64_t windows = std::min(info.samples, kTokensShown / info.sampleShape[0] + 1);
    std::vector<std::int64_t> samples;
    for (std::int64_t i = 0; i < windows; ++i)
        samples.push_back(i);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(windows * info.sampleShape[0]));
    std::vector<std::int32_t> next(tokens.size());
    dataset.gather(samples,
                   {.inputs = tokens.data(), .inputType = DType::Int32, .labels = next.data()});
    tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(kTokensShown)));
    return info.tokenizer->decode(tokens);
}

const char* nameOf(ColumnFacts::Use use) {
    switch (use) {
    case ColumnFacts::Use::Number:
        return "number";
    case ColumnFacts::Use::Category:
        return "category";
    case ColumnFacts::Use::Class:
        return "class";
    case ColumnFacts::Use::Target:
        return "target";
    case ColumnFacts::Use::LeftOut:
        break;
    }
    return "left_out";
}

Json columnsOf(const DatasetInfo& info) {
    Json list = Json::array();
    std::size_t input = 0; // one for a number, one for each category
    for (const ColumnFacts& column : info.columns) {
        Json categories = column.categories;
        while (categories.size() > kCategoriesShown)
            categories.erase(categories.end() - 1);
        list.push_back({{"name", column.name},
                        {"use", nameOf(column.use)},
                        {"missing", column.missing},
                        {"examples", column.examples},
                        {"categories", std::move(categories)}});
        if (column.use == ColumnFacts::Use::Number) {
            list.back()["mean"] = info.mean.at(input);
            list.back()["deviation"] = info.deviation.at(input);
            ++input;
        } else if (column.use == ColumnFacts::Use::Category) {
            input += column.categories.size();
        }
    }
    return list;
}

Json previewOf(const Dataset& dataset, const spec::DataSpec& data) {
    const DatasetInfo& info = dataset.info();
    if (!info.columns.empty())
        return {{"columns", columnsOf(info)}};
    if (info.tokenizer)
        return {{"text", textOf(dataset)}};
    const spec::TypeInfo* format = spec::findType(spec::Kind::DataFormat, data.format);
    if (format && format->pictures && info.sampleShape.size() == 3 &&
        elementCount(info.sampleShape) <= kMostPictureBytes)
        return {{"pictures", picturesOf(dataset, data.normalize)}};
    return nullptr;
}

} // namespace

std::string previewAsJson(const Dataset& dataset, const spec::DataSpec& data) {
    return jsonText(previewOf(dataset, data));
}

} // namespace trainyard::engine
