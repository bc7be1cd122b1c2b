// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/spec/settings_path.h"

#include "engine/base/number_text.h"

namespace trainyard::spec {

namespace {

/// "a.b[2].c" -> {"a", "b", "2", "c"}; empty when it is no path.
std::vector<std::string> split(const std::string& path) {
    std::vector<std::string> parts;
    std::string part;
    for (const char c : path + ".") {
        if (c != '.' && c != '[' && c != ']') {
            part += c;
            continue;
        }
        if (!part.empty())
            parts.push_back(part);
        else if (c == '.' && (parts.empty() || path.find("..") != std::string::npos))
            return {};
        part.clear();
    }
    return parts;
}

Json* element(Json& list, const std::string& part) {
    if (const auto index = parseInteger(part))
        return *index >= 0 && static_cast<std::size_t>(*index) < list.size()
                   ? &list[static_cast<std::size_t>(*index)]
                   : nullptr;
    for (Json& item : list)
        if (item.is_object() && item.contains("id") && item["id"] == part)
            return &item;
    return nullptr;
}

Json* child(Json& parent, const std::string& part) {
    if (parent.is_array())
        return element(parent, part);
    if (parent.is_null())
        parent = Json::object();
    return parent.is_object() ? &parent[part] : nullptr;
}

} // namespace

void applySetting(Json& json, const std::string& path, const std::string& value,
                  Problems& problems) {
    const std::vector<std::string> parts = split(path);
    Json* place = parts.empty() ? nullptr : &json;
    for (std::size_t i = 0; place && i < parts.size(); ++i)
        place = child(*place, parts[i]);
    if (!place) {
        problems.push_back({{"There is no such place in the experiment."},
                            path,
                            {"Write a path such as training.batch or model.layers[0].kernel."}});
        return;
    }
    Json parsed = Json::parse(value, nullptr, false);
    *place = parsed.is_discarded() ? Json(value) : std::move(parsed);
}

} // namespace trainyard::spec
