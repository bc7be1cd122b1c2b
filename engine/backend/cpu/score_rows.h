// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Loops over a row of scores that both forms of the cross-entropy need: over all classes, and over
// a slice of them.
#pragma once

#include "engine/base/bfloat16.h"

#include <cstdint>

namespace trainyard::engine::cpu {

struct RowSum {
    float largest = 0;
    double sum = 0; ///< of exp(score - largest)
};

RowSum sumOfRow(const float* scores, std::int64_t classes);
RowSum sumOfRow(const Bf16* scores, std::int64_t classes);

struct Smoothing {
    double own;   ///< target of the label
    double other; ///< target of every other class
};

/// gradient = (softmax(scores) - target) / divisor, or += it. `row` may be of more classes than
/// these. `label` -1: it is none of these.
void gradientOfRow(const float* scores, std::int64_t classes, RowSum row, std::int64_t label,
                   Smoothing target, double divisor, bool add, float* gradient);
void gradientOfRow(const Bf16* scores, std::int64_t classes, RowSum row, std::int64_t label,
                   Smoothing target, double divisor, bool add, Bf16* gradient);

double sumOf(const float* scores, std::int64_t count);
double sumOf(const Bf16* scores, std::int64_t count);

} // namespace trainyard::engine::cpu
