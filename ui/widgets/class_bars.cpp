// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/class_bars.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

constexpr int kBarNameMost = 180;
constexpr int kBarTall = 10;

QString barPercent(double share) {
    return withUnit(formatFixed(100 * share, 1), QStringLiteral("%"));
}

} // namespace

ClassBars::ClassBars(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setObjectName(QStringLiteral("classBars"));
    setAccessibleName(tr("Most likely classes"));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    followTheme(this, theme);
}

void ClassBars::setBars(std::vector<Bar> bars) {
    m_bars = std::move(bars);
    QStringList words;
    for (const Bar& bar : m_bars)
        words << bar.name + u' ' + barPercent(bar.share);
    setAccessibleDescription(words.join(u", "));
    updateGeometry();
    update();
}

int ClassBars::lineHeight() const {
    return m_theme.px(height::kRow);
}

QSize ClassBars::sizeHint() const {
    return {m_theme.px(420), static_cast<int>(m_bars.size()) * lineHeight()};
}

QSize ClassBars::minimumSizeHint() const {
    return {m_theme.px(220), sizeHint().height()};
}

void ClassBars::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const QFontMetrics strong(m_theme.font(TypeStyle::Strong));
    int nameWidth = 0;
    for (const Bar& bar : m_bars)
        nameWidth = std::max(nameWidth, strong.horizontalAdvance(bar.name));
    nameWidth = std::min(nameWidth, m_theme.px(kBarNameMost));
    const NumberFont& numbers = m_theme.numbers(TypeStyle::Body);
    const int figureWidth = static_cast<int>(std::ceil(numbers.width(barPercent(1)))) + 1;
    const int gap = m_theme.px(space::kM);
    const int barLeft = nameWidth + gap;
    const int barWidth = std::max(0, width() - barLeft - gap - figureWidth);
    for (std::size_t i = 0; i < m_bars.size(); ++i) {
        const QRect line(0, static_cast<int>(i) * lineHeight(), width(), lineHeight());
        const QFont& font = m_theme.font(i == 0 ? TypeStyle::Strong : TypeStyle::Body);
        painter.setFont(font);
        painter.setPen(m_theme.color(i == 0 ? Color::Text : Color::Text2));
        painter.drawText(QRect(0, line.top(), nameWidth, line.height()),
                         Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                         QFontMetrics(font).elidedText(m_bars[i].name, Qt::ElideRight, nameWidth));
        const int tall = m_theme.px(kBarTall);
        const QRect track(barLeft, line.center().y() - tall / 2, barWidth, tall);
        painter.fillRect(track, m_theme.color(Color::Pressed));
        painter.fillRect(
            QRect(track.topLeft(),
                  QSize(static_cast<int>(std::lround(barWidth * m_bars[i].share)), tall)),
            m_theme.color(i == 0 ? Color::Accent : Color::Text3));
        painter.setPen(m_theme.color(i == 0 ? Color::Text : Color::Text2));
        numbers.draw(painter, QRectF(width() - figureWidth, line.top(), figureWidth, line.height()),
                     Qt::AlignRight | Qt::AlignVCenter, barPercent(m_bars[i].share));
    }
}

} // namespace trainyard::ui

#include "moc_class_bars.cpp"
