// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// From text to a JSON value, strictly: the place of a mistake is named by line and column, and a
// key that stands twice in one object is a mistake too, since readers differ in which one they
// take. Internal to engine/spec.
#pragma once

#include "engine/spec/json_reader.h"

#include <optional>
#include <string_view>

namespace trainyard::spec {

/// Nothing after a problem was added.
std::optional<Json> parseJsonText(std::string_view text, Problems& problems);

/// Whether `text` can stand in JSON at all: it is whole UTF-8.
bool isUtf8(std::string_view text);

} // namespace trainyard::spec
