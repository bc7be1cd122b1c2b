// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// On: accent fill, knob at the right. Off: outline and knob in the colour of controls.
#include "ui/widgets/toggle_switch.h"

#include "ui/theme/theme.h"

#include <QPainter>

namespace trainyard::ui {

ToggleSwitch::ToggleSwitch(const Theme& theme, const QString& name, QWidget* parent)
    : QAbstractButton(parent), m_theme(theme) {
    setAccessibleName(name);
    setCheckable(true);
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    followTheme(this, theme);
}

QSize ToggleSwitch::sizeHint() const {
    return {m_theme.px(34), m_theme.px(20)};
}

void ToggleSwitch::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool on = isChecked();
    QRectF body(0, 0, m_theme.px(30), m_theme.px(16));
    body.moveCenter(QRectF(rect()).center());
    const qreal round = body.height() / 2;
    QColor line = m_theme.color(on ? Color::Accent : Color::Control);
    QColor fill = m_theme.color(on ? Color::Accent : Color::Field);
    if (on && underMouse())
        line = fill = m_theme.color(Color::AccentHover);
    else if (underMouse())
        fill = m_theme.color(Color::Hover);
    QColor knob = m_theme.color(on ? Color::OnAccent : Color::Control);
    if (!isEnabled()) {
        line = m_theme.color(Color::Border);
        fill = m_theme.color(Color::Window);
        knob = m_theme.color(Color::Disabled);
    }
    painter.setPen(QPen(line, 1));
    painter.setBrush(fill);
    painter.drawRoundedRect(body.adjusted(0.5, 0.5, -0.5, -0.5), round - 0.5, round - 0.5);
    const qreal size = body.height() - 6;
    const qreal x = on ? body.right() - 3 - size : body.left() + 3;
    painter.setPen(Qt::NoPen);
    painter.setBrush(knob);
    painter.drawEllipse(QRectF(x, body.top() + 3, size, size));
    if (hasFocus())
        drawFocusRing(painter, m_theme, rect(), height() / 2.0 - 1);
}

void ToggleSwitch::enterEvent(QEnterEvent* event) {
    QAbstractButton::enterEvent(event);
    update();
}

void ToggleSwitch::leaveEvent(QEvent* event) {
    QAbstractButton::leaveEvent(event);
    update();
}

} // namespace trainyard::ui

#include "moc_toggle_switch.cpp"
