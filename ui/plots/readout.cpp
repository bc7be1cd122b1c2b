// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The frame is the style sheet's ("readout"), the lines are painted here so that digits stand in
// cells and do not shake while the cursor moves.
#include "ui/plots/readout.h"

#include "ui/theme/theme.h"

#include <QFontMetrics>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

constexpr int kPadding = 10;
constexpr int kLine = 20;
constexpr int kSample = 22;
constexpr int kMostRows = 12;

NumberFont strongNumbers(const Theme& theme) {
    QFont font = theme.font(TypeStyle::Small);
    font.setWeight(QFont::DemiBold);
    return NumberFont(font);
}

} // namespace

Readout::Readout(const Theme& theme, QWidget* parent) : QFrame(parent), m_theme(theme) {
    setProperty("region", QStringLiteral("readout"));
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
    hide();
}

void Readout::setContent(const ReadoutContent& content) {
    if (content == m_content)
        return;
    m_content = content;
    if (m_content.rows.size() > kMostRows)
        m_content.rows.resize(kMostRows);
    QString spoken = m_content.title + u' ' + m_content.subtitle;
    for (const ReadoutRow& row : m_content.rows)
        spoken += QLatin1String(", ") + row.name + u' ' + row.value;
    setAccessibleName(spoken);
    update();
}

QSize Readout::sizeHint() const {
    const QFontMetrics small(m_theme.font(TypeStyle::Small));
    const NumberFont& plain = m_theme.numbers(TypeStyle::Small);
    const NumberFont strong = strongNumbers(m_theme);
    qreal wide = strong.width(m_content.title) + plain.width(m_content.subtitle) +
                 (m_content.subtitle.isEmpty() ? 0 : m_theme.px(space::kL));
    for (const ReadoutRow& row : m_content.rows) {
        const qreal name = std::min(small.horizontalAdvance(row.name), m_theme.px(160));
        const int sample = row.slot ? m_theme.px(kSample) + m_theme.px(space::kS) : 0;
        wide = std::max(wide, sample + name + m_theme.px(space::kL) + strong.width(row.value));
    }
    const int lines = static_cast<int>(m_content.rows.size()) + 1;
    // In steps, so that the box keeps its width while the digits change.
    const int step = m_theme.px(space::kL);
    const int stepped = static_cast<int>(std::ceil(wide / step)) * step;
    return {std::max(m_theme.px(132), stepped) + 2 * m_theme.px(kPadding),
            lines * m_theme.px(kLine) + 2 * m_theme.px(6)};
}

void Readout::placeBeside(qreal x, const QRect& bounds) {
    const QSize size = sizeHint();
    const int gap = m_theme.px(space::kM);
    int left = static_cast<int>(x) + gap;
    if (left + size.width() > bounds.right())
        left = static_cast<int>(x) - gap - size.width();
    left = std::clamp(left, bounds.left(), std::max(bounds.left(), bounds.right() - size.width()));
    setGeometry(QRect(QPoint(left, bounds.top() + m_theme.px(6)), size));
    raise();
    show();
}

void Readout::paintEvent(QPaintEvent* event) {
    QFrame::paintEvent(event);
    QPainter painter(this);
    const NumberFont& plain = m_theme.numbers(TypeStyle::Small);
    const NumberFont strong = strongNumbers(m_theme);
    const int padding = m_theme.px(kPadding);
    const int line = m_theme.px(kLine);
    QRectF row(padding, m_theme.px(6), width() - 2 * padding, line);
    painter.setPen(m_theme.color(Color::Text));
    strong.draw(painter, row, Qt::AlignLeft | Qt::AlignVCenter, m_content.title);
    painter.setPen(m_theme.color(Color::Text3));
    plain.draw(painter, row, Qt::AlignRight | Qt::AlignVCenter, m_content.subtitle);
    for (const ReadoutRow& entry : m_content.rows) {
        row.translate(0, line);
        qreal left = row.left();
        if (entry.slot) {
            QPen pen(m_theme.series(*entry.slot), 2, Qt::SolidLine, Qt::FlatCap);
            QList<qreal> dash;
            for (const int length : tokenDash(*entry.slot))
                dash.append(length / 2.0);
            if (!dash.isEmpty())
                pen.setDashPattern(dash);
            painter.setPen(pen);
            const qreal middle = std::round(row.center().y());
            painter.drawLine(QPointF(left, middle), QPointF(left + m_theme.px(kSample), middle));
            left += m_theme.px(kSample) + m_theme.px(space::kS);
        }
        painter.setPen(m_theme.color(Color::Text));
        strong.draw(painter, row, Qt::AlignRight | Qt::AlignVCenter, entry.value);
        painter.setFont(plain.font());
        painter.setPen(m_theme.color(Color::Text2));
        const qreal room = row.right() - strong.width(entry.value) - m_theme.px(space::kS) - left;
        painter.drawText(
            QRectF(left, row.top(), room, line), Qt::AlignVCenter | Qt::TextSingleLine,
            painter.fontMetrics().elidedText(entry.name, Qt::ElideMiddle, static_cast<int>(room)));
    }
}

} // namespace trainyard::ui

#include "moc_readout.cpp"
