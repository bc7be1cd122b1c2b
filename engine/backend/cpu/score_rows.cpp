// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/cpu/score_rows.h"

#include "engine/backend/cpu/fast_math.h"
#include "engine/backend/cpu/row_parts.h"
#include "engine/base/multiversion.h"

#include <algorithm>
#include <array>

namespace trainyard::engine::cpu {

namespace {

template <class T>
[[gnu::always_inline]] inline RowSum sumOfRowLoop(const T* __restrict scores,
                                                  std::int64_t classes) {
    const float largest = largestOf(scores, classes);
    Lanes lanes{};
    std::int64_t c = 0;
    for (; c + kLanes <= classes; c += kLanes)
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l)
            lanes[l] += exponential(load(scores[c + static_cast<std::int64_t>(l)]) - largest);
    for (; c < classes; ++c)
        lanes[0] += exponential(load(scores[c]) - largest);
    return {largest, laneSum(lanes)};
}

/// gradient = exp(score - largest) * scale - other, or += it.
struct Slope {
    float largest, scale, other;
    bool add;
};

TRAINYARD_MULTIVERSION
void writeSlopes(const float* __restrict scores, std::int64_t count, const Slope& slope,
                 float* __restrict gradient) {
    const Slope s = slope;
    if (s.add)
        for (std::int64_t c = 0; c < count; ++c)
            gradient[c] += exponential(scores[c] - s.largest) * s.scale - s.other;
    else
        for (std::int64_t c = 0; c < count; ++c)
            gradient[c] = exponential(scores[c] - s.largest) * s.scale - s.other;
}

/// In pieces that stay in the cache: loops over both types at once are not vectorised.
void writeSlopes(const Bf16* scores, std::int64_t count, const Slope& slope, Bf16* gradient) {
    constexpr std::int64_t kPiece = 512;
    std::array<float, kPiece> from, to;
    for (std::int64_t first = 0; first < count; first += kPiece) {
        const std::int64_t part = std::min(kPiece, count - first);
        widen(scores + first, from.data(), part);
        if (slope.add)
            widen(gradient + first, to.data(), part);
        writeSlopes(from.data(), part, slope, to.data());
        narrow(to.data(), gradient + first, part);
    }
}

template <class T>
void gradientOfAnyRow(const T* scores, std::int64_t classes, RowSum row, std::int64_t label,
                      Smoothing target, double divisor, bool add, T* gradient) {
    const float before = label < 0 ? 0 : load(gradient[label]);
    writeSlopes(scores, classes,
                {.largest = row.largest,
                 .scale = static_cast<float>(1.0 / (row.sum * divisor)),
                 .other = static_cast<float>(target.other / divisor),
                 .add = add},
                gradient);
    if (label < 0)
        return;
    // The label's element apart: there two numbers near each other are subtracted, in fp64.
    const double probability =
        static_cast<double>(exponential(load(scores[label]) - row.largest)) / row.sum;
    const auto own = static_cast<float>((probability - target.own) / divisor);
    store(gradient[label], add ? before + own : own);
}

template <class T>
[[gnu::always_inline]] inline double sumOfLoop(const T* __restrict values, std::int64_t count) {
    double lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
#pragma GCC unroll 1
        for (std::int64_t l = 0; l < kLanes; ++l)
            lanes[l] += static_cast<double>(load(values[i + l]));
    for (; i < count; ++i)
        lanes[i % kLanes] += static_cast<double>(load(values[i]));
    double sum = 0;
    for (const double lane : lanes)
        sum += lane;
    return sum;
}

} // namespace

TRAINYARD_MULTIVERSION
RowSum sumOfRow(const float* __restrict scores, std::int64_t classes) {
    return sumOfRowLoop(scores, classes);
}

TRAINYARD_MULTIVERSION
RowSum sumOfRow(const Bf16* __restrict scores, std::int64_t classes) {
    return sumOfRowLoop(scores, classes);
}

void gradientOfRow(const float* scores, std::int64_t classes, RowSum row, std::int64_t label,
                   Smoothing target, double divisor, bool add, float* gradient) {
    gradientOfAnyRow(scores, classes, row, label, target, divisor, add, gradient);
}

void gradientOfRow(const Bf16* scores, std::int64_t classes, RowSum row, std::int64_t label,
                   Smoothing target, double divisor, bool add, Bf16* gradient) {
    gradientOfAnyRow(scores, classes, row, label, target, divisor, add, gradient);
}

TRAINYARD_MULTIVERSION
double sumOf(const float* __restrict values, std::int64_t count) {
    return sumOfLoop(values, count);
}

TRAINYARD_MULTIVERSION
double sumOf(const Bf16* __restrict values, std::int64_t count) {
    return sumOfLoop(values, count);
}

} // namespace trainyard::engine::cpu
