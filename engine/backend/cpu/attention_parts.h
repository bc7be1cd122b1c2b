// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What attention in fp32 and in bf16 share.
#pragma once

#include "engine/backend/cpu/loops.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace trainyard::engine::cpu {

/// A matrix of one head: `rows` positions, `stride` elements apart.
struct View {
    float* data;
    std::int64_t stride;
    View from(std::int64_t row) const { return {data + row * stride, stride}; }
};

/// Turns the pairs (i, i + size / 2) of each position by its angles (Su et al., 2021).
class Rotary {
public:
    Rotary(double base, std::int64_t positions, std::int64_t headSize)
        : m_half(headSize / 2), m_cosines(static_cast<std::size_t>(positions * m_half)),
          m_sines(m_cosines.size()) {
        for (std::int64_t t = 0; t < positions; ++t)
            for (std::int64_t i = 0; i < m_half; ++i) {
                const double angle =
                    static_cast<double>(t) *
                    std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(headSize));
                m_cosines[static_cast<std::size_t>(t * m_half + i)] =
                    static_cast<float>(std::cos(angle));
                m_sines[static_cast<std::size_t>(t * m_half + i)] =
                    static_cast<float>(std::sin(angle));
            }
    }

    /// Positions [first, first + count); back: by the opposite angle. In place is allowed.
    void turn(View from, View to, std::int64_t first, std::int64_t count, bool back) const {
        for (std::int64_t row = 0; row < count; ++row)
            turn(from.data + row * from.stride, to.data + row * to.stride, first + row, back);
    }

    /// One position, in either type.
    template <class T>
    void turn(const T* x, T* y, std::int64_t position, bool back) const {
        const float* cosines = m_cosines.data() + position * m_half;
        const float* sines = m_sines.data() + position * m_half;
        for (std::int64_t i = 0; i < m_half; ++i) {
            const float a = load(x[i]), b = load(x[i + m_half]);
            const float s = back ? -sines[i] : sines[i];
            store(y[i], a * cosines[i] - b * s);
            store(y[i + m_half], b * cosines[i] + a * s);
        }
    }

private:
    std::int64_t m_half;
    std::vector<float> m_cosines, m_sines;
};

} // namespace trainyard::engine::cpu
