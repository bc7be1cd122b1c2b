// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Square ends: the strip goes from edge to edge of the page.
#include "ui/widgets/progress_strip.h"

#include "ui/theme/theme.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

ProgressStrip::ProgressStrip(const Theme& theme, QWidget* parent)
    : QProgressBar(parent), m_theme(theme) {
    setFixedHeight(kHeight);
    setTextVisible(false);
    setRange(0, 1000);
    setAccessibleName(tr("Progress"));
    followTheme(this, theme);
}

void ProgressStrip::setFraction(double fraction) {
    m_fraction = std::isfinite(fraction) ? std::min(fraction, 1.0) : -1;
    setValue(m_fraction < 0 ? 0 : static_cast<int>(std::lround(m_fraction * 1000)));
    update();
}

void ProgressStrip::setSegments(double segments) {
    m_segments = segments;
    update();
}

void ProgressStrip::setState(State state) {
    m_state = state;
    update();
}

void ProgressStrip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), m_theme.color(Color::Pressed));
    if (m_fraction > 0) {
        const QRectF done(0, 0, std::round(width() * m_fraction), height());
        painter.fillRect(done, m_theme.tone(m_state).solid);
    }
    if (m_segments <= 1 || width() / m_segments < 6)
        return;
    // Only what is done is cut: the rest stays calm.
    for (int i = 1; i < m_segments && i / m_segments < m_fraction; ++i) {
        const int x = static_cast<int>(std::lround(width() * i / m_segments));
        painter.fillRect(x - 1, 0, 2, height(), m_theme.color(Color::Surface));
    }
}

} // namespace trainyard::ui

#include "moc_progress_strip.cpp"
