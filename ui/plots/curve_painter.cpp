// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// All coordinates are clamped near the area before they reach QPainter, which has no good answer to
// lines that end millions of pixels outside.
#include "ui/plots/curve_painter.h"

#include "ui/widgets/format.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QPaintEngine>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

/// Cuts a line into its dashes. travelled goes on from segment to segment.
void appendDashes(std::vector<QLineF>& out, const QLineF& line, std::span<const int> dash,
                  qreal& travelled) {
    int period = 0;
    for (const int length : dash)
        period += length;
    const qreal length = line.length();
    qreal at = 0;
    while (at < length) {
        qreal phase = std::fmod(travelled + at, period);
        std::size_t part = 0;
        while (part + 1 < dash.size() && phase >= dash[part])
            phase -= dash[part++];
        const qreal next = std::min(length, at + std::max(0.01, dash[part] - phase));
        if (part % 2 == 0)
            out.emplace_back(line.pointAt(at / length), line.pointAt(next / length));
        at = next;
    }
    travelled += length;
}

} // namespace

ValueScale::ValueScale(bool logarithmic, double low, double high)
    : m_logarithmic(logarithmic), m_low(low), m_high(high),
      m_origin(logarithmic ? std::log(low) : low),
      m_perUnit(1 / (logarithmic ? std::log(high / low) : high - low)) {}

double ValueScale::fraction(double value) const {
    return ((m_logarithmic ? std::log(value) : value) - m_origin) * m_perUnit;
}

bool ValueScale::shows(float value) const {
    return std::isfinite(value) && (!m_logarithmic || value > 0);
}

std::pair<std::size_t, std::size_t> PlotArea::seen(const CurveData& data) const {
    std::size_t begin = data.lowerBound(range.low);
    if (begin > 0)
        --begin;
    std::size_t end = data.lowerBound(range.high);
    // Points with the very x of the right edge belong to it.
    while (end < data.size() && data.x(end) == range.high)
        ++end;
    return {begin, std::min(data.size(), end + 1)};
}

void CurvePainter::addPoint(QPointF point) {
    const qreal margin = 4000;
    point.setX(std::clamp(point.x(), m_area.rect.left() - margin, m_area.rect.right() + margin));
    point.setY(std::clamp(point.y(), m_area.rect.top() - margin, m_area.rect.bottom() + margin));
    if (m_last)
        m_lines.emplace_back(*m_last, point);
    m_last = point;
}

void CurvePainter::collectPoints(const CurveData& data, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
        const float y = data.y(i);
        if (m_area.values.shows(y))
            addPoint({m_area.toX(data.x(i)), m_area.toY(y)});
        else
            addGap();
    }
}

void CurvePainter::collectColumns(const CurveData& data, std::size_t begin, std::size_t end) {
    const qreal ratio = m_area.pixelRatio;
    const std::size_t columns = columnCount();
    const double perColumn = m_area.range.width() / static_cast<double>(columns);
    const std::size_t stride = std::max<std::size_t>(1, (end - begin) / columns);
    const auto row = [&](float y) {
        const qreal pixel = (m_area.toY(y) - m_area.rect.top()) * ratio;
        return static_cast<int>(std::clamp(pixel, -10000.0, 10000.0));
    };
    // Where a column holds many entries of the pyramid, its edges are moved to theirs: by a small
    // part of a pixel, but then no single point need be looked at.
    std::size_t grain = 1;
    while (stride / grain >= CurveData::kFan * CurveData::kFan)
        grain *= CurveData::kFan;
    m_columns.assign(columns, {});
    // The stroke before, as it is in the data; nothing after a gap.
    std::optional<BandColumn> before;
    std::size_t beforeAt = 0;
    for (std::size_t column = 0; column < columns && begin < end; ++column) {
        const double edge = m_area.range.low + perColumn * static_cast<double>(column + 1);
        std::size_t next = end;
        if (column + 1 < columns) {
            next = std::min(end, data.seek(begin, begin + stride, edge));
            next = std::max(begin, next - next % grain);
        }
        if (next == begin)
            continue; // no points here: the line goes on to the next column that has some
        const CurveExtent extent = data.extent(begin, next);
        begin = next;
        if (!m_area.values.shows(extent)) {
            before.reset();
            continue;
        }
        const BandColumn stroke{row(extent.high), row(m_area.values.lowOf(extent)) + 1};
        BandColumn& joined = m_columns[column] = stroke;
        if (before) {
            for (std::size_t hole = beforeAt + 1; hole < column; ++hole)
                m_columns[hole] = {before->bottom - 1, before->bottom};
            // Neighbouring strokes touch, so that the line has no breaks.
            joined.top = std::min(joined.top, before->bottom);
            joined.bottom = std::max(joined.bottom, before->top);
        }
        before = stroke;
        beforeAt = column;
    }
}

