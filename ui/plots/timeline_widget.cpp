// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Mouse and keys are turned into calls of the shared axis; all widgets on it then follow.
#include "ui/plots/timeline_widget.h"

#include "ui/theme/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <cmath>

namespace trainyard::ui {

TimelineWidget::TimelineWidget(const Theme& theme, TimeAxis& axis, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_axis(axis), m_frames(this, [this] { contentChanged(); }) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    connect(&axis, &TimeAxis::viewChanged, this, [this] { contentChanged(); });
    connect(&axis, &TimeAxis::extended, this, [this] { m_frames.request(); });
    connect(&axis, &TimeAxis::cursorChanged, this, qOverload<>(&QWidget::update));
    connect(&theme, &Theme::themeChanged, this, [this] {
        updateGeometry();
        contentChanged();
    });
}

void TimelineWidget::setMarks(TimeMarks* marks) {
    if (m_marks)
        m_marks->disconnect(this);
    m_marks = marks;
    if (marks)
        connect(marks, &TimeMarks::changed, this, [this] { m_frames.request(); });
    contentChanged();
}

QRect TimelineWidget::plotRect() const {
    const int left = m_theme.px(m_axis.leftGutter());
    const int right = m_theme.px(m_axis.rightGutter());
    return QRect(left, 0, std::max(1, width() - left - right), height());
}

qreal TimelineWidget::toPixel(double x) const {
    const QRect area = plotRect();
    const AxisRange range = m_axis.visible();
    return area.left() + (x - range.low) / range.width() * area.width();
}

double TimelineWidget::fromPixel(qreal pixel) const {
    const QRect area = plotRect();
    const AxisRange range = m_axis.visible();
    return range.low + (pixel - area.left()) / area.width() * range.width();
}

void TimelineWidget::stepCursor(int points) {
    const double from = m_axis.cursor().value_or(m_axis.visible().high);
    const AxisRange range = m_axis.visible();
    const double moved = from + points * range.width() / plotRect().width();
    m_axis.setCursor(std::clamp(moved, range.low, range.high));
}

void TimelineWidget::drawSpans(QPainter& painter, const QRect& area) const {
    if (!m_marks)
        return;
    for (const TimeSpan& span : m_marks->spans()) {
        const qreal left = std::max<qreal>(area.left(), toPixel(span.low));
        const qreal right = std::min<qreal>(area.left() + area.width(),
                                            span.high ? toPixel(*span.high) : area.right() + 1);
        if (right <= left)
            continue;
        // At least two pixels: a short pause must not vanish.
        painter.fillRect(QRectF(std::floor(left), area.top(),
                                std::max<qreal>(2, std::round(right - left)), area.height()),
                         m_theme.tone(span.state).tint);
    }
}

void TimelineWidget::drawCursor(QPainter& painter, int top, int bottom) const {
    const std::optional<double> cursor = m_axis.cursor();
    if (!cursor || *cursor < m_axis.visible().low || *cursor > m_axis.visible().high)
        return;
    const qreal x = std::floor(toPixel(*cursor)) + 0.5;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    QPen pen(m_theme.color(Color::Text2), 1);
    pen.setCapStyle(Qt::FlatCap);
    pen.setDashPattern({3, 3});
    // Widgets above one another show one line: the dashes start at the same height of the window.
    pen.setDashOffset(mapTo(window(), QPoint(0, top)).y() % 6);
    painter.setPen(pen);
    painter.drawLine(QPointF(x, top), QPointF(x, bottom));
    painter.restore();
}

void TimelineWidget::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton)
        m_dragFrom = event->position().x();
}

void TimelineWidget::mouseMoveEvent(QMouseEvent* event) {
    const qreal x = event->position().x();
    if (m_dragFrom && event->buttons().testFlag(Qt::LeftButton)) {
        const double by = fromPixel(*m_dragFrom) - fromPixel(x);
        if (by != 0 && m_axis.isZoomed()) {
            m_dragFrom = x;
            m_axis.pan(by);
        }
    }
    const QRect area = plotRect();
    const bool inside = x >= area.left() && x <= area.right() + 1;
    m_axis.setCursor(inside && m_axis.hasData() ? std::optional(snapped(fromPixel(x)))
                                                : std::nullopt);
}

void TimelineWidget::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton)
        m_dragFrom.reset();
}

void TimelineWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton)
        m_axis.showAll();
}

void TimelineWidget::wheelEvent(QWheelEvent* event) {
    const QPoint delta = event->angleDelta();
    const bool zooms = zoomsOnPlainWheel() || event->modifiers().testFlag(Qt::ControlModifier);
    if (!zooms || !m_axis.hasData()) {
        event->ignore();
        return;
    }
    if (event->modifiers().testFlag(Qt::ShiftModifier) ||
        std::abs(delta.x()) > std::abs(delta.y())) {
        const int notches = delta.x() != 0 ? delta.x() : delta.y();
        m_axis.pan(-notches / 120.0 * m_axis.visible().width() * 0.1);
    } else {
        m_axis.zoom(std::pow(0.85, delta.y() / 120.0), fromPixel(event->position().x()));
    }
    event->accept();
}

void TimelineWidget::keyPressEvent(QKeyEvent* event) {
    const bool control = event->modifiers().testFlag(Qt::ControlModifier);
    const int points = event->modifiers().testFlag(Qt::ShiftModifier) ? 10 : 1;
    const AxisRange range = m_axis.visible();
    const double middle = m_axis.cursor().value_or((range.low + range.high) / 2);
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right: {
        const int direction = event->key() == Qt::Key_Left ? -1 : 1;
        if (control)
            m_axis.pan(direction * range.width() * 0.1);
        else
            stepCursor(direction * points);
        break;
    }
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        m_axis.zoom(0.7, middle);
        break;
    case Qt::Key_Minus:
        m_axis.zoom(1 / 0.7, middle);
        break;
    case Qt::Key_Home:
        m_axis.showAll();
        break;
    case Qt::Key_Escape:
        if (!m_axis.cursor()) {
            QWidget::keyPressEvent(event);
            break;
        }
        m_axis.setCursor(std::nullopt);
        break;
    default:
        QWidget::keyPressEvent(event);
    }
}

void TimelineWidget::leaveEvent(QEvent* event) {
    QWidget::leaveEvent(event);
    m_axis.setCursor(std::nullopt);
}

void drawHatch(QPainter& painter, const QRectF& rect, const QColor& color) {
    painter.save();
    painter.setClipRect(rect, Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    QPen pen(color, 2);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    // 5 px from line to line, measured across the slant.
    const qreal step = 5 * std::sqrt(2.0);
    const qreal tall = rect.height();
    for (qreal x = rect.left() - tall; x < rect.right(); x += step)
        painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + tall, rect.top()));
    painter.restore();
}

} // namespace trainyard::ui

#include "moc_timeline_widget.cpp"
