// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers as a person writes them in one word.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace trainyard::engine {

/// "5.1, 3.5": with commas between them, at least one. Empty when it is anything else.
std::optional<std::vector<double>> numbersIn(std::string_view word);

} // namespace trainyard::engine
