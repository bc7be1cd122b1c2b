// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The norm of all gradients. The sum is cut into a fixed number of parts, each kept in fixed lanes,
// and parts and lanes are added in order: the result does not depend on threads or instruction set.
#include "engine/base/parallel.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/update_loops.h"

#include <array>
#include <cmath>

namespace trainyard::engine {

namespace {

constexpr std::int64_t kParts = 64;
constexpr std::int64_t kGrain = 1 << 15; ///< elements

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
