// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a chart shows, and how it is put on any painter: the screen, a test's image or an SVG file.
// The scene holds no widget and no signal; PlotWidget (plot_widget.h) owns one.
#pragma once

#include "ui/plots/curve_painter.h"
#include "ui/plots/time_marks.h"

#include <QSize>
#include <QString>

#include <map>

namespace trainyard::ui {

class Theme;

enum class SeriesKind {
    Line,
    /// Few points with markers, e.g. validation once an epoch. Never smoothed.
    Points,
};

struct SeriesOptions {
    QString name;
    /// Colour and dash; a run keeps its slot while it is shown.
    int slot = 0;
    SeriesKind kind = SeriesKind::Line;
};

struct PlotSeries {
    SeriesOptions options;
    CurveData data;
    SmoothedCurve smoothed;
    bool visible = true;
};

struct LegendEntry {
    QString name;
    QString value;
    int slot;
    bool raw;
    bool failed;
};

struct PlotScene {
    QString title;
    QString emptyText; ///< instead of curves while there are none; empty: that a step is awaited
    /// In order of adding.
    std::map<int, PlotSeries> series;
    bool logarithmic = false;
    double smoothing = 0;
    bool legend = true;
    /// Labels of the time axis under the chart itself, where no AxisWidget stands below.
    bool bottomAxis = false;

    void updateSmoothing();
    bool hasPoints() const;
};

class PlotPainter {
public:
    /// left and right are the gutters in pixels of the size given.
    PlotPainter(const Theme& theme, const TimeAxis& axis, const PlotScene& scene, QSize size,
                int left, int right, qreal pixelRatio);

    const PlotArea& area() const { return m_area; }
    /// Points in view that the logarithmic axis cannot show.
    std::uint64_t hidden() const { return m_hidden; }
    /// There is something in view, but none of it can be shown.
    bool allHidden() const { return m_allHidden; }

    void paintFrame(QPainter& painter) const;
    void paintCurves(QPainter& painter) const;
    void paintLegend(QPainter& painter) const;
    void paintAll(QPainter& painter) const;
    std::vector<LegendEntry> legend() const;

private:
    void layOutValues();
    Ticks valueTicks() const;

    const Theme& m_theme;
    const TimeAxis& m_axis;
    const PlotScene& m_scene;
    QSize m_size;
    PlotArea m_area;
    std::uint64_t m_hidden = 0;
    bool m_allHidden = false;
};

/// Labels of the axis, drawn below area; used by the chart itself and by AxisWidget.
void paintAxisLabels(QPainter& painter, const Theme& theme, const TimeAxis& axis,
                     const QRectF& area, qreal top, qreal right);
/// So many labels of the axis fit side by side.
int axisTickCount(const Theme& theme, qreal width);

} // namespace trainyard::ui
