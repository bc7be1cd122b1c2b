// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// JSON to text and back. The library's reader and writer are templates that take seconds to
// compile: they are made once, here. Who needs more of the library includes it in a source.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace trainyard {

/// In one line, or with `indent` spaces for each level. What is no UTF-8 is replaced.
std::string jsonText(const nlohmann::ordered_json& json, int indent = -1);

/// Throws the library's parse_error.
nlohmann::ordered_json parsedJson(std::string_view text);

/// "Discarded" where `text` is no JSON; that is no object, no list and no other kind of value.
nlohmann::ordered_json jsonOrDiscarded(std::string_view text);

} // namespace trainyard
