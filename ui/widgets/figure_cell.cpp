// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Painted as one piece: three labels in a layout would cost more and line up worse.
#include "ui/widgets/figure_cell.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"
#include "ui/widgets/number_label.h"

#include <QFontMetrics>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

FigureCell::FigureCell(const Theme& theme, const QString& caption, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_caption(caption) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    followTheme(this, theme);
    connect(&theme, &Theme::themeChanged, this, [this] { m_widest = 0; });
    changed();
}

void FigureCell::setCaption(const QString& caption) {
    m_caption = caption;
    m_widest = 0;
    changed();
}

void FigureCell::setFigure(const QString& figure, const QString& unit) {
    if (figure == m_figure && unit == m_unit)
        return;
    m_figure = figure;
    m_unit = unit;
    changed();
}

void FigureCell::setDetail(const QString& detail) {
    if (detail == m_detail)
        return;
    m_detail = detail;
    changed();
}

void FigureCell::setTags(const std::vector<MeshTag>& tags) {
    m_tags = tags;
    changed();
}

void FigureCell::setStale(bool stale) {
    m_stale = stale;
    update();
}

void FigureCell::setSeparator(bool shown) {
    m_separator = shown;
    update();
}

void FigureCell::changed() {
    const int before = m_widest;
    m_widest = std::max(m_widest, contentWidth());
    if (m_widest != before)
        updateGeometry();
    QString value = m_figure.isEmpty() ? notAvailable() : m_figure;
    if (!m_unit.isEmpty())
        value += u' ' + m_unit;
    setAccessibleName(m_caption + QLatin1String(": ") + value);
    setAccessibleDescription(m_detail);
    update();
}

int FigureCell::contentWidth() const {
    const QFontMetrics caption(m_theme.font(TypeStyle::Caption));
    const NumberFont& detail = m_theme.numbers(TypeStyle::Caption);
    qreal figure =
        m_theme.numbers(TypeStyle::Figure).width(m_figure.isEmpty() ? notAvailable() : m_figure);
    if (!m_unit.isEmpty())
        figure += m_theme.px(space::kXs) + m_theme.numbers(TypeStyle::Small).width(m_unit);
    qreal last = detail.width(m_detail);
    if (!m_tags.empty())
        last += meshTagsWidth(m_theme, m_tags) + (m_detail.isEmpty() ? 0 : m_theme.px(space::kS));
    return static_cast<int>(std::ceil(
        std::max({static_cast<qreal>(caption.horizontalAdvance(m_caption)), figure, last})));
}

QSize FigureCell::sizeHint() const {
    const int content = std::max(m_widest, contentWidth());
    return {content + 2 * m_theme.px(space::kL), m_theme.px(kHeight)};
}

QSize FigureCell::minimumSizeHint() const {
    const int figure = static_cast<int>(std::ceil(
        m_theme.numbers(TypeStyle::Figure).width(m_figure.isEmpty() ? notAvailable() : m_figure)));
    return {figure + 2 * m_theme.px(space::kL), m_theme.px(kHeight)};
}

void FigureCell::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (m_separator)
        painter.fillRect(width() - 1, 0, 1, height(), m_theme.color(Color::Border));
    const int side = m_theme.px(space::kL);
    const int captionLine = m_theme.lineHeight(TypeStyle::Caption);
    const int figureLine = m_theme.lineHeight(TypeStyle::Figure);
    const int inner = width() - 2 * side;
    int y = (height() - 2 * captionLine - figureLine) / 2;
    painter.setFont(m_theme.font(TypeStyle::Caption));
    painter.setPen(m_theme.color(Color::Text3));
    const QFontMetrics metrics = painter.fontMetrics();
    painter.drawText(QRect(side, y, inner, captionLine), Qt::AlignVCenter,
                     metrics.elidedText(m_caption, Qt::ElideRight, inner));
    y += captionLine;
    const bool dim = m_stale || m_figure.isEmpty();
    // Where it is narrow the unit goes first, never a part of the number.
    const NumberFont& big = m_theme.numbers(TypeStyle::Figure);
    const NumberFont& medium = m_theme.numbers(TypeStyle::Small);
    const bool unitFits =
        big.width(m_figure) + m_theme.px(space::kXs) + medium.width(m_unit) <= inner + 1;
    drawNumberWithUnit(painter, m_theme, TypeStyle::Figure, QRectF(side, y, inner, figureLine),
                       Qt::AlignLeft, m_figure.isEmpty() ? notAvailable() : m_figure,
                       m_figure.isEmpty() || !unitFits ? QString() : m_unit,
                       m_theme.color(dim ? Color::Text3 : Color::Text));
    y += figureLine;
    paintDetail(painter, QRect(side, y, inner, captionLine));
}

void FigureCell::paintDetail(QPainter& painter, const QRect& rect) const {
    const NumberFont& small = m_theme.numbers(TypeStyle::Caption);
    painter.setFont(small.font());
    painter.setPen(m_theme.color(Color::Text3));
    const int gap = m_detail.isEmpty() ? 0 : m_theme.px(space::kS);
    const int tags = m_tags.empty() ? 0 : meshTagsWidth(m_theme, m_tags) + gap;
    const int room = rect.width() - tags;
    qreal used = small.width(m_detail);
    if (used > room) {
        const QString cut =
            painter.fontMetrics().elidedText(m_detail, Qt::ElideRight, std::max(0, room));
        painter.drawText(rect, Qt::AlignVCenter | Qt::TextSingleLine, cut);
        used = std::max(0, room);
    } else {
        small.draw(painter, rect, Qt::AlignLeft | Qt::AlignVCenter, m_detail);
    }
    if (!m_tags.empty())
        drawMeshTags(painter, m_theme, QRectF(rect).adjusted(used + gap, 0, 0, 0), m_tags);
}

bool FigureCell::event(QEvent* event) {
    const int inner = width() - 2 * m_theme.px(space::kL);
    if (event->type() == QEvent::ToolTip && toolTip().isEmpty() && contentWidth() > inner) {
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(),
                           accessibleName() + u'\n' + m_detail, this);
        return true;
    }
    return QWidget::event(event);
}

} // namespace trainyard::ui

#include "moc_figure_cell.cpp"
