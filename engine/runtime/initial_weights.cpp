// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/initial_weights.h"

#include "engine/base/random.h"

#include <algorithm>
#include <cmath>

namespace trainyard::engine {

namespace {

/// Half-width of the uniform distribution. Both are what PyTorch's linear and convolution start
/// with: weights U(±1/sqrt(fan in)) (He et al., 2015, with gain sqrt(1/3)), biases the same.
double halfWidth(const graph::ParameterInfo& parameter) {
    return 1.0 / std::sqrt(static_cast<double>(parameter.fanIn));
}

template <class Real>
void fillUniform(const graph::ParameterInfo& parameter, graph::ParameterId number,
                 std::uint64_t seed, Real* data) {
    const auto count = static_cast<std::uint64_t>(elementCount(parameter.shape));
    const double width = halfWidth(parameter);
    for (std::uint64_t i = 0; i < count; i += 2) {
        const Philox4 words =
            randomWords(seed, RandomStream::Weights, static_cast<std::uint32_t>(number), 0, i / 2);
        // 53 bits for each value, so that fp64 and fp32 runs start from the same weights.
        data[i] = static_cast<Real>((2 * unitDouble(words[0], words[1]) - 1) * width);
        if (i + 1 < count)
            data[i + 1] = static_cast<Real>((2 * unitDouble(words[2], words[3]) - 1) * width);
    }
}

template <class Real>
void fill(const graph::ParameterInfo& parameter, graph::ParameterId number, std::uint64_t seed,
          Real* data) {
    const auto count = static_cast<std::size_t>(elementCount(parameter.shape));
    switch (parameter.initializer) {
    case graph::Initializer::Zeros:
        std::fill_n(data, count, Real(0));
        return;
    case graph::Initializer::Ones:
        std::fill_n(data, count, Real(1));
        return;
    case graph::Initializer::KaimingUniform:
    case graph::Initializer::FanInUniform:
        fillUniform(parameter, number, seed, data);
        return;
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
