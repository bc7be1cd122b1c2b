// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/json.h"

#include <nlohmann/json.hpp>

namespace trainyard {

std::string jsonText(const nlohmann::ordered_json& json, int indent) {
    return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::ordered_json parsedJson(std::string_view text) {
    return nlohmann::ordered_json::parse(text);
}

nlohmann::ordered_json jsonOrDiscarded(std::string_view text) {
    return nlohmann::ordered_json::parse(text, nullptr, false);
}

} // namespace trainyard