std::size_t CurvePainter::columnCount() const {
    return static_cast<std::size_t>(std::lround(m_area.rect.width() * m_area.pixelRatio));
}

/// For a point or so a pixel: what each column sees of the straight lines between the points.
void CurvePainter::collectLineColumns(const CurveData& data, std::size_t begin, std::size_t end) {
    const qreal ratio = m_area.pixelRatio;
    const auto columns = static_cast<double>(columnCount());
    m_columns.assign(columnCount(), {});
    const auto cover = [this](double column, double first, double second) {
        BandColumn& stroke = m_columns[static_cast<std::size_t>(column)];
        const int top = static_cast<int>(std::clamp(std::min(first, second), -10000.0, 10000.0));
        const int bottom =
            static_cast<int>(std::clamp(std::max(first, second), -10000.0, 10000.0)) + 1;
        const bool fresh = stroke.bottom <= stroke.top;
        stroke.top = fresh ? top : std::min(stroke.top, top);
        stroke.bottom = fresh ? bottom : std::max(stroke.bottom, bottom);
    };
    std::optional<QPointF> before;
    for (std::size_t i = begin; i < end; ++i) {
        const float value = data.y(i);
        if (!m_area.values.shows(value)) {
            before.reset();
            continue;
        }
        const QPointF point((m_area.toX(data.x(i)) - m_area.rect.left()) * ratio,
                            (m_area.toY(value) - m_area.rect.top()) * ratio);
        const QPointF from = before.value_or(point);
        before = point;
        const double width = point.x() - from.x();
        const auto rowAt = [&](double x) {
            return width > 0 ? from.y() + (point.y() - from.y()) * (x - from.x()) / width
                             : point.y();
        };
        const double last = std::min(std::floor(point.x()), columns - 1);
        for (double column = std::max(0.0, std::floor(from.x())); column <= last; ++column) {
            const bool upright = width <= 0;
            cover(column, upright ? from.y() : rowAt(std::max(column, from.x())),
                  rowAt(std::min(column + 1, point.x())));
        }
    }
}

void CurvePainter::drawRaw(const CurveData& data, const CurveStyle& style) {
    const auto [begin, end] = m_area.seen(data);
    if (begin >= end)
        return;
    const double perPixel = static_cast<double>(end - begin) / m_area.rect.width();
    if (perPixel <= 0.5) {
        m_lines.clear();
        addGap();
        collectPoints(data, begin, end);
        strokeSegments(style);
        return;
    }
    if (perPixel <= 2 * m_area.pixelRatio)
        collectLineColumns(data, begin, end);
    else
        collectColumns(data, begin, end);
    const QPaintEngine* engine = m_painter.paintEngine();
    if (!engine || engine->type() != QPaintEngine::Raster) {
        drawColumnLines(style.color); // a file wants lines, not pixels
        return;
    }
    if (!m_bands)
        m_bands.emplace((m_area.rect.size() * m_area.pixelRatio).toSize());
    m_bands->add(m_columns, style.color);
}

void CurvePainter::drawColumnLines(const QColor& color) {
    const qreal pixel = 1 / m_area.pixelRatio;
    m_lines.clear();
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        if (m_columns[i].bottom <= m_columns[i].top)
            continue;
        const qreal x = m_area.rect.left() + (static_cast<qreal>(i) + 0.5) * pixel;
        m_lines.emplace_back(x, m_area.rect.top() + m_columns[i].top * pixel, x,
                             m_area.rect.top() + m_columns[i].bottom * pixel);
    }
    m_painter.setPen(QPen(color, pixel, Qt::SolidLine, Qt::FlatCap));
    m_painter.drawLines(m_lines.data(), static_cast<int>(m_lines.size()));
}

void CurvePainter::flushBands() {
    if (!m_bands)
        return;
    m_painter.drawImage(m_area.rect, m_bands->image());
    m_bands.reset();
}

void CurvePainter::drawSmoothed(const CurveData& data, const SmoothedCurve& smoothed,
                                const CurveStyle& style) {
    auto [begin, end] = m_area.seen(data);
    end = std::min(end, smoothed.size());
    if (begin >= end)
        return;
    m_lines.clear();
    addGap();
    const double columns = m_area.rect.width();
    const double perColumn = m_area.range.width() / columns;
    const bool dense = static_cast<double>(end - begin) > columns;
    const auto stride = static_cast<std::size_t>(static_cast<double>(end - begin) / columns);
    const std::size_t block = SmoothedCurve::kBlock;
    const bool far = stride >= 4 * block;
    while (begin < end) {
        // [begin, next) are the points of one pixel column, or a single one.
        std::size_t next = begin + 1;
        if (dense) {
            const double column = std::floor((data.x(begin) - m_area.range.low) / perColumn);
            const double edge = m_area.range.low + (column + 1) * perColumn;
            next = std::clamp(data.seek(begin, begin + stride, edge), begin + 1, end);
        }
        std::size_t index = next - 1;
        float y = 0;
        // From far away a small part of a pixel to the left is as good, and near in memory.
        if (far && next >= begin + block) {
            index -= next % block;
            y = smoothed.blockEnd(index / block);
        } else {
            y = smoothed.value(index);
        }
        if (m_area.values.shows(y))
            addPoint({m_area.toX(data.x(index)), m_area.toY(y)});
        else
            addGap();
        begin = next;
    }
    joinStraightRuns();
    strokeSegments(style);
}

