// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/message.h"

#include <algorithm>
#include <utility>

namespace trainyard {

Message::Message(std::string format_, std::vector<std::string> arguments_)
    : format(std::move(format_)), arguments(std::move(arguments_)) {}

std::string Message::text() const {
    return fillIn(format, arguments);
}

std::string fillIn(std::string_view format, const std::vector<std::string>& arguments) {
    const auto isDigit = [](char c) {
        return c >= '0' && c <= '9';
    };
    std::string out;
    out.reserve(format.size() + 32 * arguments.size());
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%' || i + 1 == format.size() || !isDigit(format[i + 1])) {
            out += format[i];
            continue;
        }
        std::size_t end = i + 2;
        std::size_t number = static_cast<std::size_t>(format[i + 1] - '0');
        if (end < format.size() && isDigit(format[end])) {
            number = number * 10 + static_cast<std::size_t>(format[end] - '0');
            ++end;
        }
        if (number == 0 || number > arguments.size())
            out += format.substr(i, end - i);
        else
            out += arguments[number - 1];
        i = end - 1;
    }
    return out;
}

std::string excerpt(std::string_view text, std::size_t bytes) {
    std::size_t end = std::min(bytes, text.size());
    while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
        --end;
    std::string out(text.substr(0, end));
    for (char& c : out)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    return end < text.size() ? out + "…" : out;
}

} // namespace trainyard
