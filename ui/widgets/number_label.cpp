// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The unit stands after a narrow gap on the number's baseline, in the colour of captions.
#include "ui/widgets/number_label.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"

#include <QPainter>

#include <cmath>

namespace trainyard::ui {

namespace {

TypeStyle unitStyle(TypeStyle style) {
    return style == TypeStyle::Figure || style == TypeStyle::Display ? TypeStyle::Small
                                                                     : TypeStyle::Caption;
}

qreal unitWidth(const Theme& theme, TypeStyle style, const QString& unit) {
    return unit.isEmpty() ? 0 : theme.numbers(unitStyle(style)).width(unit) + theme.px(space::kXs);
}

} // namespace

qreal drawNumberWithUnit(QPainter& painter, const Theme& theme, TypeStyle style, const QRectF& rect,
                         Qt::Alignment alignment, const QString& number, const QString& unit,
                         const QColor& numberColor) {
    const NumberFont& numbers = theme.numbers(style);
    const qreal numberWidth = numbers.width(number);
    const qreal total = numberWidth + unitWidth(theme, style, unit);
    const qreal left = alignment & Qt::AlignRight ? rect.right() - total : rect.left();
    painter.setPen(numberColor);
    numbers.draw(painter, QRectF(left, rect.top(), numberWidth, rect.height()),
                 Qt::AlignLeft | Qt::AlignVCenter, number);
    if (!unit.isEmpty()) {
        const NumberFont& small = theme.numbers(unitStyle(style));
        const qreal baseline =
            std::round(rect.center().y() - numbers.height() / 2 + numbers.ascent());
        painter.setPen(theme.color(Color::Text3));
        small.draw(painter,
                   QRectF(left + numberWidth + theme.px(space::kXs), baseline - small.ascent(),
                          total - numberWidth, small.height()),
                   Qt::AlignLeft | Qt::AlignTop, unit);
    }
    return total;
}

NumberLabel::NumberLabel(const Theme& theme, TypeStyle style, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_style(style) {
    setSizePolicy(QSizePolicy::Minimum, QSizePolicy::Fixed);
    followTheme(this, theme);
}

void NumberLabel::setNumber(const QString& text, const QString& unit) {
    if (text == m_number && unit == m_unit)
        return;
    m_number = text;
    m_unit = unit;
    setAccessibleName(text.isEmpty() ? notAvailable() : unit.isEmpty() ? text : text + u' ' + unit);
    updateGeometry();
    update();
}

void NumberLabel::setAlignment(Qt::Alignment alignment) {
    m_alignment = alignment;
    update();
}

void NumberLabel::setStale(bool stale) {
    m_stale = stale;
    update();
}

QSize NumberLabel::sizeHint() const {
    const QString shown = m_number.isEmpty() ? notAvailable() : m_number;
    const qreal width = m_theme.numbers(m_style).width(shown) + unitWidth(m_theme, m_style, m_unit);
    return {static_cast<int>(std::ceil(width)), m_theme.lineHeight(m_style)};
}

void NumberLabel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const bool dim = m_stale || m_number.isEmpty() || !isEnabled();
    drawNumberWithUnit(painter, m_theme, m_style, rect(), m_alignment,
                       m_number.isEmpty() ? notAvailable() : m_number,
                       m_number.isEmpty() ? QString() : m_unit,
                       m_theme.color(dim ? Color::Text3 : Color::Text));
}

} // namespace trainyard::ui

#include "moc_number_label.cpp"
