// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// States: not zoomed (the whole extent is seen) or zoomed; zoomed and following, or zoomed and
// standing still. Moving the view away from the newest point ends following.
#include "ui/plots/time_axis.h"

#include "ui/widgets/format.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

/// A single point needs some room around it.
AxisRange widened(AxisRange range) {
    if (range.high > range.low)
        return range;
    return {range.low, range.low + 1};
}

} // namespace

void TimeAxis::setUnit(Unit unit) {
    if (unit == m_unit)
        return;
    m_unit = unit;
    reset();
}

void TimeAxis::include(double x) {
    if (!std::isfinite(x))
        return;
    const AxisRange before = extent();
    if (!m_extent)
        m_extent = AxisRange{x, x};
    else if (x >= before.low && x <= before.high)
        return;
    m_extent->low = std::min(m_extent->low, x);
    m_extent->high = std::max(m_extent->high, x);
    if (!m_zoomed)
        m_visible = widened(*m_extent);
    else if (m_follow)
        m_visible = {m_extent->high - m_visible.width(), m_extent->high};
    emit extended();
}

void TimeAxis::reset() {
    m_extent.reset();
    m_visible = {};
    m_zoomed = false;
    m_cursor.reset();
    emit viewChanged();
    emit cursorChanged();
}

void TimeAxis::applyView(AxisRange range) {
    const AxisRange all = widened(extent());
    // Below this, neighbouring pixels would no longer be different numbers.
    const double least = std::max(all.width() * 1e-7, 1e-9);
    const double width = std::clamp(range.width(), least, all.width());
    double low = range.low + (range.width() - width) / 2;
    low = std::clamp(low, all.low, all.high - width);
    m_visible = {low, low + width};
    m_zoomed = width < all.width() * (1 - 1e-9);
    if (m_zoomed && m_follow && m_visible.high < all.high - width * 1e-6)
        setFollow(false);
    emit viewChanged();
}

void TimeAxis::zoom(double factor, double anchor) {
    applyView(
        {anchor + (m_visible.low - anchor) * factor, anchor + (m_visible.high - anchor) * factor});
}

void TimeAxis::pan(double by) {
    applyView({m_visible.low + by, m_visible.high + by});
}

void TimeAxis::show(AxisRange range) {
    applyView(range);
}

void TimeAxis::showAll() {
    applyView(widened(extent()));
}

void TimeAxis::setFollow(bool follow) {
    if (follow == m_follow)
        return;
    m_follow = follow;
    if (follow && m_zoomed) {
        const double high = widened(extent()).high;
        m_visible = {high - m_visible.width(), high};
        emit viewChanged();
    }
    emit followChanged(follow);
}

void TimeAxis::setCursor(std::optional<double> x) {
    if (x == m_cursor)
        return;
    m_cursor = x;
    emit cursorChanged();
}

void TimeAxis::setGutters(int left, int right) {
    m_leftGutter = left;
    m_rightGutter = right;
    emit viewChanged();
}

Ticks TimeAxis::ticks(int maxCount) const {
    if (m_unit == Unit::Duration)
        return durationTicks(m_visible.low, m_visible.high, maxCount);
    Ticks ticks = linearTicks(m_visible.low, m_visible.high, maxCount);
    if (m_unit != Unit::Epoch && ticks.step > 0 && ticks.step < 1) {
        // There are no half steps.
        std::erase_if(ticks.values, [](double value) { return value != std::round(value); });
        ticks.step = 1;
    }
    return ticks;
}

QString TimeAxis::tickText(double x, const Ticks& ticks) const {
    return m_unit == Unit::Duration ? durationLabel(x, ticks.step) : tickLabel(x, ticks);
}

QString TimeAxis::positionText(double x) const {
    switch (m_unit) {
    case Unit::Step:
        return tr("step %1").arg(formatCount(std::llround(x)));
    case Unit::Samples:
        return tr("%1 samples").arg(formatCompact(x));
    case Unit::Epoch:
        return tr("epoch %1").arg(formatFixed(x, 2));
    case Unit::Duration:
        break;
    }
    const qint64 total = std::llround(x);
    return QStringLiteral("%1:%2:%3")
        .arg(total / 3600, 2, 10, QLatin1Char('0'))
        .arg(total / 60 % 60, 2, 10, QLatin1Char('0'))
        .arg(total % 60, 2, 10, QLatin1Char('0'));
}

QString TimeAxis::unitText(const Ticks& ticks) const {
    switch (m_unit) {
    case Unit::Step:
        return tr("step");
    case Unit::Samples:
        return tr("samples seen");
    case Unit::Epoch:
        return tr("epoch");
    case Unit::Duration:
        break;
    }
    return ticks.step < 1    ? tr("s since start")
           : ticks.step < 60 ? tr("min since start")
                             : tr("h since start");
}

} // namespace trainyard::ui

#include "moc_time_axis.cpp"
