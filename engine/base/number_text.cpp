// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/number_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace trainyard {

namespace {

template <class Number>
std::optional<Number> parse(std::string_view text) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [rest, code] = std::from_chars(text.data(), end, value);
    if (code != std::errc() || rest != end || text.empty())
        return std::nullopt;
    return value;
}

} // namespace

std::string shortest(double value) {
    if (std::isnan(value))
        return "nan"; // its sign says nothing
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return {buffer.data(), end};
}

std::string rounded(double value, int digits) {
    if (std::isnan(value))
        return "nan";
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::general, digits)
                         .ptr;
    return {buffer.data(), end};
}

std::string grouped(std::int64_t value) {
    std::string digits = std::to_string(value);
    const std::size_t sign = value < 0 ? 1 : 0;
    for (std::size_t i = digits.size(); i > sign + 3; i -= 3)
        digits.insert(i - 3, ",");
    return digits;
}

std::optional<double> parseReal(std::string_view text) {
    return parse<double>(text);
}

std::optional<std::int64_t> parseInteger(std::string_view text) {
    return parse<std::int64_t>(text);
}

} // namespace trainyard
