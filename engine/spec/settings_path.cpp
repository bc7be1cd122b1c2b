// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/spec/settings_path.h"

#include "engine/base/number_text.h"
#include "engine/spec/catalogue.h"
#include "engine/spec/json_text.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard::spec {

namespace {

/// "a.b[2].c" -> {"a", "b", "2", "c"}; empty when it is no path.
std::vector<std::string> split(std::string_view path) {
    constexpr std::string_view kMarks = ".[]";
    std::vector<std::string> parts;
    std::size_t start = 0;
    for (;;) {
        const std::size_t end = std::min(path.find_first_of(kMarks, start), path.size());
        if (end == start)
            return {};
        parts.emplace_back(path.substr(start, end - start));
        const bool inBrackets = start > 0 && path[start - 1] == '[';
        if (inBrackets != (end < path.size() && path[end] == ']'))
            return {};
        const std::size_t next = inBrackets ? end + 1 : end;
        if (next == path.size())
            return parts;
        if (path[next] == ']')
            return {};
        start = next + 1;
    }
}

std::string idOf(const Json& element) {
    const bool named = element.is_object() && element.contains("id") && element["id"].is_string();
    return named ? element["id"].get<std::string>() : std::string();
}

/// Walks down from the root and remembers where it is, for the sentence when it cannot go on.
class Walk {
public:
    Walk(Json& root, Problems& problems) : m_place(&root), m_problems(problems) {}

    /// False after a problem was added.
    bool step(const std::string& part) {
        if (m_place->is_array())
            return stepToElement(part);
        if (m_place->is_null())
            *m_place = Json::object();
        if (!m_place->is_object())
            return fail(
                {"This is %1; there is no \"%2\" in it.", {kindOf(*m_place), excerpt(part)}});
        m_place = &(*m_place)[part];
        m_path += (m_path.empty() ? "" : ".") + excerpt(part);
        return true;
    }

    Json& place() const { return *m_place; }

private:
    bool stepToElement(const std::string& part) {
        Json& list = *m_place;
        const auto number = parseInteger(part);
        std::vector<std::string> ids;
        if (!number)
            for (const Json& item : list)
                ids.push_back(idOf(item));
        // A negative number becomes larger than any list.
        const std::size_t index =
            number
                ? static_cast<std::size_t>(*number)
                : static_cast<std::size_t>(std::find(ids.begin(), ids.end(), part) - ids.begin());
        if (index >= list.size())
            return noElement(part, ids);
        m_place = &list[index];
        m_path += "[" + std::to_string(index) + "]";
        return true;
    }

    bool noElement(const std::string& part, const std::vector<std::string>& ids) {
        const std::string count = std::to_string(m_place->size());
        if (ids.empty())
            return fail({"There is no element %1; the list has %2, counted from 0.",
                         {excerpt(part), count}});
        const std::string near = nearest(part, ids);
        return fail({"None of the %1 elements has the id \"%2\".", {count, excerpt(part)}},
                    near.empty() ? Message() : Message{"Did you mean \"%1\"?", {near}});
    }

    bool fail(Message what, Message cure = {}) {
        m_problems.push_back({std::move(what), m_path, std::move(cure)});
        return false;
    }

    Json* m_place;
    std::string m_path;
    Problems& m_problems;
};

/// JSON where it can be read as such, else text. What stands in place of a text stays one, so that
/// a run can be named 7.
Json toJson(const std::string& value, const Json& before) {
    Problems ignored;
    const std::optional<Json> parsed = parseJsonText(value, ignored);
    const bool keepText = before.is_string() && parsed && parsed->is_primitive();
    return !parsed || (keepText && !parsed->is_string()) ? Json(value) : *parsed;
}

} // namespace

void applySetting(Json& json, const std::string& path, const std::string& value,
                  Problems& problems) {
    if (!isUtf8(path) || !isUtf8(value)) {
        problems.push_back({{"The setting is not text in UTF-8."}});
        return;
    }
    const std::vector<std::string> parts = split(path);
    if (parts.empty()) {
        problems.push_back({{"\"%1\" is not a path into an experiment.", {excerpt(path)}},
                            {},
                            {"Write a path such as training.batch or model.layers[0].kernel."}});
        return;
    }
    Walk walk(json, problems);
    for (const std::string& part : parts)
        if (!walk.step(part))
            return;
    walk.place() = toJson(value, walk.place());
}

} // namespace trainyard::spec
