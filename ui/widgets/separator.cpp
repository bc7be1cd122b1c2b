// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The colour is asked at paint time, so a change of scheme needs nothing here.
#include "ui/widgets/separator.h"

#include "ui/theme/theme.h"

#include <QPainter>

namespace trainyard::ui {

Separator::Separator(const Theme& theme, Qt::Orientation orientation, QWidget* parent)
    : QWidget(parent), m_theme(theme) {
    if (orientation == Qt::Horizontal)
        setFixedHeight(1);
    else
        setFixedWidth(1);
    followTheme(this, theme);
}

void Separator::paintEvent(QPaintEvent*) {
    QPainter(this).fillRect(rect(), m_theme.color(Color::Border));
}

} // namespace trainyard::ui

#include "moc_separator.cpp"
