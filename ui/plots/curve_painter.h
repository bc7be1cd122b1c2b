// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Turns curves into lines on the screen. Dense data becomes one upright stroke a pixel column from
// its minimum to its maximum, so every spike is drawn; wide pens are drawn as single segments with
// flat or square caps, because QPainter strokes a wide zig-zag polyline some hundred times slower.
#pragma once

#include "ui/plots/band_layer.h"
#include "ui/plots/curve_data.h"
#include "ui/plots/smoothing.h"
#include "ui/plots/time_axis.h"

#include <QColor>
#include <QLineF>
#include <QRectF>

#include <vector>

class QPainter;

namespace trainyard::ui {

class ValueScale {
public:
    ValueScale() = default;
    /// low < high; on a logarithmic scale both above 0.
    ValueScale(bool logarithmic, double low, double high);

    bool logarithmic() const { return m_logarithmic; }
    double low() const { return m_low; }
    double high() const { return m_high; }
    /// 0 at low, 1 at high. On a logarithmic scale value must be above 0.
    double fraction(double value) const;
    /// Some part of the extent can be shown.
    bool shows(const CurveExtent& extent) const {
        return m_logarithmic ? !extent.emptyPositive() : !extent.empty();
    }
    bool shows(float value) const;
    float lowOf(const CurveExtent& extent) const {
        return m_logarithmic ? extent.lowPositive : extent.low;
    }

private:
    bool m_logarithmic = false;
    double m_low = 0;
    double m_high = 1;
    /// In the logarithm where the scale is one.
    double m_origin = 0;
    double m_perUnit = 1;
};

struct PlotArea {
    QRectF rect;
    AxisRange range;
    ValueScale values;
    /// Device pixels for one pixel of rect.
    qreal pixelRatio = 1;

    qreal toX(double x) const {
        return rect.left() + (x - range.low) / range.width() * rect.width();
    }
    qreal toY(double y) const { return rect.bottom() - values.fraction(y) * rect.height(); }
    /// The points to draw, with one neighbour beyond each edge.
    std::pair<std::size_t, std::size_t> seen(const CurveData& data) const;
};

struct CurveStyle {
    QColor color;
    qreal width = 2;
    /// See tokenDash(); empty for solid.
    std::span<const int> dash;
};

class CurvePainter {
public:
    CurvePainter(QPainter& painter, const PlotArea& area) : m_painter(painter), m_area(area) {}

    /// All points, never thinned out. Where they lie closer than one in two pixels no style could
    /// be seen any more: then it is strokes of one pixel, gathered in a layer until flushBands().
    void drawRaw(const CurveData& data, const CurveStyle& style);
    /// At most one point a pixel column; the raw curve behind it holds what that leaves out.
    void drawSmoothed(const CurveData& data, const SmoothedCurve& smoothed,
                      const CurveStyle& style);
    /// Round markers on the points, unless they would touch one another.
    void drawMarkers(const CurveData& data, const QColor& color, const QColor& fill);
    /// A cross where the curve stops being finite, and the words beside the first of them.
    void drawNonFinite(const CurveData& data, const QColor& color, const TimeAxis& axis);

    /// Puts all bands since the last call on the painter.
    void flushBands();

private:
    void collectColumns(const CurveData& data, std::size_t begin, std::size_t end);
    void collectLineColumns(const CurveData& data, std::size_t begin, std::size_t end);
    std::size_t columnCount() const;
    void drawColumnLines(const QColor& color);
    void collectPoints(const CurveData& data, std::size_t begin, std::size_t end);
    void strokeSegments(const CurveStyle& style);
    void addPoint(QPointF point);
    void addGap() { m_last.reset(); }
    void joinStraightRuns();

    QPainter& m_painter;
    const PlotArea& m_area;
    std::vector<QLineF> m_lines;
    /// In device pixels from the area's top left corner.
    std::vector<BandColumn> m_columns;
    std::optional<BandLayer> m_bands;
    std::optional<QPointF> m_last;
};

} // namespace trainyard::ui
