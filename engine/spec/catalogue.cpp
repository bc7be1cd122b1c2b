// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/spec/catalogue.h"

#include "engine/base/check.h"
#include "engine/base/message.h"
#include "engine/base/number_text.h"
#include "engine/spec/catalogue_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace trainyard::spec {

namespace {

std::vector<TypeInfo> makeCatalogue() {
    std::vector<TypeInfo> all;
    for (auto entries : {layerEntries, lossEntries, optimizerEntries, scheduleEntries,
                         dataFormatEntries, augmentationEntries})
        for (TypeInfo& type : entries())
            all.push_back(std::move(type));
    return all;
}

/// "from 1 to 1048576", "above 0", "at least 0 and below 1"
std::string rangeText(const FieldInfo& field) {
    std::string low = (field.openMinimum ? "above " : "at least ") + shortest(field.minimum);
    if (std::isinf(field.maximum))
        return low;
    const std::string high = (field.openMaximum ? "below " : "at most ") + shortest(field.maximum);
    return low + " and " + high;
}

bool inRange(const FieldInfo& field, double value) {
    const bool low = field.openMinimum ? value > field.minimum : value >= field.minimum;
    const bool high = field.openMaximum ? value < field.maximum : value <= field.maximum;
    return low && high && std::isfinite(value);
}

std::string described(const Value& value) {
    struct Visitor {
        std::string operator()(bool v) const { return v ? "true" : "false"; }
        std::string operator()(std::int64_t v) const { return std::to_string(v); }
        std::string operator()(double v) const {
            // "3.0", so that it does not look like the whole number it is not.
            const std::string text = shortest(v);
            return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
        }
        std::string operator()(const std::string& v) const { return "\"" + excerpt(v) + "\""; }
        std::string operator()(const std::vector<std::int64_t>& v) const {
            std::string out = "[";
            for (std::size_t i = 0; i < v.size(); ++i)
                out += (i ? ", " : "") + std::to_string(v[i]);
            return excerpt(out + "]");
        }
    };
    return std::visit(Visitor{}, value);
}

std::optional<std::string> misfitPair(const FieldInfo& field, const Value& value) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    const auto* single = std::get_if<std::int64_t>(&value);
    bool good = single && inRange(field, static_cast<double>(*single));
    if (list)
        good = list->size() == 2 && std::all_of(list->begin(), list->end(), [&](std::int64_t v) {
                   return inRange(field, static_cast<double>(v));
               });
    if (good)
        return std::nullopt;
    return described(value) + " is not one whole number or [height, width], each " +
           rangeText(field);
}

std::optional<std::string> misfitList(const FieldInfo& field, const Value& value) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    const auto* single = std::get_if<std::int64_t>(&value);
    const auto fits = [&](std::int64_t v) {
        return inRange(field, static_cast<double>(v));
    };
    if (single ? fits(*single) : list && !list->empty() && std::ranges::all_of(*list, fits))
        return std::nullopt;
    return described(value) + " is not a list of whole numbers, each " + rangeText(field);
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Letters to insert, remove or replace (Levenshtein); capitals do not count.
std::size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j < row.size(); ++j) {
            const std::size_t above = row[j];
            const std::size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
            row[j] = std::min({above + 1, row[j - 1] + 1, replaced});
            diagonal = above;
        }
    }
    return row.back();
}

} // namespace

const FieldInfo* TypeInfo::field(std::string_view wanted) const {
    const auto found = std::find_if(fields.begin(), fields.end(),
                                    [&](const FieldInfo& field) { return field.name == wanted; });
    return found == fields.end() ? nullptr : &*found;
}

const std::vector<TypeInfo>& catalogue() {
    static const std::vector<TypeInfo> all = makeCatalogue();
    return all;
}

const TypeInfo* findType(Kind kind, std::string_view type) {
    for (const TypeInfo& entry : catalogue())
        if (entry.kind == kind && entry.type == type)
            return &entry;
    return nullptr;
}

std::vector<std::string> typeNames(Kind kind) {
    std::vector<std::string> names;
    for (const TypeInfo& entry : catalogue())
        if (entry.kind == kind)
            names.push_back(entry.type);
    return names;
}

