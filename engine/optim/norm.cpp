// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The norm of all gradients. The sum is cut into a fixed number of parts, each kept in fixed lanes,
// and parts and lanes are added in order: the result does not depend on threads or instruction set.
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"
#include "engine/optim/optimizer.h"

#include <array>
#include <cmath>

namespace trainyard::engine {

namespace {

constexpr std::int64_t kParts = 64;
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kGrain = 1 << 15; ///< elements

template <class T>
[[gnu::always_inline]] inline double squaresLoop(const T* values, std::int64_t count) {
    std::array<double, kLanes> lanes{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            const double value = static_cast<double>(values[i + lane]);
            lanes[static_cast<std::size_t>(lane)] += value * value;
        }
    for (; i < count; ++i)
        lanes[static_cast<std::size_t>(i % kLanes)] +=
            static_cast<double>(values[i]) * static_cast<double>(values[i]);
    double sum = 0;
    for (const double lane : lanes)
        sum += lane;
    return sum;
}

TRAINYARD_MULTIVERSION
double sumOfSquares(const float* values, std::int64_t count) {
    return squaresLoop(values, count);
}

TRAINYARD_MULTIVERSION
double sumOfSquares(const double* values, std::int64_t count) {
    return squaresLoop(values, count);
}

template <class T>
double normOf(const T* values, std::int64_t count) {
    std::array<double, kParts> parts{};
    parallelFor(
        kParts, count >= kGrain ? 0 : kParts + 1, 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t part = first; part < last; ++part) {
                const std::int64_t from = count * part / kParts;
                const std::int64_t to = count * (part + 1) / kParts;
                parts[static_cast<std::size_t>(part)] = sumOfSquares(values + from, to - from);
            }
        });
    double sum = 0;
    for (const double part : parts)
        sum += part;
    return std::sqrt(sum);
}

} // namespace

double norm(DType type, const void* values, std::size_t elements) {
    const auto count = static_cast<std::int64_t>(elements);
    return type == DType::Fp64 ? normOf(static_cast<const double*>(values), count)
                               : normOf(static_cast<const float*>(values), count);
}

} // namespace trainyard::engine
