// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Gathers the wishes to repaint of fast arriving data into at most 20 frames a second, and into
// none while the widget is hidden. A single-shot timer: nothing runs when nothing arrives.
#pragma once

#include <QObject>
#include <QTimer>

#include <functional>

class QWidget;

namespace trainyard::ui {

class FrameTimer : public QObject {
    Q_OBJECT
public:
    static constexpr int kIntervalMs = 50;

    /// due is called when a frame should be painted.
    FrameTimer(QWidget* widget, std::function<void()> due);

    void request();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void frameDue();

    QWidget* m_widget;
    std::function<void()> m_due;
    QTimer m_timer;
    /// Data came while the widget could not be seen.
    bool m_missed = false;
};

} // namespace trainyard::ui
