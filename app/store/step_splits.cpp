// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See step_splits.h.
#include "app/store/step_splits.h"

#include <cmath>
#include <map>

namespace trainyard::app {

namespace {

double meanOf(const std::vector<double>& values) {
    double sum = 0;
    int count = 0;
    for (const double value : values)
        if (std::isfinite(value)) {
            sum += value;
            ++count;
        }
    return count > 0 ? sum / count : 0;
}

} // namespace

double* placeInSplit(const QString& metric, StepSplit& split) {
    if (metric == QLatin1StringView(spec::metric::kStepTime))
        return &split.step;
    if (metric == QLatin1StringView(spec::metric::kStepCommunication))
        return &split.communication;
    for (std::size_t part = 0; part < split.parts.size(); ++part)
        if (metric == QLatin1StringView(spec::metric::kStepParts[part]))
            return &split.parts[part];
    return nullptr;
}

Result<std::vector<StepSplit>> stepSplits(StoreReader& reader, RunId run) {
    const Result<std::vector<DeviceSeries>> series = reader.deviceSeries(run);
    if (!series)
        return series.error();
    std::map<std::int32_t, StepSplit> byRank;
    for (const DeviceSeries& each : *series) {
        StepSplit unknown;
        if (placeInSplit(each.metric, unknown) == nullptr)
            continue;
        const Result<Points> points = reader.devicePoints(run, each);
        if (!points)
            return points.error();
        StepSplit& split = byRank[each.rank];
        split.rank = each.rank;
        split.device = each.device;
        *placeInSplit(each.metric, split) = meanOf(points->values);
    }
    std::vector<StepSplit> splits;
    for (const auto& [rank, split] : byRank)
        if (split.step > 0)
            splits.push_back(split);
    return splits;
}

} // namespace trainyard::app
