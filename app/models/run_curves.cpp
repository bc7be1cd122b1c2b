// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/run_curves.h"

#include <algorithm>

namespace trainyard::app {

namespace {

constexpr qint64 kShortestPauseMs = 100;
constexpr qint64 kPausePerCost = 10;

/// The row of `axes` that counts at a time: the last one not after it; -1 before the first.
std::ptrdiff_t rowAt(const Axes& axes, double utcUs) {
    return std::upper_bound(axes.utcUs.begin(), axes.utcUs.end(), utcUs) - axes.utcUs.begin() - 1;
}

} // namespace

RunCurves::RunCurves(RunStore& store, RunId run, QObject* parent)
    : QObject(parent), m_store(store), m_run(run) {
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &RunCurves::refresh);
    connect(&m_store, &RunStore::changed, this, &RunCurves::scheduleRefresh);
    refresh();
}

void RunCurves::scheduleRefresh() {
    if (!m_timer.isActive())
        m_timer.start(static_cast<int>(std::max(kShortestPauseMs, kPausePerCost * m_lastCostMs)));
}

void RunCurves::refresh() {
    m_timer.stop();
    QElapsedTimer cost;
    cost.start();
    const Result<Axes> axes = m_store.reader().axes(m_run);
    if (!axes)
        return; // the list of runs tells what is wrong with the store
    bool grown = readMetrics(*axes);
    grown = readLanes(*axes) || grown;
    grown = readLog() || grown;
    m_lastCostMs = cost.elapsed();
    if (grown)
        emit appended();
}

bool RunCurves::readMetrics(const Axes& axes) {
    const auto series = m_store.reader().seriesOf(m_run);
    if (!series)
        return false;
    bool grown = false;
    for (const SeriesInfo& info : *series) {
        std::int64_t& read = m_read[info.metric];
        Result<Points> points = m_store.reader().points(m_run, info.metric, read);
        if (!points || points->empty())
            continue;
        CurveColumns& columns = m_metrics[info.metric];
        const auto first = static_cast<double>(points->steps.front());
        const bool wentBack = (!columns.steps.empty() && first <= columns.steps.back()) ||
                              !std::is_sorted(points->steps.begin(), points->steps.end());
        if (wentBack) {
            points = m_store.reader().points(m_run, info.metric, 0);
            if (!points)
                continue;
            columns = {};
            read = 0;
            emit restarted();
        }
        read += static_cast<std::int64_t>(points->size());
        const Points line = wentBack ? liveLine(*points).line : std::move(*points);
        const auto append = [&](std::vector<double>& target, const std::vector<double>& more) {
            target.insert(target.end(), more.begin(), more.end());
        };
        append(columns.steps, along(XAxis::Step, line.steps, axes));
        append(columns.epochs, along(XAxis::Epoch, line.steps, axes));
        append(columns.seconds, along(XAxis::Seconds, line.steps, axes));
        append(columns.values, line.values);
        grown = true;
    }
    return grown;
}

bool RunCurves::readLanes(const Axes& axes) {
    const auto series = m_store.reader().deviceSeries(m_run);
    if (!series || axes.utcUs.empty())
        return false;
    bool grown = false;
    for (const DeviceSeries& each : *series) {
        std::int64_t& read = m_readLanes[{each.rank, each.metric}];
        const Result<Points> points = m_store.reader().devicePoints(m_run, each, read);
        if (!points || points->empty())
            continue;
        read += static_cast<std::int64_t>(points->size());
        LaneColumns& lane = m_lanes[each.rank];
        lane.device = each.device;
        grown = true;
        if (each.metric == QLatin1StringView(spec::metric::kMemory))
            lane.memoryBytes = points->values.back();
        lane.split.rank = each.rank;
        if (double* place = placeInSplit(each.metric, lane.split))
            *place = points->values.back();
        if (each.metric != QLatin1StringView(spec::metric::kUtilization))
            continue;
        for (std::size_t i = 0; i < points->size(); ++i) {
            const auto utcUs = static_cast<double>(points->steps[i]);
            const std::ptrdiff_t row = rowAt(axes, utcUs);
            const auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(row, 0));
            lane.seconds.push_back((utcUs - axes.utcUs.front()) * 1e-6);
            lane.steps.push_back(row < 0 ? 0 : static_cast<double>(axes.steps[at]));
            lane.epochs.push_back(row < 0 ? 0 : axes.epochs[at]);
            lane.utilization.push_back(points->values[i]);
        }
    }
    return grown;
}

bool RunCurves::readLog() {
    const std::int64_t last = m_log.empty() ? 0 : m_log.back().id;
    Result<std::vector<LogLine>> lines = m_store.reader().log(m_run, last);
    if (!lines || lines->empty())
        return false;
    m_log.insert(m_log.end(), lines->begin(), lines->end());
    return true;
}

} // namespace trainyard::app

#include "moc_run_curves.cpp"
