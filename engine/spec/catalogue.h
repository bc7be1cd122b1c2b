// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Catalogue: which types of layers, losses, optimizers and schedules there are, and which fields
// each has with its default and range. Reading, checking, writing and the studio's editors all work
// from this one table, so a new type appears everywhere at once.
#pragma once

#include "engine/spec/experiment.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::spec {

enum class FieldKind {
    Switch,
    Integer,
    Real,
    Text,
    Choice,      ///< one of `choices`
    IntegerPair, ///< one number for both directions, or {height, width}
    IntegerList  ///< one or more whole numbers
};

/// The one type of Kind::Augmentation.
inline constexpr const char* kPictureAugmentation = "pictures";

struct FieldInfo {
    std::string name;  ///< the key in the file
    std::string label; ///< for people, English
    FieldKind kind = FieldKind::Integer;
    std::optional<Value> defaultValue = {}; ///< none: the field must be given
    double minimum = 0;                     ///< of Integer, Real, IntegerPair
    double maximum = 0;
    bool openMinimum = false; ///< the minimum itself is not allowed
    bool openMaximum = false;
    std::vector<std::string> choices = {};
    std::string help = {};
};

enum class Kind {
    Layer,
    Loss,
    Optimizer,
    Schedule,
    DataFormat,  ///< its fields are keys of "data"
    Augmentation ///< its fields are keys of "data.augment"
};

/// A file, or a folder, that a part of the data consists of.
struct FileRole {
    std::string name;  ///< the key in the file: data.train.NAME
    std::string label; ///< for people, English
    bool folder = false;
    bool optional = false;
};

struct TypeInfo {
    Kind kind = Kind::Layer;
    std::string type;          ///< the name in the file
    std::string label;         ///< for people, English
    std::string category = {}; ///< groups the palette of layers
    std::string icon = {};     ///< name in resources/icons
    std::string help = {};
    std::vector<FieldInfo> fields = {};
    /// Data formats only.
    std::vector<FileRole> roles = {};
    bool pictures = false; ///< samples are {channels, height, width} of bytes, and may be augmented

    const FieldInfo* field(std::string_view name) const;
};

const std::vector<TypeInfo>& catalogue();
const TypeInfo* findType(Kind kind, std::string_view type);
std::vector<std::string> typeNames(Kind kind);
/// "layer", "optimizer" ... for sentences.
std::string_view name(Kind kind);

/// The value of a field, or its default. The field must be in the entry and have one of both.
Value valueOf(const TypeInfo& type, const Values& values, std::string_view field);
std::string textOf(const TypeInfo& type, const Values& values, std::string_view field);
std::int64_t integerOf(const TypeInfo& type, const Values& values, std::string_view field);
double realOf(const TypeInfo& type, const Values& values, std::string_view field);
bool switchOf(const TypeInfo& type, const Values& values, std::string_view field);
/// {height, width}
std::vector<std::int64_t> pairOf(const TypeInfo& type, const Values& values,
                                 std::string_view field);
std::vector<std::int64_t> listOf(const TypeInfo& type, const Values& values,
                                 std::string_view field);

/// Empty when `value` fits the field; else what was found and what is allowed.
std::optional<std::string> misfit(const FieldInfo& field, const Value& value);

/// "a, b, c"
std::string listed(const std::vector<std::string>& words);

/// The candidate nearest to `word` by edit distance; empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

} // namespace trainyard::spec
