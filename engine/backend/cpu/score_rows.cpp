// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/cpu/score_rows.h"

#include "engine/backend/cpu/fast_math.h"
#include "engine/backend/cpu/loops.h"
#include "engine/base/multiversion.h"

namespace trainyard::engine::cpu {

namespace {

constexpr std::int64_t kLanes = 16;

template <class T>
[[gnu::always_inline]] inline RowSum sumOfRowLoop(const T* __restrict scores,
                                                  std::int64_t classes) {
    float largest = load(scores[0]);
    for (std::int64_t c = 1; c < classes; ++c)
        largest = load(scores[c]) > largest ? load(scores[c]) : largest;
    float lanes[kLanes] = {};
    std::int64_t c = 0;
    for (; c + kLanes <= classes; c += kLanes)
        for (std::int64_t l = 0; l < kLanes; ++l)
            lanes[l] += exponential(load(scores[c + l]) - largest);
    for (; c < classes; ++c)
        lanes[c % kLanes] += exponential(load(scores[c]) - largest);
    RowSum row{largest, 0};
    for (const float lane : lanes)
        row.sum += static_cast<double>(lane);
    return row;
}

template <class T>
[[gnu::always_inline]] inline void
gradientOfRowLoop(const T* __restrict scores, std::int64_t classes, RowSum row, std::int64_t label,
                  Smoothing target, double divisor, bool add, T* __restrict gradient) {
    const auto scale = static_cast<float>(1.0 / (row.sum * divisor));
    const auto other = static_cast<float>(target.other / divisor);
    // The label's element apart: there two numbers near each other are subtracted, in fp64.
    const double probability =
        label < 0 ? 0
                  : static_cast<double>(exponential(load(scores[label]) - row.largest)) / row.sum;
    const float before = label < 0 ? 0 : load(gradient[label]);
    if (add)
        for (std::int64_t c = 0; c < classes; ++c)
            store(gradient[c],
                  load(gradient[c]) + (exponential(load(scores[c]) - row.largest) * scale - other));
    else
        for (std::int64_t c = 0; c < classes; ++c)
            store(gradient[c], exponential(load(scores[c]) - row.largest) * scale - other);
    if (label < 0)
        return;
    const auto own = static_cast<float>((probability - target.own) / divisor);
    store(gradient[label], add ? before + own : own);
}

template <class T>
[[gnu::always_inline]] inline double sumOfLoop(const T* __restrict values, std::int64_t count) {
    double lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
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

TRAINYARD_MULTIVERSION
void gradientOfRow(const float* __restrict scores, std::int64_t classes, RowSum row,
                   std::int64_t label, Smoothing target, double divisor, bool add,
                   float* __restrict gradient) {
    gradientOfRowLoop(scores, classes, row, label, target, divisor, add, gradient);
}

TRAINYARD_MULTIVERSION
void gradientOfRow(const Bf16* __restrict scores, std::int64_t classes, RowSum row,
                   std::int64_t label, Smoothing target, double divisor, bool add,
                   Bf16* __restrict gradient) {
    gradientOfRowLoop(scores, classes, row, label, target, divisor, add, gradient);
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
