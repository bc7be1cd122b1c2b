// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The smoothed curve: a debiased exponential mean over the raw points,
//   m[n] = s m[n-1] + (1 - s) x[n],  y[n] = m[n] / (1 - s^(n+1)),
// so that the first value is the first point itself and a constant stays constant. Points that are
// not finite give a gap and leave the mean as it was.
#pragma once

#include "ui/plots/curve_data.h"

#include <vector>

namespace trainyard::ui {

/// The largest weight: a mean over about a thousand points, still finite and still moving.
inline constexpr double kMaxSmoothing = 0.999;

class DebiasedMean {
public:
    /// 0 gives the points themselves; clamped to kMaxSmoothing.
    explicit DebiasedMean(double weight);
    double add(double value);

private:
    double m_weight;
    /// s^n so far.
    double m_power = 1;
    double m_mean = 0;
};

/// Smoothed values of a curve, kept up to date as points are appended.
class SmoothedCurve {
public:
    void setWeight(double weight);
    double weight() const { return m_weight; }
    /// Off means that the raw curve is all there is.
    bool isOn() const { return m_weight > 0; }

    /// Takes in what was appended since the last call; all anew if points were taken away.
    void update(const CurveData& data);
    std::size_t size() const { return m_values.size(); }
    float value(std::size_t index) const { return m_values[index]; }
    /// value() of the last point of each block of kBlock points, lying close together in memory:
    /// for looking at a million points from far away. Only whole blocks.
    static constexpr std::size_t kBlock = 64;
    float blockEnd(std::size_t block) const { return m_blockEnds[block]; }

private:
    double m_weight = 0;
    DebiasedMean m_mean{0};
    std::uint64_t m_generation = 0;
    std::vector<float> m_values;
    std::vector<float> m_blockEnds;
};

} // namespace trainyard::ui
