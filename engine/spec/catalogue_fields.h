// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Short ways to write the fields of catalogue entries, and the parts the catalogue is put together
// from. Internal to engine/spec.
#pragma once

#include "engine/spec/catalogue.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::spec {

inline constexpr double kMaxExtent = 1 << 20;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline FieldInfo integer(std::string name, std::string label, std::optional<std::int64_t> standard,
                         double minimum, double maximum, std::string help = {}) {
    FieldInfo field{.name = std::move(name),
                    .label = std::move(label),
                    .kind = FieldKind::Integer,
                    .minimum = minimum,
                    .maximum = maximum,
                    .help = std::move(help)};
    if (standard)
        field.defaultValue = Value(*standard);
    return field;
}

inline FieldInfo pair(std::string name, std::string label, std::optional<std::int64_t> standard,
                      double minimum, std::string help = {}) {
    FieldInfo field =
        integer(std::move(name), std::move(label), standard, minimum, 1024, std::move(help));
    field.kind = FieldKind::IntegerPair;
    return field;
}

inline FieldInfo real(std::string name, std::string label, double standard, double minimum,
                      double maximum, std::string help = {}) {
    return {.name = std::move(name),
            .label = std::move(label),
            .kind = FieldKind::Real,
            .defaultValue = Value(standard),
            .minimum = minimum,
            .maximum = maximum,
            .help = std::move(help)};
}

inline FieldInfo toggle(std::string name, std::string label, bool standard, std::string help = {}) {
    return {.name = std::move(name),
            .label = std::move(label),
            .kind = FieldKind::Switch,
            .defaultValue = Value(standard),
            .help = std::move(help)};
}

inline FieldInfo text(std::string name, std::string label, std::string standard,
                      std::string help = {}) {
    return {.name = std::move(name),
            .label = std::move(label),
            .kind = FieldKind::Text,
            .defaultValue = Value(std::move(standard)),
            .help = std::move(help)};
}

/// The first choice is the default.
inline FieldInfo choice(std::string name, std::string label, std::vector<std::string> choices,
                        std::string help = {}) {
    FieldInfo field{.name = std::move(name),
                    .label = std::move(label),
                    .kind = FieldKind::Choice,
                    .defaultValue = Value(choices.front()),
                    .choices = std::move(choices),
                    .help = std::move(help)};
    return field;
}

inline FieldInfo belowOne(FieldInfo field) {
    field.openMaximum = true;
    return field;
}

inline FieldInfo aboveZero(FieldInfo field) {
    field.openMinimum = true;
    return field;
}

std::vector<TypeInfo> layerEntries();
std::vector<TypeInfo> lossEntries();
std::vector<TypeInfo> optimizerEntries();
std::vector<TypeInfo> scheduleEntries();
std::vector<TypeInfo> dataFormatEntries();
std::vector<TypeInfo> augmentationEntries();

} // namespace trainyard::spec
