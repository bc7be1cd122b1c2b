// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The loops of batch norm over a group of channels: 16 that lie side by side (blocks of 16,
// channels last, columns of a table), or one whose values lie side by side. Sums of a row are added
// up in fp32, rows in fp64.
#pragma once

#include "engine/backend/cpu/row_parts.h"

#include <array>
#include <cstdint>

namespace trainyard::engine::cpu {

using Sums = std::array<double, kLanes>;

/// Element (row, i, lane) of a group is `row * rowStride + i * step + lane` behind its first.
struct Walk {
    std::int64_t rows, rowStride, count, step;
    std::int64_t lanes; ///< channels

    /// `count` elements of one channel lie side by side.
    bool plane() const { return lanes == 1 && step == 1; }
};

/// dx = a * dy + b * (x - mean) + c, for each lane.
struct InputGradient {
    Lanes mean{}, a{}, b{}, c{};
};

/// a += sum of (x - pivot), b += sum of its squares.
template <class T>
void addMoments(const T* x, const Walk& w, const Lanes& pivot, Sums& a, Sums& b);

/// a += sum of dy, b += sum of dy * (x - mean) * inverse.
template <class T>
void addGradients(const T* x, const T* dy, const Walk& w, const Lanes& mean, const Lanes& inverse,
                  Sums& a, Sums& b);

/// y = (x - mean) * scale + shift
void normalize(const float* x, float* y, const Walk& w, const Lanes& mean, const Lanes& scale,
               const Lanes& shift);
void normalize(const Bf16* x, Bf16* y, const Walk& w, const Lanes& mean, const Lanes& scale,
               const Lanes& shift);

/// dx = ..., or += it.
void writeInputGradient(const float* x, const float* dy, float* dx, const Walk& w,
                        const InputGradient& g, bool add);
void writeInputGradient(const Bf16* x, const Bf16* dy, Bf16* dx, const Walk& w,
                        const InputGradient& g, bool add);

} // namespace trainyard::engine::cpu
