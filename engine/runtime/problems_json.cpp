// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/problems_json.h"

#include "engine/base/json.h"

#include <nlohmann/json.hpp>

namespace trainyard::engine {

namespace {

using Json = nlohmann::ordered_json;

Json messageAsJson(const Message& message) {
    return {{"format", message.format}, {"arguments", message.arguments}};
}

} // namespace

std::string problemsAsJson(const Problems& problems) {
    Json list = Json::array();
    for (const Error& problem : problems)
        list.push_back({{"where", problem.where},
                        {"what", messageAsJson(problem.what)},
                        {"cure", messageAsJson(problem.cure)}});
    return jsonText(list);
}

} // namespace trainyard::engine
