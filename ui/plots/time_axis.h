// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The horizontal axis that charts, events and lanes share: what is seen of it, the cursor, and the
// gutters beside it. One object for all widgets that stand above one another.
#pragma once

#include "ui/plots/ticks.h"

#include <QObject>

#include <optional>

namespace trainyard::ui {

struct AxisRange {
    double low = 0;
    double high = 1;
    double width() const { return high - low; }
    bool operator==(const AxisRange&) const = default;
};

class TimeAxis : public QObject {
    Q_OBJECT
public:
    /// What x counts. Duration is in seconds since the run's own start.
    enum class Unit { Step, Samples, Epoch, Duration };
    Q_ENUM(Unit)

    explicit TimeAxis(QObject* parent = nullptr) : QObject(parent) {}

    Unit unit() const { return m_unit; }
    /// Forgets extent, zoom and cursor: they were in the old unit.
    void setUnit(Unit unit);

    /// Widens the extent of all data; called by the charts as points arrive.
    void include(double x);
    /// Forgets the data; the next include() begins anew.
    void reset();
    AxisRange extent() const { return m_extent.value_or(AxisRange{}); }
    bool hasData() const { return m_extent.has_value(); }

    /// Never empty, never beyond the extent.
    AxisRange visible() const { return m_visible; }
    bool isZoomed() const { return m_zoomed; }
    /// factor below 1 shows less; the anchor stays where it is.
    void zoom(double factor, double anchor);
    void pan(double by);
    void show(AxisRange range);
    void showAll();

    /// While following, a zoomed view keeps its right end at the newest point.
    bool follows() const { return m_follow; }
    void setFollow(bool follow);

    std::optional<double> cursor() const { return m_cursor; }
    void setCursor(std::optional<double> x);

    int leftGutter() const { return m_leftGutter; }
    int rightGutter() const { return m_rightGutter; }
    void setGutters(int left, int right);

    /// Round positions for so many labels at most.
    Ticks ticks(int maxCount) const;
    QString tickText(double x, const Ticks& ticks) const;
    /// For read-outs: "step 8,755", "07:31:12".
    QString positionText(double x) const;
    /// Stands at the end of the axis: "step", "h since start".
    QString unitText(const Ticks& ticks) const;

signals:
    /// By the user or the program: repaint at once.
    void viewChanged();
    /// By new data: repaint when the next frame is due.
    void extended();
    void cursorChanged();
    void followChanged(bool follows);

private:
    void applyView(AxisRange range);

    Unit m_unit = Unit::Step;
    std::optional<AxisRange> m_extent;
    AxisRange m_visible;
    bool m_zoomed = false;
    bool m_follow = true;
    std::optional<double> m_cursor;
    int m_leftGutter = 124;
    int m_rightGutter = 226;
};

} // namespace trainyard::ui
