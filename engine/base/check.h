// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks for what only a bug in Trainyard can cause. They stay on in release builds, print both
// values and the place, and throw BrokenInvariant; the worker turns that into a failure event.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace trainyard {

class BrokenInvariant : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

[[noreturn]] void throwBrokenInvariant(const char* file, int line, const char* condition,
                                       const std::string& detail);

template <class A, class B>
std::string describePair(const A& a, const B& b) {
    std::ostringstream out;
    out << a << " against " << b;
    return out.str();
}

} // namespace trainyard

#define TRAINYARD_CHECK_MSG(condition, detail)                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ::trainyard::throwBrokenInvariant(__FILE__, __LINE__, #condition, detail);             \
    } while (false)

#define TRAINYARD_CHECK(condition) TRAINYARD_CHECK_MSG(condition, std::string())

#define TRAINYARD_CHECK_EQ(a, b)                                                                   \
    do {                                                                                           \
        const auto& checkedA = (a);                                                                \
        const auto& checkedB = (b);                                                                \
        if (!(checkedA == checkedB))                                                               \
            ::trainyard::throwBrokenInvariant(__FILE__, __LINE__, #a " == " #b,                    \
                                              ::trainyard::describePair(checkedA, checkedB));      \
    } while (false)