/// Joins neighbouring segments while the points between them lie within a quarter of a pixel of
/// the straight line: a smooth curve is some dozen segments instead of one a pixel.
void CurvePainter::joinStraightRuns() {
    constexpr qreal kTolerance = 0.25;
    std::size_t kept = 0;
    qreal least = 0, most = 0;
    for (std::size_t i = 0; i < m_lines.size(); ++i) {
        const QLineF line = m_lines[i];
        const bool joins = kept > 0 && m_lines[kept - 1].p2() == line.p1() && line.dx() > 0;
        if (joins) {
            QLineF& run = m_lines[kept - 1];
            const qreal dx = line.x2() - run.x1();
            const qreal slope = (line.y2() - run.y1()) / dx;
            if (slope >= least && slope <= most) {
                run.setP2(line.p2());
                // The cone from the run's start in which all its points are near enough.
                least = std::max(least, (line.y2() - kTolerance - run.y1()) / dx);
                most = std::min(most, (line.y2() + kTolerance - run.y1()) / dx);
                continue;
            }
        }
        m_lines[kept++] = line;
        const qreal dx = std::max(1e-9, line.dx());
        least = (line.dy() - kTolerance) / dx;
        most = (line.dy() + kTolerance) / dx;
    }
    m_lines.resize(kept);
}

void CurvePainter::strokeSegments(const CurveStyle& style) {
    QPen pen(style.color, style.width);
    pen.setCapStyle(style.width > 1 && style.dash.empty() && style.color.alpha() == 255
                        ? Qt::SquareCap
                        : Qt::FlatCap);
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(pen);
    if (!style.dash.empty()) {
        std::vector<QLineF> dashes;
        qreal travelled = 0;
        for (const QLineF& line : m_lines)
            appendDashes(dashes, line, style.dash, travelled);
        m_lines.swap(dashes);
    }
    m_painter.drawLines(m_lines.data(), static_cast<int>(m_lines.size()));
}

void CurvePainter::drawMarkers(const CurveData& data, const QColor& color, const QColor& fill) {
    const auto [begin, end] = m_area.seen(data);
    if (begin >= end || static_cast<double>(end - begin) > m_area.rect.width() / 10)
        return;
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(color, 1.5));
    m_painter.setBrush(fill);
    for (std::size_t i = begin; i < end; ++i) {
        if (m_area.values.shows(data.y(i)))
            m_painter.drawEllipse(QPointF(m_area.toX(data.x(i)), m_area.toY(data.y(i))), 2.75,
                                  2.75);
    }
}

void CurvePainter::drawNonFinite(const CurveData& data, const QColor& color, const TimeAxis& axis) {
    const auto runs = data.nonFiniteRuns();
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(color, 2, Qt::SolidLine, Qt::FlatCap));
    qreal lastX = -1e9;
    bool named = false;
    for (const NonFiniteRun& run : runs) {
        const double at = data.x(run.begin);
        const qreal x = m_area.toX(at);
        // One mark a few pixels is enough to say that there is something.
        if (at < m_area.range.low || at > m_area.range.high || x - lastX < 6)
            continue;
        lastX = x;
        const bool hasBefore = run.begin > 0 && m_area.values.shows(data.y(run.begin - 1));
        qreal y = hasBefore ? m_area.toY(data.y(run.begin - 1)) : m_area.rect.bottom() - 8;
        y = std::clamp(y, m_area.rect.top() + 6, m_area.rect.bottom() - 6);
        const qreal arm = 4;
        m_painter.drawLine(QPointF(x - arm, y - arm), QPointF(x + arm, y + arm));
        m_painter.drawLine(QPointF(x - arm, y + arm), QPointF(x + arm, y - arm));
        if (named)
            continue;
        named = true;
        const QString words = QCoreApplication::translate("trainyard::ui::CurvePainter", "%1 at %2")
                                  .arg(formatFixed(data.y(run.begin), 0), axis.positionText(at));
        const qreal wide = QFontMetrics(m_painter.font()).horizontalAdvance(words);
        const bool fits = x + 10 + wide < m_area.rect.right();
        const QRectF place(fits ? x + 10 : x - 10 - wide, y - 10, wide, 20);
        m_painter.drawText(place, Qt::AlignVCenter | Qt::TextSingleLine, words);
    }
}

} // namespace trainyard::ui
