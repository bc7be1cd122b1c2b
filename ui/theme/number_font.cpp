// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Digits go into cells; what stands between them (points, signs, units) keeps its own width.
#include "ui/theme/number_font.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

namespace trainyard::ui {

namespace {

bool isDigit(QChar character) {
    return character >= u'0' && character <= u'9';
}

/// Calls take(run, isDigit) for every digit and for every longest run without one.
template <class Take>
void forEachRun(const QString& text, Take take) {
    qsizetype begin = 0;
    while (begin < text.size()) {
        qsizetype end = begin + 1;
        const bool digit = isDigit(text[begin]);
        while (!digit && end < text.size() && !isDigit(text[end]))
            ++end;
        take(text.sliced(begin, end - begin), digit);
        begin = end;
    }
}

} // namespace

NumberFont::NumberFont(const QFont& font) : m_font(font) {
    const QFontMetricsF metrics(font);
    m_height = metrics.height();
    m_ascent = metrics.ascent();
    qreal narrowest = metrics.horizontalAdvance(u'0');
    for (char16_t digit = u'0'; digit <= u'9'; ++digit) {
        const qreal advance = metrics.horizontalAdvance(QChar(digit));
        m_cell = std::max(m_cell, advance);
        narrowest = std::min(narrowest, advance);
    }
    m_uniform = m_cell - narrowest < 0.01;
}

qreal NumberFont::width(const QString& text) const {
    const QFontMetricsF metrics(m_font);
    if (m_uniform)
        return metrics.horizontalAdvance(text);
    qreal total = 0;
    forEachRun(text, [&](const QString& run, bool digit) {
        total += digit ? m_cell : metrics.horizontalAdvance(run);
    });
    return total;
}

void NumberFont::draw(QPainter& painter, const QRectF& rect, Qt::Alignment alignment,
                      const QString& text) const {
    painter.setFont(m_font);
    qreal x = rect.left();
    if (alignment & Qt::AlignRight)
        x = rect.right() - width(text);
    else if (alignment & Qt::AlignHCenter)
        x = rect.center().x() - width(text) / 2;
    qreal baseline = rect.center().y() - m_height / 2 + m_ascent;
    if (alignment & Qt::AlignTop)
        baseline = rect.top() + m_ascent;
    else if (alignment & Qt::AlignBottom)
        baseline = rect.bottom() - m_height + m_ascent;
    baseline = std::round(baseline);
    if (m_uniform) {
        painter.drawText(QPointF(x, baseline), text);
        return;
    }
    const QFontMetricsF metrics(m_font);
    forEachRun(text, [&](const QString& run, bool digit) {
        const qreal advance = metrics.horizontalAdvance(run);
        const qreal inset = digit ? (m_cell - advance) / 2 : 0;
        painter.drawText(QPointF(x + inset, baseline), run);
        x += digit ? m_cell : advance;
    });
}

} // namespace trainyard::ui
