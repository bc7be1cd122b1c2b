// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The curve fills up to the minimum of each pixel column and strokes from minimum to maximum, so a
// dip of one sample is as visible as a spike.
#include "ui/plots/lane_widget.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

/// Right edges of the columns, counted from the right edge of the widget.
std::vector<int> columnOffsets(const Theme& theme, const std::vector<LaneColumn>& columns) {
    const NumberFont& titles = theme.numbers(TypeStyle::Caption);
    const NumberFont& values = theme.numbers(TypeStyle::Small);
    std::vector<int> offsets(columns.size());
    int offset = theme.px(space::kL);
    for (std::size_t i = columns.size(); i-- > 0;) {
        offsets[i] = offset;
        const qreal wide =
            std::max(titles.width(columns[i].title), values.width(columns[i].widest));
        offset += static_cast<int>(std::ceil(wide)) + theme.px(10);
    }
    return offsets;
}

} // namespace

LaneWidget::LaneWidget(const Theme& theme, TimeAxis& axis, QString name,
                       std::vector<LaneColumn> columns, QWidget* parent)
    : TimelineWidget(theme, axis, parent), m_name(std::move(name)), m_columns(std::move(columns)),
      m_values(m_columns.size()) {
    setAttribute(Qt::WA_OpaquePaintEvent);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    updateAccessible();
}

QSize LaneWidget::sizeHint() const {
    return {400, theme().px(m_compact ? kCompactHeight : kHeight)};
}

void LaneWidget::setTags(const std::vector<MeshTag>& tags) {
    m_tags = tags;
    update();
}

void LaneWidget::setCompact(bool compact) {
    m_compact = compact;
    updateGeometry();
    update();
}

void LaneWidget::setSlot(int slot) {
    m_slot = slot;
    update();
}

void LaneWidget::setEmphasized(bool emphasized) {
    m_emphasized = emphasized;
    update();
}

void LaneWidget::append(double x, float load) {
    m_data.append(x, load);
    axis().include(x);
    scheduleFrame();
}

void LaneWidget::clear() {
    m_data.clear();
    m_unknownFrom.reset();
    m_warning.reset();
    update();
}

void LaneWidget::setValues(const std::vector<LaneValue>& values) {
    if (values == m_values)
        return;
    m_values = values;
    m_values.resize(m_columns.size());
    updateAccessible();
    scheduleFrame();
}

void LaneWidget::setUnknownFrom(std::optional<double> x) {
    m_unknownFrom = x;
    updateAccessible();
    scheduleFrame();
}

void LaneWidget::setWarningSpan(std::optional<AxisRange> span) {
    m_warning = span;
    scheduleFrame();
}

void LaneWidget::updateAccessible() {
    setAccessibleName(m_name);
    QString spoken;
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        const bool known = !m_unknownFrom && !m_values[i].text.isEmpty();
        spoken += m_columns[i].title + u' ' + (known ? m_values[i].text : notAvailable()) +
                  QLatin1String(". ");
    }
    setAccessibleDescription(spoken);
}

void LaneWidget::stepCursor(int points) {
    if (m_data.empty()) {
        TimelineWidget::stepCursor(points);
        return;
    }
    const auto last = static_cast<std::int64_t>(m_data.size()) - 1;
    const auto index =
        static_cast<std::int64_t>(*m_data.nearest(axis().cursor().value_or(axis().visible().high)));
    const std::int64_t target = axis().cursor() ? index + points : index;
    axis().setCursor(m_data.x(static_cast<std::size_t>(std::clamp<std::int64_t>(target, 0, last))));
}

void LaneWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme().color(Color::Surface));
    painter.fillRect(0, height() - 1, width(), 1, theme().color(Color::Border));
    paintName(painter);
    const QRect area = plotRect().adjusted(0, theme().px(3), 0, -theme().px(3));
    painter.save();
    painter.setClipRect(area);
    drawSpans(painter, area);
    paintCurve(painter, area);
    paintUnknown(painter, area);
    painter.restore();
    drawCursor(painter, 0, height());
    paintValues(painter);
    if (hasFocus())
        drawFocusRing(painter, theme(), rect());
}

void LaneWidget::paintName(QPainter& painter) const {
    const int left = theme().px(space::kL);
    const int right = plotRect().left() - theme().px(space::kXs);
    int room = right - left;
    if (!m_tags.empty()) {
        const int wide = meshTagsWidth(theme(), m_tags);
        drawMeshTags(painter, theme(), QRectF(right - wide, 0, wide, height() - 1), m_tags);
        room -= wide + theme().px(space::kXs);
    }
    QFont font = theme().font(TypeStyle::Small);
    font.setWeight(m_emphasized ? QFont::DemiBold : QFont::Normal);
    painter.setFont(font);
    painter.setPen(theme().color(m_emphasized ? Color::Text : Color::Text2));
    painter.drawText(QRect(left, 0, room, height() - 1), Qt::AlignVCenter | Qt::TextSingleLine,
                     painter.fontMetrics().elidedText(m_name, Qt::ElideMiddle, room));
}

