// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The labels of the time axis, under everything that stands on it.
#pragma once

#include "ui/plots/timeline_widget.h"

namespace trainyard::ui {

class AxisWidget : public TimelineWidget {
    Q_OBJECT
public:
    static constexpr int kHeight = 26;
    AxisWidget(const Theme& theme, TimeAxis& axis, QWidget* parent = nullptr);

protected:
    bool zoomsOnPlainWheel() const override { return true; }
    void paintEvent(QPaintEvent* event) override;
};

} // namespace trainyard::ui
