// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The strip of event marks: flag = checkpoint, bars = pause, triangle = warning, thermometer =
// heat, cross = not finite, arrow = resumed. The sentence of a mark is in its tooltip.
#pragma once

#include "ui/plots/timeline_widget.h"

namespace trainyard::ui {

class EventStrip : public TimelineWidget {
    Q_OBJECT
public:
    static constexpr int kHeight = 22;
    EventStrip(const Theme& theme, TimeAxis& axis, TimeMarks* marks, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    void contentChanged() override;
};

} // namespace trainyard::ui
