// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See points.h.
#include "app/store/points.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace trainyard::app {

namespace {

void moveTail(Points& from, std::size_t keep, Points& to) {
    const auto offset = static_cast<std::ptrdiff_t>(keep);
    to.steps.assign(from.steps.begin() + offset, from.steps.end());
    to.values.assign(from.values.begin() + offset, from.values.end());
    from.steps.resize(keep);
    from.values.resize(keep);
}

} // namespace

LiveLine liveLine(Points points) {
    LiveLine result;
    const auto& all = points.steps;
    const auto runsBack = [&](std::size_t i) {
        return all[i] <= all[i - 1];
    };
    std::size_t i = 1;
    while (i < points.size() && !runsBack(i))
        ++i;
    if (i >= points.size()) { // nearly always
        result.line = std::move(points);
        return result;
    }
    Points& line = result.line;
    line.first = points.first;
    for (i = 0; i < points.size(); ++i) {
        if (!line.empty() && points.steps[i] <= line.steps.back()) {
            const auto keep = static_cast<std::size_t>(
                std::lower_bound(line.steps.begin(), line.steps.end(), points.steps[i]) -
                line.steps.begin());
            moveTail(line, keep, result.superseded.emplace_back());
        }
        line.steps.push_back(points.steps[i]);
        line.values.push_back(points.values[i]);
    }
    return result;
}

std::vector<double> along(XAxis axis, const std::vector<std::int64_t>& steps, const Axes& axes) {
    std::vector<double> x(steps.size());
    if (axis == XAxis::Step) {
        std::transform(steps.begin(), steps.end(), x.begin(),
                       [](std::int64_t step) { return static_cast<double>(step); });
        return x;
    }
    const std::vector<double>& column = axis == XAxis::Epoch     ? axes.epochs
                                        : axis == XAxis::Samples ? axes.samples
                                                                 : axes.utcUs;
    std::size_t next = 0; // first row of `axes` that lies after the step
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i > 0 && steps[i] < steps[i - 1])
            next = 0;
        while (next < axes.steps.size() && axes.steps[next] <= steps[i])
            ++next;
        if (next == 0)
            x[i] = std::numeric_limits<double>::quiet_NaN();
        else if (axis == XAxis::Seconds)
            x[i] = (column[next - 1] - column.front()) * 1e-6;
        else
            x[i] = column[next - 1];
    }
    return x;
}

} // namespace trainyard::app
