// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/spec/json_reader.h"

#include "engine/base/json.h"
#include "engine/spec/catalogue.h"

#include <algorithm>
#include <utility>

namespace trainyard::spec {

std::string kindOf(const Json& value) {
    switch (value.type()) {
    case Json::value_t::null:
        return "null";
    case Json::value_t::object:
        return "an object";
    case Json::value_t::array:
        return "a list";
    case Json::value_t::string:
        return "the text \"" + excerpt(value.get_ref<const std::string&>()) + "\"";
    case Json::value_t::boolean:
        return value.get<bool>() ? "true" : "false";
    default:
        return "the number " + jsonText(value);
    }
}

bool isAboveInt64(const Json& value) {
    return value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
}

ObjectReader::ObjectReader(const Json& object, std::string path, Problems& problems)
    : m_path(std::move(path)), m_problems(problems) {
    if (object.is_object())
        m_object = &object;
    else
        m_problems.push_back({{"Expected an object { }, found %1.", {kindOf(object)}}, m_path});
}

const Json* ObjectReader::take(const std::string& key, bool required) {
    m_known.push_back(key);
    if (!m_object)
        return nullptr;
    const auto found = m_object->find(key);
    if (found != m_object->end())
        return &*found;
    if (required)
        problem(key, {"This must be given."});
    return nullptr;
}

bool ObjectReader::has(const std::string& key) const {
    return m_object && m_object->contains(key);
}

void ObjectReader::text(const std::string& key, std::string& target, bool required) {
    const Json* value = take(key, required);
    if (!value)
        return;
    if (value->is_string())
        target = value->get<std::string>();
    else
        problem(key, {"Expected a text, found %1.", {kindOf(*value)}});
}

void ObjectReader::integer(const std::string& key, std::int64_t& target) {
    const Json* value = take(key);
    if (!value)
        return;
    if (value->is_number_integer() && !isAboveInt64(*value))
        target = value->get<std::int64_t>();
    else
        problem(key, {"Expected a whole number, found %1.", {kindOf(*value)}});
}

void ObjectReader::unsignedInteger(const std::string& key, std::uint64_t& target) {
    const Json* value = take(key);
    if (!value)
        return;
    if (value->is_number_unsigned())
        target = value->get<std::uint64_t>();
    else
        problem(key, {"Expected a whole number of at least 0, found %1.", {kindOf(*value)}});
}

void ObjectReader::real(const std::string& key, double& target) {
    const Json* value = take(key);
    if (!value)
        return;
    if (value->is_number())
        target = value->get<double>();
    else
        problem(key, {"Expected a number, found %1.", {kindOf(*value)}});
}

void ObjectReader::finish() {
    if (!m_object)
        return;
    for (const auto& [key, value] : m_object->items()) {
        if (std::count(m_known.begin(), m_known.end(), key))
            continue;
        const std::string near = nearest(key, m_known);
        problem(key, {"This key is not known here."},
                near.empty() ? Message() : Message{"Did you mean \"%1\"?", {near}});
    }
}

std::string ObjectReader::at(const std::string& key) const {
    return m_path.empty() ? excerpt(key) : m_path + "." + excerpt(key);
}

void ObjectReader::problem(const std::string& key, Message what, Message cure) {
    m_problems.push_back({std::move(what), at(key), std::move(cure)});
}

} // namespace trainyard::spec