void LaneWidget::paintCurve(QPainter& painter, const QRect& area) const {
    const qreal base = area.top() + area.height();
    const auto toY = [&](double load) {
        return base - std::round(std::clamp(load, 0.0, 100.0) / 100 * (area.height() - 1)) - 1;
    };
    const QColor line = theme().series(m_slot);
    QColor fill = line;
    fill.setAlphaF(0.14f);
    const Tone warning = theme().tone(State::Warning);
    std::size_t index = m_data.lowerBound(axis().visible().low);
    if (index > 0)
        --index;
    // Samples come about once a second: until the next one the last one holds.
    bool holds = false;
    qreal held = 0;
    qreal from = area.left();
    for (int x = area.left(); x < area.left() + area.width() && index < m_data.size(); ++x) {
        const std::size_t next = m_data.seek(index, index + 1, fromPixel(x + 1));
        if (next == index)
            continue;
        const CurveExtent extent = m_data.extent(index, next);
        const float newest = m_data.y(next - 1);
        index = next;
        const double middle = fromPixel(x + 0.5);
        const bool warned = m_warning && middle >= m_warning->low && middle <= m_warning->high;
        const QColor under = warned ? warning.tint : fill;
        const QColor over = warned ? warning.solid : line;
        if (holds && x > from) {
            painter.fillRect(QRectF(from, held, x - from, base - held), under);
            painter.fillRect(QRectF(from, held, x - from, 1), over);
        }
        from = x + 1;
        if (!extent.empty()) {
            const qreal top = toY(extent.high), bottom = toY(extent.low);
            const qreal high = holds ? std::min(top, held) : top;
            const qreal low = holds ? std::max(bottom, held) : bottom;
            painter.fillRect(QRectF(x, bottom, 1, base - bottom), under);
            painter.fillRect(QRectF(x, high, 1, low - high + 1), over);
        }
        holds = std::isfinite(newest);
        held = holds ? toY(newest) : 0;
    }
}

void LaneWidget::paintUnknown(QPainter& painter, const QRect& area) const {
    if (!m_unknownFrom)
        return;
    const qreal left = std::max<qreal>(area.left(), toPixel(*m_unknownFrom));
    if (left >= area.right())
        return;
    const QRectF unknown(left, area.top(), area.right() + 1 - left, area.height());
    painter.fillRect(unknown, theme().color(Color::Window));
    drawHatch(painter, unknown, theme().color(Color::BorderStrong));
}

void LaneWidget::paintValues(QPainter& painter) const {
    const NumberFont& plain = theme().numbers(TypeStyle::Small);
    const std::vector<int> offsets = columnOffsets(theme(), m_columns);
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        const LaneValue& value = m_values[i];
        const bool known = !m_unknownFrom && !value.text.isEmpty();
        const QRectF cell(plotRect().right(), 0, width() - offsets[i] - plotRect().right(),
                          height() - 1);
        painter.setPen(!known          ? theme().color(Color::Text3)
                       : value.warning ? theme().tone(State::Warning).text
                                       : theme().color(Color::Text2));
        if (known && value.warning) {
            QFont bold = plain.font();
            bold.setWeight(QFont::DemiBold);
            NumberFont(bold).draw(painter, cell, Qt::AlignRight | Qt::AlignVCenter, value.text);
        } else {
            plain.draw(painter, cell, Qt::AlignRight | Qt::AlignVCenter,
                       known ? value.text : notAvailable());
        }
    }
}

LaneHead::LaneHead(const Theme& theme, const TimeAxis& axis, QString host,
                   std::vector<LaneColumn> columns, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_axis(axis), m_host(std::move(host)),
      m_columns(std::move(columns)) {
    setFixedHeight(theme.px(kHeight));
    setAccessibleName(m_host);
    followTheme(this, theme);
    connect(&axis, &TimeAxis::viewChanged, this, qOverload<>(&QWidget::update));
}

void LaneHead::setTitlesVisible(bool visible) {
    m_titles = visible;
    update();
}

void LaneHead::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), m_theme.color(Color::Window));
    painter.fillRect(0, 0, width(), 1, m_theme.color(Color::Border));
    painter.fillRect(0, height() - 1, width(), 1, m_theme.color(Color::Border));
    QFont font = m_theme.font(TypeStyle::Small);
    font.setWeight(QFont::DemiBold);
    painter.setFont(font);
    painter.setPen(m_theme.color(Color::Text));
    const int left = m_theme.px(space::kL);
    const int plotEnd = width() - m_theme.px(m_axis.rightGutter());
    painter.drawText(QRect(left, 0, plotEnd - left, height()), Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(m_host, Qt::ElideRight, plotEnd - left));
    if (!m_titles)
        return;
    const std::vector<int> offsets = columnOffsets(m_theme, m_columns);
    painter.setPen(m_theme.color(Color::Text3));
    for (std::size_t i = 0; i < m_columns.size(); ++i)
        m_theme.numbers(TypeStyle::Caption)
            .draw(painter, QRectF(plotEnd, 0, width() - offsets[i] - plotEnd, height()),
                  Qt::AlignRight | Qt::AlignVCenter, m_columns[i].title);
}

} // namespace trainyard::ui

#include "moc_lane_widget.cpp"
