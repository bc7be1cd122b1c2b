// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Marks that would lie on one another are drawn once; the tooltip tells all that are near.
#include "ui/plots/event_strip.h"

#include "ui/theme/theme.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

namespace trainyard::ui {

EventStrip::EventStrip(const Theme& theme, TimeAxis& axis, TimeMarks* marks, QWidget* parent)
    : TimelineWidget(theme, axis, parent) {
    setFixedHeight(theme.px(kHeight));
    setFocusPolicy(Qt::NoFocus);
    setMarks(marks);
}

void EventStrip::contentChanged() {
    setAccessibleName(
        tr("Events: %n", nullptr, marks() ? static_cast<int>(marks()->marks().size()) : 0));
    TimelineWidget::contentChanged();
}

void EventStrip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Theme& look = theme();
    painter.fillRect(rect(), look.color(Color::Surface));
    painter.fillRect(0, 0, width(), 1, look.color(Color::Border));
    painter.setFont(look.font(TypeStyle::Caption));
    painter.setPen(look.color(Color::Text3));
    painter.drawText(QRect(look.px(space::kL), 0, look.px(axis().leftGutter()), height()),
                     Qt::AlignVCenter, tr("Events"));
    const QRect area = plotRect();
    drawSpans(painter, area.adjusted(0, 1, 0, 0));
    drawCursor(painter, 0, height());
    if (!marks())
        return;
    const int edge = look.px(icon_size::kInline);
    qreal last = -1e9;
    for (const TimeMark& mark : marks()->marks()) {
        const qreal x = toPixel(mark.x);
        if (x < area.left() || x > area.right() + 1 || x - last < edge - 2)
            continue;
        last = x;
        const std::optional<State> state = markState(mark.kind);
        const QColor color = state ? look.tone(*state).text : look.color(Color::Text2);
        painter.drawPixmap(QPointF(std::round(x) - edge / 2, (height() - edge) / 2),
                           look.pixmap(markIcon(mark.kind), color, edge, devicePixelRatioF()));
    }
}

bool EventStrip::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip || !marks())
        return TimelineWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    QStringList near;
    for (const TimeMark& mark : marks()->marks()) {
        if (std::abs(toPixel(mark.x) - help->pos().x()) <= theme().px(8) && near.size() < 8)
            near << axis().positionText(mark.x) + QLatin1String(": ") + mark.text;
    }
    QToolTip::showText(help->globalPos(), near.join(u'\n'), this);
    return true;
}

} // namespace trainyard::ui

#include "moc_event_strip.cpp"
