// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Layout first (which values are seen, how high the axis goes), then three layers: grid and labels,
// curves, legend.
#include "ui/plots/plot_scene.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

constexpr int kBottomAxisHeight = 24;
constexpr int kTopMargin = 8;
constexpr int kBottomMargin = 8;

QString tr(const char* text) {
    return QCoreApplication::translate("trainyard::ui::PlotWidget", text);
}

ValueScale scaleFor(const CurveExtent& extent, bool logarithmic) {
    if (logarithmic) {
        double low = extent.emptyPositive() ? 0.1 : extent.lowPositive;
        double high = extent.emptyPositive() ? 1 : extent.high;
        if (high <= low * (1 + 1e-6)) {
            low /= 2;
            high *= 2;
        }
        const double margin = std::pow(high / low, 0.04);
        return {true, low / margin, high * margin};
    }
    double low = extent.empty() ? 0 : extent.low;
    double high = extent.empty() ? 1 : extent.high;
    const bool nonNegative = low >= 0;
    if (high - low <= std::abs(high) * 1e-6) {
        const double room = high == 0 ? 1 : std::abs(high) * 0.1;
        low -= room;
        high += room;
    }
    const double margin = (high - low) * 0.05;
    low -= margin;
    high += margin;
    return {false, nonNegative ? std::max(0.0, low) : low, high};
}

QString legendValue(float value) {
    return formatSignificant(value, 4);
}

} // namespace

void PlotScene::updateSmoothing() {
    for (auto& [id, one] : series) {
        one.smoothed.setWeight(one.options.kind == SeriesKind::Line ? smoothing : 0);
        if (one.visible)
            one.smoothed.update(one.data);
    }
}

bool PlotScene::hasPoints() const {
    return std::any_of(series.begin(), series.end(), [](const auto& entry) {
        return entry.second.visible && !entry.second.data.empty();
    });
}

PlotPainter::PlotPainter(const Theme& theme, const TimeAxis& axis, const PlotScene& scene,
                         QSize size, int left, int right, qreal pixelRatio)
    : m_theme(theme), m_axis(axis), m_scene(scene), m_size(size) {
    const int bottom = theme.px(scene.bottomAxis ? kBottomAxisHeight : kBottomMargin);
    m_area.rect = QRectF(left, theme.px(kTopMargin), std::max(1, size.width() - left - right),
                         std::max(1, size.height() - theme.px(kTopMargin) - bottom));
    m_area.range = axis.visible();
    m_area.pixelRatio = pixelRatio;
    layOutValues();
}

void PlotPainter::layOutValues() {
    CurveExtent all;
    m_hidden = 0;
    bool anyPoint = false;
    for (const auto& [id, one] : m_scene.series) {
        if (!one.visible)
            continue;
        const std::size_t begin = one.data.lowerBound(m_area.range.low);
        const std::size_t end = m_area.seen(one.data).second;
        if (begin >= end)
            continue;
        const CurveExtent extent = one.data.extent(begin, end);
        m_hidden += extent.hidden;
        all.add(extent);
        anyPoint = true;
    }
    if (!m_scene.logarithmic)
        m_hidden = 0;
    m_allHidden = anyPoint && m_scene.logarithmic && all.emptyPositive();
    m_area.values = scaleFor(all, m_scene.logarithmic);
}

Ticks PlotPainter::valueTicks() const {
    const int count = std::max(2, static_cast<int>(m_area.rect.height() / m_theme.px(34)));
    return m_scene.logarithmic ? logTicks(m_area.values.low(), m_area.values.high(), count + 2)
                               : linearTicks(m_area.values.low(), m_area.values.high(), count);
}

