// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/check.h"
#include "engine/graph/graph.h"

#include <cmath>

namespace trainyard::graph {

namespace {

/// in: fan in, out: fan out.
Initializer make(std::string_view name, double in, double out) {
    if (name == "default")
        return {Distribution::Uniform, 1 / std::sqrt(in)};
    if (name == "kaiming_uniform")
        return {Distribution::Uniform, std::sqrt(6 / in)};
    if (name == "kaiming_normal")
        return {Distribution::Normal, std::sqrt(2 / in)};
    if (name == "xavier_uniform")
        return {Distribution::Uniform, std::sqrt(6 / (in + out))};
    if (name == "xavier_normal")
        return {Distribution::Normal, std::sqrt(2 / (in + out))};
    if (name == "normal")
        return {Distribution::Normal, 0.02};
    if (name == "ones")
        return {Distribution::Constant, 1};
    TRAINYARD_CHECK_MSG(name == "zeros", std::string(name));
    return {Distribution::Constant, 0};
}

} // namespace

Initializer initializer(std::string_view name, std::int64_t fanIn, std::int64_t fanOut) {
    return make(name, static_cast<double>(fanIn), static_cast<double>(fanOut));
}

} // namespace trainyard::graph
