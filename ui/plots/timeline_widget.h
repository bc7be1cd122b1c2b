// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Base of everything that stands on a TimeAxis: same gutters, same cursor, same keys and mouse.
// Dragging pans, the wheel zooms at the pointer, a double click shows all; left and right move the
// cursor a point (Shift: ten), Ctrl+left and right pan, + and - zoom, Home shows all, Esc hides
// the cursor.
#pragma once

#include "ui/plots/frame_timer.h"
#include "ui/plots/time_axis.h"
#include "ui/plots/time_marks.h"

#include <QPointer>
#include <QWidget>

namespace trainyard::ui {

class Theme;

class TimelineWidget : public QWidget {
    Q_OBJECT
public:
    /// Tinted spans behind the data; not owned.
    void setMarks(TimeMarks* marks);
    const TimeMarks* marks() const { return m_marks; }
    TimeAxis& axis() const { return m_axis; }

protected:
    TimelineWidget(const Theme& theme, TimeAxis& axis, QWidget* parent);

    const Theme& theme() const { return m_theme; }
    /// Between the gutters.
    virtual QRect plotRect() const;
    qreal toPixel(double x) const;
    double fromPixel(qreal pixel) const;

    /// Where the cursor goes for a pointer at x.
    virtual double snapped(double x) const { return x; }
    /// By so many points; the default moves by pixels.
    virtual void stepCursor(int points);
    /// Lanes in a scroll area leave the plain wheel to it and zoom with Ctrl.
    virtual bool zoomsOnPlainWheel() const { return false; }
    /// Something but the cursor changed; the next paint must not use anything kept.
    virtual void contentChanged() { update(); }
    /// Repaints with the next frame: for data.
    void scheduleFrame() { m_frames.request(); }

    void drawSpans(QPainter& painter, const QRect& area) const;
    void drawCursor(QPainter& painter, int top, int bottom) const;

    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    const Theme& m_theme;
    TimeAxis& m_axis;
    QPointer<TimeMarks> m_marks;
    FrameTimer m_frames;
    std::optional<qreal> m_dragFrom;
};

/// The slanting hatch for what is unknown, foreign or waiting: 2 px on, 3 px off.
void drawHatch(QPainter& painter, const QRectF& rect, const QColor& color);

} // namespace trainyard::ui
