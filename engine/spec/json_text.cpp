// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/spec/json_text.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::spec {

namespace {

/// Line and column of a byte, counted from 1; columns are characters, not bytes.
std::vector<std::string> placeOf(std::string_view text, std::size_t index) {
    const std::string_view before = text.substr(0, index);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::string_view inLine = before.substr(before.rfind('\n') + 1);
    const auto column = 1 + std::count_if(inLine.begin(), inLine.end(), [](char c) {
                            return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                        });
    return {std::to_string(line), std::to_string(column)};
}

Error syntaxError(std::string_view text, std::size_t index) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return {
            {"The experiment is empty."}, {}, {"Start from a sample: trainyard samples write."}};
    if (index >= text.size())
        return {{"This is not valid JSON: the text ends before it is complete."},
                {},
                {"A bracket, brace or quote is still open, or the file was cut."}};
    Error error{
        {"This is not valid JSON: there is a mistake at line %1, column %2.", placeOf(text, index)},
        {},
        {"Compare with a sample: trainyard samples write."}};
    const std::size_t previous = text.substr(0, index).find_last_not_of(" \t\r\n");
    const bool closes = text[index] == '}' || text[index] == ']';
    if (closes && previous != std::string_view::npos && text[previous] == ',')
        error.cure = {"Remove the comma before it."};
    return error;
}

/// Reads the whole text without keeping it, before any of it is built: after this, depth and keys
/// are few enough for code that recurses over values or compares all keys of an object.
class Inspector : public nlohmann::json_sax<Json> {
public:
    Inspector(std::string_view text, Problems& problems) : m_text(text), m_problems(problems) {}

    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(number_integer_t) override { return value(); }
    bool number_unsigned(number_unsigned_t) override { return value(); }
    bool number_float(number_float_t, const string_t&) override { return value(); }
    bool string(string_t&) override { return value(); }
    bool binary(binary_t&) override { return value(); }
    bool start_object(std::size_t) override { return open(false); }
    bool start_array(std::size_t) override { return open(true); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& key) override {
        Level& level = m_open.back();
        level.key = key;
        if (!level.keys.insert(key).second)
            return fail({{"This key is given twice."}, path(), {"Keep one of the two."}});
        if (level.keys.size() > kMostKeys)
            return fail(
                {{"There are more than %1 keys in one object.", {std::to_string(kMostKeys)}},
                 path()});
        return true;
    }

    bool parse_error(std::size_t position, const std::string& token,
                     const nlohmann::detail::exception& error) override {
        if (dynamic_cast<const Json::out_of_range*>(&error))
            return fail({{"The number %1 is too large.", {excerpt(token)}}, path()});
        return fail(syntaxError(m_text, position - 1));
    }

private:
    static constexpr std::size_t kMostKeys = 1000;
    static constexpr std::size_t kDeepest = 32;

    struct Level {
        bool list = false;
        std::int64_t index = -1;
        std::string key;
        std::set<std::string> keys;
    };

    bool value() {
        if (!m_open.empty())
            ++m_open.back().index;
        return true;
    }

    bool open(bool list) {
        value();
        if (m_open.size() == kDeepest)
            return fail({{"This is nested too deeply for an experiment."}, path()});
        m_open.push_back({list, -1, {}, {}});
        return true;
    }

    bool close() {
        m_open.pop_back();
        return true;
    }

    bool fail(Error error) {
        m_problems.push_back(std::move(error));
        return false;
    }

    std::string path() const {
        std::string out;
        for (const Level& level : m_open)
            if (level.list)
                out += "[" + std::to_string(std::max<std::int64_t>(level.index, 0)) + "]";
            else
                out += (out.empty() ? "" : ".") + excerpt(level.key, 40);
        return out;
    }

    std::string_view m_text;
    Problems& m_problems;
    std::vector<Level> m_open;
};

} // namespace

std::optional<Json> parseJsonText(std::string_view text, Problems& problems) {
    Inspector inspector(text, problems);
    if (!Json::sax_parse(text, &inspector))
        return std::nullopt;
    return Json::parse(text);
}

bool isUtf8(std::string_view text) {
    try {
        return !Json(text).dump().empty();
    } catch (const Json::type_error&) {
        return false;
    }
}

} // namespace trainyard::spec
