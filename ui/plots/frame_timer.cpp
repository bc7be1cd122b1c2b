// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A missed frame is made up for when the widget is shown again.
#include "ui/plots/frame_timer.h"

#include <QEvent>
#include <QWidget>

namespace trainyard::ui {

FrameTimer::FrameTimer(QWidget* widget, std::function<void()> due)
    : QObject(widget), m_widget(widget), m_due(std::move(due)) {
    m_timer.setSingleShot(true);
    m_timer.setInterval(kIntervalMs);
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, &FrameTimer::frameDue);
    widget->installEventFilter(this);
}

void FrameTimer::request() {
    if (!m_timer.isActive())
        m_timer.start();
}

void FrameTimer::frameDue() {
    if (m_widget->isVisible() && !m_widget->window()->isMinimized())
        m_due();
    else
        m_missed = true;
}

bool FrameTimer::eventFilter(QObject* watched, QEvent* event) {
    if (m_missed && (event->type() == QEvent::Show || event->type() == QEvent::Paint)) {
        m_missed = false;
        m_due();
    }
    return QObject::eventFilter(watched, event);
}

} // namespace trainyard::ui

#include "moc_frame_timer.cpp"
