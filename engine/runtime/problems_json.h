// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Problems as the worker's answers have them:
// [{"where", "what": {"format", "arguments"}, "cure": {...}}]
#pragma once

#include "engine/base/result.h"

#include <string>

namespace trainyard::engine {

std::string problemsAsJson(const Problems& problems);

} // namespace trainyard::engine
