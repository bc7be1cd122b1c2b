// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Uses the same label painter as charts that carry their own axis.
#include "ui/plots/axis_widget.h"

#include "ui/plots/plot_scene.h"
#include "ui/theme/theme.h"

#include <QPainter>

namespace trainyard::ui {

AxisWidget::AxisWidget(const Theme& theme, TimeAxis& axis, QWidget* parent)
    : TimelineWidget(theme, axis, parent) {
    setFixedHeight(theme.px(kHeight));
    setFocusPolicy(Qt::NoFocus);
    setAccessibleName(tr("Time axis"));
}

void AxisWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme().color(Color::Surface));
    painter.fillRect(0, 0, width(), 1, theme().color(Color::Border));
    if (axis().hasData())
        paintAxisLabels(painter, theme(), axis(), plotRect(),
                        (height() - theme().lineHeight(TypeStyle::Caption)) / 2.0,
                        width() - theme().px(space::kL));
}

} // namespace trainyard::ui

#include "moc_axis_widget.cpp"
