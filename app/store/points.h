// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Measured values as they are read from the store.
// Rule: points stay in the order in which they were reported. A run that was resumed from an
// earlier step reports some steps again; liveLine() takes the points that count apart from those
// superseded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::app {

/// Columns of one length. `steps` are applied updates; UTC microseconds for device samples.
struct Points {
    std::int64_t first = 0; ///< how many points of the series lie before these
    std::vector<std::int64_t> steps;
    std::vector<double> values;

    std::size_t size() const { return steps.size(); }
    bool empty() const { return steps.empty(); }
    bool operator==(const Points&) const = default;
};

/// Steps rise strictly in `line`: one value per step. `superseded` are the tails that a later
/// attempt has replaced, oldest first.
struct LiveLine {
    Points line;
    std::vector<Points> superseded;
};
LiveLine liveLine(Points points);

enum class XAxis { Step, Epoch, Samples, Seconds };

/// What step a run had reached when: rows that all metrics of the run share.
struct Axes {
    std::vector<std::int64_t> steps; ///< rising strictly
    std::vector<double> epochs;
    std::vector<double> samples;
    std::vector<double> utcUs; ///< clock of the node, never running back

    bool operator==(const Axes&) const = default;
};

/// The x values of points at `steps`. Where a step has no row of its own the row before it counts;
/// NaN before the first row. Seconds count from the first row.
std::vector<double> along(XAxis axis, const std::vector<std::int64_t>& steps, const Axes& axes);

} // namespace trainyard::app