void PlotPainter::paintFrame(QPainter& painter) const {
    painter.setRenderHint(QPainter::Antialiasing, false);
    const QRectF& rect = m_area.rect;
    const NumberFont& numbers = m_theme.numbers(TypeStyle::Caption);
    const Ticks across = m_axis.ticks(axisTickCount(m_theme, rect.width()));
    painter.setPen(QPen(m_theme.color(Color::Grid), 1));
    if (m_axis.hasData()) {
        for (const double x : across.values) {
            const qreal pixel = std::floor(m_area.toX(x)) + 0.5;
            painter.drawLine(QPointF(pixel, rect.top()), QPointF(pixel, rect.bottom()));
        }
    }
    qreal lastLabel = 1e9;
    const Ticks up = valueTicks();
    for (const double value : up.values) {
        const qreal y = std::floor(m_area.toY(value)) + 0.5;
        painter.setPen(QPen(m_theme.color(Color::Grid), 1));
        painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y));
        if (lastLabel - y < numbers.height() || (!m_scene.hasPoints() && m_scene.logarithmic))
            continue; // the line stays, the label would touch the one below
        lastLabel = y;
        painter.setPen(m_theme.color(Color::Text3));
        numbers.draw(
            painter,
            QRectF(0, y - numbers.height() / 2, rect.left() - m_theme.px(8), numbers.height()),
            Qt::AlignRight | Qt::AlignVCenter, tickLabel(value, up));
    }
    if (!m_scene.title.isEmpty()) {
        painter.setFont(m_theme.font(TypeStyle::Strong));
        painter.setPen(m_theme.color(Color::Text));
        const QRectF place(m_theme.px(space::kL), rect.top(),
                           rect.left() - m_theme.px(space::kL) - m_theme.px(36),
                           m_theme.lineHeight(TypeStyle::Strong));
        painter.drawText(place, Qt::AlignVCenter | Qt::TextSingleLine,
                         painter.fontMetrics().elidedText(m_scene.title, Qt::ElideRight,
                                                          static_cast<int>(place.width())));
    }
    if (m_scene.bottomAxis && m_axis.hasData())
        paintAxisLabels(painter, m_theme, m_axis, rect, rect.bottom() + m_theme.px(4),
                        m_size.width() - m_theme.px(space::kS));
    if (!m_scene.hasPoints()) {
        painter.setFont(m_theme.font(TypeStyle::Body));
        painter.setPen(m_theme.color(Color::Text3));
        painter.drawText(rect, Qt::AlignCenter,
                         m_scene.emptyText.isEmpty() ? tr("Waits for the first step")
                                                     : m_scene.emptyText);
    }
}

void PlotPainter::paintCurves(QPainter& painter) const {
    painter.save();
    painter.setClipRect(m_area.rect.adjusted(0, -2, 1, 2));
    painter.setFont(m_theme.font(TypeStyle::Small));
    CurvePainter curves(painter, m_area);
    // All raw bands lie under all smoothed curves.
    for (const auto& [id, one] : m_scene.series) {
        if (!one.visible || one.options.kind != SeriesKind::Line)
            continue;
        CurveStyle style{m_theme.series(one.options.slot), 2, tokenDash(one.options.slot)};
        if (one.smoothed.isOn()) {
            style.color.setAlphaF(static_cast<float>(kRawOpacity));
            style.width = 1;
            style.dash = {};
        }
        curves.drawRaw(one.data, style);
    }
    curves.flushBands();
    for (const auto& [id, one] : m_scene.series) {
        if (!one.visible)
            continue;
        const CurveStyle style{m_theme.series(one.options.slot), 2, tokenDash(one.options.slot)};
        if (one.options.kind == SeriesKind::Points) {
            curves.drawRaw(one.data, style);
            curves.drawMarkers(one.data, style.color, m_theme.color(Color::Surface));
        } else if (one.smoothed.isOn()) {
            curves.drawSmoothed(one.data, one.smoothed, style);
        }
    }
    for (const auto& [id, one] : m_scene.series) {
        if (one.visible)
            curves.drawNonFinite(one.data, m_theme.tone(State::Failed).text, m_axis);
    }
    painter.restore();
}

std::vector<LegendEntry> PlotPainter::legend() const {
    std::vector<LegendEntry> entries;
    const bool both = m_scene.series.size() <= 3;
    for (const auto& [id, one] : m_scene.series) {
        if (!one.visible)
            continue;
        const bool smoothed = one.smoothed.isOn();
        const bool any = !one.data.empty();
        const float last = any ? one.data.y(one.data.size() - 1) : 0;
        LegendEntry raw{one.options.name, any ? legendValue(last) : notAvailable(),
                        one.options.slot, smoothed, any && !std::isfinite(last)};
        if (!smoothed || both)
            entries.push_back(raw);
        if (!smoothed)
            continue;
        QString value = notAvailable();
        if (!both && raw.failed)
            value = raw.value; // the mean before it would look as if all were well
        else if (const auto index = one.data.lastFinite(); index && *index < one.smoothed.size())
            value = legendValue(one.smoothed.value(*index));
        const QString name = both ? tr("smoothed %1").arg(formatSignificant(m_scene.smoothing, 2))
                                  : one.options.name;
        entries.push_back({name, value, one.options.slot, false, raw.failed});
    }
    return entries;
}

