// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/initial_weights.h"

#include "engine/base/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace trainyard::engine {

namespace {

/// Two standard normal numbers of two uniform ones (Box and Muller, 1958).
std::pair<double, double> normalPair(const Philox4& words) {
    const double radius = std::sqrt(-2 * std::log(1 - unitDouble(words[0], words[1])));
    const double angle = 2 * std::numbers::pi * unitDouble(words[2], words[3]);
    return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::pair<double, double> uniformPair(const Philox4& words) {
    return {2 * unitDouble(words[0], words[1]) - 1, 2 * unitDouble(words[2], words[3]) - 1};
}

template <class Real>
void fill(const graph::ParameterInfo& parameter, graph::ParameterId number, std::uint64_t seed,
          Real* data) {
    const auto count = static_cast<std::uint64_t>(elementCount(parameter.shape));
    const graph::Initializer& start = parameter.initializer;
    if (start.distribution == graph::Distribution::Constant) {
        std::fill_n(data, count, static_cast<Real>(start.scale));
        return;
    }
    const bool normal = start.distribution == graph::Distribution::Normal;
    for (std::uint64_t i = 0; i < count; i += 2) {
        const Philox4 words =
            randomWords(seed, RandomStream::Weights, static_cast<std::uint32_t>(number), 0, i / 2);
        // 53 bits for each value, so that fp64 and fp32 runs start from the same weights.
        const auto [first, second] = normal ? normalPair(words) : uniformPair(words);
        data[i] = static_cast<Real>(first * start.scale);
        if (i + 1 < count)
            data[i + 1] = static_cast<Real>(second * start.scale);
    }
}

} // namespace

void initialize(const graph::ParameterInfo& parameter, graph::ParameterId number,
                std::uint64_t seed, DType type, void* data) {
    if (type == DType::Fp64)
        fill(parameter, number, seed, static_cast<double*>(data));
    else
        fill(parameter, number, seed, static_cast<float*>(data));
}

} // namespace trainyard::engine