std::string_view name(Kind kind) {
    switch (kind) {
    case Kind::Layer:
        return "layer";
    case Kind::Loss:
        return "loss";
    case Kind::Optimizer:
        return "optimizer";
    case Kind::Schedule:
        return "schedule";
    case Kind::DataFormat:
        return "data format";
    case Kind::Augmentation:
        return "augmentation";
    }
    return "?";
}

Value valueOf(const TypeInfo& type, const Values& values, std::string_view fieldName) {
    const FieldInfo* field = type.field(fieldName);
    TRAINYARD_CHECK_MSG(field != nullptr, type.type + "." + std::string(fieldName));
    const auto given = values.find(field->name);
    if (given != values.end())
        return given->second;
    TRAINYARD_CHECK_MSG(field->defaultValue.has_value(), type.type + "." + field->name);
    return *field->defaultValue;
}

std::string textOf(const TypeInfo& type, const Values& values, std::string_view field) {
    return std::get<std::string>(valueOf(type, values, field));
}

std::int64_t integerOf(const TypeInfo& type, const Values& values, std::string_view field) {
    return std::get<std::int64_t>(valueOf(type, values, field));
}

double realOf(const TypeInfo& type, const Values& values, std::string_view field) {
    const Value value = valueOf(type, values, field);
    const auto* whole = std::get_if<std::int64_t>(&value);
    return whole ? static_cast<double>(*whole) : std::get<double>(value);
}

bool switchOf(const TypeInfo& type, const Values& values, std::string_view field) {
    return std::get<bool>(valueOf(type, values, field));
}

std::vector<std::int64_t> pairOf(const TypeInfo& type, const Values& values,
                                 std::string_view field) {
    const Value value = valueOf(type, values, field);
    const auto* single = std::get_if<std::int64_t>(&value);
    return single ? std::vector<std::int64_t>{*single, *single}
                  : std::get<std::vector<std::int64_t>>(value);
}

std::vector<std::int64_t> listOf(const TypeInfo& type, const Values& values,
                                 std::string_view field) {
    const Value value = valueOf(type, values, field);
    const auto* single = std::get_if<std::int64_t>(&value);
    return single ? std::vector<std::int64_t>{*single} : std::get<std::vector<std::int64_t>>(value);
}

std::optional<std::string> misfit(const FieldInfo& field, const Value& value) {
    const std::string found = described(value);
    switch (field.kind) {
    case FieldKind::Switch:
        if (std::holds_alternative<bool>(value))
            return std::nullopt;
        return found + " is not true or false";
    case FieldKind::Integer: {
        const auto* number = std::get_if<std::int64_t>(&value);
        if (number && inRange(field, static_cast<double>(*number)))
            return std::nullopt;
        return found + " is not a whole number " + rangeText(field);
    }
    case FieldKind::Real: {
        const auto* whole = std::get_if<std::int64_t>(&value);
        const auto* number = std::get_if<double>(&value);
        const double real = whole ? static_cast<double>(*whole) : number ? *number : NAN;
        if (inRange(field, real))
            return std::nullopt;
        return found + " is not a number " + rangeText(field);
    }
    case FieldKind::Text:
        if (std::holds_alternative<std::string>(value))
            return std::nullopt;
        return found + " is not a text";
    case FieldKind::Choice: {
        const auto* text = std::get_if<std::string>(&value);
        if (text && std::count(field.choices.begin(), field.choices.end(), *text))
            return std::nullopt;
        return found + " is not one of " + listed(field.choices);
    }
    case FieldKind::IntegerPair:
        return misfitPair(field, value);
    case FieldKind::IntegerList:
        return misfitList(field, value);
    }
    return std::nullopt;
}

std::string listed(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) {
        if (!out.empty())
            out += ", ";
        out += word;
    }
    return out;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
    constexpr std::size_t kLongest = 100; // what is longer is no slip of the keyboard
    constexpr std::size_t kTelling = 4;   // letters that are enough to guess the rest
    for (const std::string& candidate : candidates)
        if (word.size() >= kTelling && candidate.starts_with(word))
            return candidate;
    std::string best;
    std::size_t bestDistance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t distance =
            word.size() > kLongest ? bestDistance : editDistance(word, candidate);
        // At least one letter must be the same.
        if (distance < bestDistance && distance < std::max(word.size(), candidate.size())) {
            bestDistance = distance;
            best = candidate;
        }
    }
    return best;
}

} // namespace trainyard::spec