void PlotPainter::paintLegend(QPainter& painter) const {
    const qreal left = m_area.rect.right() + m_theme.px(14);
    const qreal right = m_size.width() - m_theme.px(space::kL);
    if (!m_scene.legend || right - left < m_theme.px(80))
        return;
    const int line = m_theme.px(22);
    const qreal sample = m_theme.px(22);
    const NumberFont& numbers = m_theme.numbers(TypeStyle::Small);
    NumberFont strong = numbers;
    {
        QFont bold = numbers.font();
        bold.setWeight(QFont::DemiBold);
        strong = NumberFont(bold);
    }
    qreal y = m_area.rect.top() + m_theme.px(2);
    const std::vector<LegendEntry> entries = legend();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const LegendEntry& entry = entries[i];
        const QRectF row(left, y, right - left, line);
        painter.setFont(numbers.font());
        if (y + 2 * line > m_area.rect.bottom() && i + 1 < entries.size()) {
            painter.setPen(m_theme.color(Color::Text3));
            const int more = static_cast<int>(entries.size() - i);
            painter.drawText(
                row, Qt::AlignVCenter,
                QCoreApplication::translate("trainyard::ui::PlotWidget", "%n more", nullptr, more));
            break;
        }
        QPen pen(m_theme.series(entry.slot), entry.raw ? 1 : 2);
        pen.setCapStyle(Qt::FlatCap);
        QList<qreal> dash;
        for (const int length : entry.raw ? std::span<const int>() : tokenDash(entry.slot))
            dash.append(length / 2.0);
        if (!dash.isEmpty())
            pen.setDashPattern(dash);
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setPen(pen);
        const qreal middle = std::floor(row.center().y()) + (entry.raw ? 0.5 : 0);
        painter.drawLine(QPointF(left, middle), QPointF(left + sample, middle));
        painter.setPen(entry.failed ? m_theme.tone(State::Failed).text
                                    : m_theme.color(Color::Text));
        strong.draw(painter, row, Qt::AlignRight | Qt::AlignVCenter, entry.value);
        painter.setFont(numbers.font());
        painter.setPen(m_theme.color(Color::Text2));
        const qreal nameLeft = left + sample + m_theme.px(space::kS);
        const qreal room = right - strong.width(entry.value) - m_theme.px(space::kS) - nameLeft;
        const QString name =
            painter.fontMetrics().elidedText(entry.name, Qt::ElideMiddle, static_cast<int>(room));
        painter.drawText(QRectF(nameLeft, y, room, line), Qt::AlignVCenter | Qt::TextSingleLine,
                         name);
        y += line;
    }
}

void PlotPainter::paintAll(QPainter& painter) const {
    painter.fillRect(QRect(QPoint(0, 0), m_size), m_theme.color(Color::Surface));
    paintFrame(painter);
    paintCurves(painter);
    paintLegend(painter);
}

int axisTickCount(const Theme& theme, qreal width) {
    return std::max(2, static_cast<int>(width / theme.px(48)));
}

void paintAxisLabels(QPainter& painter, const Theme& theme, const TimeAxis& axis,
                     const QRectF& area, qreal top, qreal right) {
    const NumberFont& numbers = theme.numbers(TypeStyle::Caption);
    const Ticks ticks = axis.ticks(axisTickCount(theme, area.width()));
    const int line = theme.lineHeight(TypeStyle::Caption);
    const QString unit = axis.unitText(ticks);
    // In the gutter if there is one; else the unit takes the place of the last labels.
    const qreal unitWidth = numbers.width(unit);
    const bool inGutter = right - area.right() > unitWidth + theme.px(30);
    const qreal limit = inGutter ? right - unitWidth - theme.px(8)
                                 : std::min(right, area.right()) - unitWidth - theme.px(12);
    painter.setPen(theme.color(Color::Text3));
    qreal used = -1e9;
    for (const double x : ticks.values) {
        const QString label = axis.tickText(x, ticks);
        const qreal wide = numbers.width(label);
        const qreal middle =
            area.left() + (x - axis.visible().low) / axis.visible().width() * area.width();
        if (middle - wide / 2 < used || middle + wide / 2 > limit)
            continue;
        used = middle + wide / 2 + theme.px(8);
        numbers.draw(painter, QRectF(middle - wide / 2, top, wide, line),
                     Qt::AlignHCenter | Qt::AlignVCenter, label);
    }
    const qreal unitRight = inGutter ? right : std::min(right, area.right());
    numbers.draw(painter, QRectF(unitRight - unitWidth, top, unitWidth, line),
                 Qt::AlignRight | Qt::AlignVCenter, unit);
}

} // namespace trainyard::ui
