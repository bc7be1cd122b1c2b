// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The points of one curve and a pyramid of minima and maxima over them, so that any range of a
// million points is summed up in a few dozen steps and no spike of a single step is ever lost.
// Level 0 is the points; an entry of level k sums up kFan entries of the level below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace trainyard::ui {

/// What a range of points spans. Not-a-number and infinities count only as hidden.
struct CurveExtent {
    float low = std::numeric_limits<float>::infinity();
    float high = -std::numeric_limits<float>::infinity();
    /// The smallest value above 0: where a logarithmic axis begins.
    float lowPositive = std::numeric_limits<float>::infinity();
    /// Points that a logarithmic axis cannot show: not positive or not finite.
    std::uint32_t hidden = 0;

    /// No finite value.
    bool empty() const { return low > high; }
    /// No finite value above 0.
    bool emptyPositive() const { return lowPositive > high; }
    void add(const CurveExtent& other);
    bool operator==(const CurveExtent&) const = default;
};

enum class NonFinite { NotANumber, PlusInfinity, MinusInfinity };

/// Consecutive points [begin, end) that are all of one kind.
struct NonFiniteRun {
    std::size_t begin;
    std::size_t end;
    NonFinite kind;
};

class CurveData {
public:
    static constexpr std::size_t kFan = 16;

    /// x must not decrease; a point before the last one is not taken (false). Amortised O(log n).
    bool append(double x, float y);
    /// Takes both up to the shorter one; false if any point was refused.
    bool append(std::span<const double> xs, std::span<const float> ys);
    /// Forgets all points from index count on, e.g. what a resumed run has done over.
    void truncate(std::size_t count);
    void clear() { truncate(0); }

    std::size_t size() const { return m_ys.size(); }
    bool empty() const { return m_ys.empty(); }
    double x(std::size_t index) const {
        return m_xs.empty() ? m_start + m_stride * static_cast<double>(index) : m_xs[index];
    }
    float y(std::size_t index) const { return m_ys[index]; }
    std::span<const float> ys() const { return m_ys; }

    /// First index whose x is not below value; size() if there is none.
    std::size_t lowerBound(double value) const;
    /// The same, from an index that is known to be not behind it; nearly O(1) near the guess.
    std::size_t seek(std::size_t from, std::size_t guess, double value) const;
    /// Index of the point with the nearest x; nothing if there are no points.
    std::optional<std::size_t> nearest(double value) const;
    CurveExtent extent(std::size_t begin, std::size_t end) const;
    /// In order, not touching unless the kinds differ.
    std::span<const NonFiniteRun> nonFiniteRuns() const { return m_nonFinite; }
    std::optional<std::size_t> lastFinite() const;

    /// Changes when points were taken away, so that what was derived from them must start anew.
    std::uint64_t generation() const { return m_generation; }
    std::size_t bytes() const;

private:
    bool isRegular() const { return m_xs.empty(); }
    void storeX(double x);
    void addToLevels(const CurveExtent& point);
    CurveExtent entry(std::size_t level, std::size_t index) const;
    void noteNonFinite(std::size_t index, float y);

    std::vector<float> m_ys;
    /// Empty while x(i) is exactly m_start + i * m_stride: most curves have a point each step.
    std::vector<double> m_xs;
    double m_start = 0;
    double m_stride = 1;
    std::vector<std::vector<CurveExtent>> m_levels;
    std::vector<NonFiniteRun> m_nonFinite;
    std::uint64_t m_generation = 0;
};

} // namespace trainyard::ui
