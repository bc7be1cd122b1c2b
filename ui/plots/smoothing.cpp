// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The recurrence is written as a step towards the new value, y += (x - y) (1 - s) / (1 - s^(n+1)),
// which is the same mean and has no rounding error for the first point and for constants.
#include "ui/plots/smoothing.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

DebiasedMean::DebiasedMean(double weight) : m_weight(std::clamp(weight, 0.0, kMaxSmoothing)) {}

double DebiasedMean::add(double value) {
    m_power *= m_weight;
    m_mean += (value - m_mean) * ((1 - m_weight) / (1 - m_power));
    return m_mean;
}

void SmoothedCurve::setWeight(double weight) {
    weight = std::isfinite(weight) ? std::clamp(weight, 0.0, kMaxSmoothing) : 0;
    if (weight == m_weight)
        return;
    m_weight = weight;
    m_mean = DebiasedMean(weight);
    m_values.clear();
    m_blockEnds.clear();
}

void SmoothedCurve::update(const CurveData& data) {
    if (!isOn())
        return;
    if (m_generation != data.generation()) {
        m_generation = data.generation();
        m_mean = DebiasedMean(m_weight);
        m_values.clear();
        m_blockEnds.clear();
    }
    for (std::size_t i = m_values.size(); i < data.size(); ++i) {
        const float y = data.y(i);
        m_values.push_back(std::isfinite(y) ? static_cast<float>(m_mean.add(y))
                                            : std::numeric_limits<float>::quiet_NaN());
        if (m_values.size() % kBlock == 0)
            m_blockEnds.push_back(m_values.back());
    }
}

} // namespace trainyard::ui
