// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Answers of the verbs as JSON, one line each. Names on a node may hold any bytes; in an answer
// what is no UTF-8 is replaced, so that every reader can parse it.
#pragma once

#include "engine/agent/sweep.h"
#include "engine/base/result.h"

#include <nlohmann/json.hpp>
#include <string>

namespace trainyard::engine {

using Answer = nlohmann::ordered_json;

void print(const Answer& answer);
Answer refusal(const Error& error);
/// [{"run": .., "pid": .., "command": ..}]
Answer describe(const std::vector<MarkedProcess>& processes, const AgentRoot& root);

} // namespace trainyard::engine
