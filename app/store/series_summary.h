// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a table shows of a metric without reading its points.
// Rule: a summary is a function of the points in their order and of nothing else, so two readers of
// one journal come to the same one. Best values come from every point, never from a thinned curve.
#pragma once

#include <QString>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::app {

/// A small picture of a curve: means over ranges of equal length, 24 to 48 of them once it is long.
class Sparkline {
public:
    void add(double value);
    /// NaN where a range has no finite value.
    std::vector<float> values() const;

    std::string pack() const;
    static Sparkline unpack(std::string_view bytes);
    bool operator==(const Sparkline&) const = default;

private:
    double openMean() const;

    std::vector<float> m_means;
    std::uint32_t m_width = 1; ///< points in each range
    std::uint32_t m_seen = 0;  ///< points in the range that is still open
    std::uint32_t m_finite = 0;
    double m_sum = 0;
};

struct SeriesSummary {
    std::int64_t reported = 0; ///< points in the store, with superseded ones
    std::int64_t count = 0;    ///< points that count
    std::int64_t notFinite = 0;
    std::int64_t lastStep = std::numeric_limits<std::int64_t>::min();
    double last = std::numeric_limits<double>::quiet_NaN();
    /// Of the finite values; NaN when there is none.
    double lo = std::numeric_limits<double>::quiet_NaN();
    double hi = std::numeric_limits<double>::quiet_NaN();
    std::int64_t loStep = 0; ///< first step with that value
    std::int64_t hiStep = 0;
    Sparkline sparkline;

    /// The next point that counts; `step` lies after lastStep.
    void add(std::int64_t step, double value);
    /// A step that was reported before: what came after it is superseded.
    bool runsBackAt(std::int64_t step) const { return count > 0 && step <= lastStep; }
};

/// Which values of a metric are the good ones.
enum class Direction { None, Lower, Higher };
Direction directionOf(const QString& metric);

struct BestValue {
    double value = 0;
    std::int64_t step = 0;
};
/// Absent where no direction is better (learning_rate) or no value is finite.
std::optional<BestValue> bestOf(const QString& metric, const SeriesSummary& summary);

} // namespace trainyard::app
