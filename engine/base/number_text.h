// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text, the same in every locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// The shortest decimal that reads back as the same number: "0.001", "1e+21", "nan", "inf".
std::string shortest(double value);

/// At most `digits` significant digits, for sentences: "0.8812".
std::string rounded(double value, int digits);

/// 60000 -> "60,000"
std::string grouped(std::int64_t value);

/// The whole text must be a number; no spaces, no decimal comma.
std::optional<double> parseReal(std::string_view text);
std::optional<std::int64_t> parseInteger(std::string_view text);

} // namespace trainyard
