// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/number_list.h"

#include "engine/base/number_text.h"

#include <algorithm>

namespace trainyard::engine {

std::optional<std::vector<double>> numbersIn(std::string_view word) {
    std::vector<double> numbers;
    for (std::size_t begin = 0; begin <= word.size();) {
        const std::size_t end = std::min(word.find(',', begin), word.size());
        std::string_view part = word.substr(begin, end - begin);
        part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
        part = part.substr(0, part.find_last_not_of(' ') + 1);
        const std::optional<double> number = parseReal(part);
        if (!number)
            return std::nullopt;
        numbers.push_back(*number);
        begin = end + 1;
    }
    return numbers;
}

} // namespace trainyard::engine
