// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/memory_cell.h"

#include "ui/compose/figure_text.h"
#include "ui/theme/theme.h"
#include "ui/widgets/format.h"
#include "ui/widgets/number_label.h"

#include <QCoreApplication>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainyard::ui {

namespace {

constexpr int kLegendWidth = 158;

std::size_t total(const std::vector<MemoryPart>& parts) {
    return std::accumulate(
        parts.begin(), parts.end(), std::size_t{0},
        [](std::size_t sum, const MemoryPart& part) { return sum + part.bytes; });
}

} // namespace

std::vector<MemoryPart> memoryParts(const plan::MemoryByClass& memory) {
    return {{MemoryClass::Parameters, memory.parameters},
            {MemoryClass::Gradients, memory.gradients},
            {MemoryClass::Optimizer, memory.optimizer},
            {MemoryClass::Activations, memory.activations}};
}

QString memoryClassWord(MemoryClass kind) {
    const auto tr = [](const char* word) {
        return QCoreApplication::translate("MemoryClass", word);
    };
    switch (kind) {
    case MemoryClass::Parameters:
        return tr("parameters");
    case MemoryClass::Gradients:
        return tr("gradients");
    case MemoryClass::Optimizer:
        return tr("optimizer");
    case MemoryClass::Activations:
        return tr("activations");
    case MemoryClass::Workspace:
        return tr("workspace");
    case MemoryClass::Foreign:
        return tr("others");
    }
    return {};
}

void drawMemoryBar(QPainter& painter, const Theme& theme, const QRect& rect,
                   const std::vector<MemoryPart>& parts, double whole) {
    painter.fillRect(rect, theme.color(Color::Pressed));
    const double all = std::max(whole, static_cast<double>(total(parts)));
    if (all <= 0)
        return;
    // Edges from running sums, so that rounding leaves no gaps.
    double before = 0;
    int left = rect.left();
    for (const MemoryPart& part : parts) {
        before += static_cast<double>(part.bytes);
        const int right = rect.left() + static_cast<int>(std::lround(rect.width() * before / all));
        if (right > left)
            painter.fillRect(QRect(left, rect.top(), right - left, rect.height()),
                             theme.color(part.kind));
        left = right;
    }
}

MemoryCell::MemoryCell(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    followTheme(this, theme);
    setMemory({}, {});
}

void MemoryCell::setMemory(const std::vector<MemoryPart>& parts, const QString& detail) {
    m_parts = parts;
    const FigureText text =
        parts.empty() ? FigureText() : splitUnit(formatBytes(static_cast<double>(total(parts))));
    m_figure = text.figure;
    m_unit = text.unit;
    m_detail = detail;
    QString sentence =
        tr("Memory per rank: %1 %2").arg(m_figure.isEmpty() ? notAvailable() : m_figure, m_unit);
    for (const MemoryPart& part : parts)
        sentence += u", " + memoryClassWord(part.kind) + u' ' +
                    formatBytes(static_cast<double>(part.bytes));
    setAccessibleName(sentence);
    setAccessibleDescription(detail);
    setToolTip(parts.empty() ? QString() : sentence);
    updateGeometry();
    update();
}

void MemoryCell::setStale(bool stale) {
    m_stale = stale;
    update();
}

int MemoryCell::figureWidth() const {
    const QFontMetrics caption(m_theme.font(TypeStyle::Caption));
    const int figure = static_cast<int>(
        std::ceil(m_theme.numbers(TypeStyle::Figure).width(m_figure) + m_theme.px(space::kXs) +
                  m_theme.numbers(TypeStyle::Small).width(m_unit)));
    return std::max({figure, m_theme.px(112), caption.horizontalAdvance(m_detail) + 2});
}

QSize MemoryCell::sizeHint() const {
    return {figureWidth() + m_theme.px(kLegendWidth) + 3 * m_theme.px(space::kL), m_theme.px(72)};
}

QSize MemoryCell::minimumSizeHint() const {
    return {figureWidth() + 2 * m_theme.px(space::kL), m_theme.px(72)};
}

void MemoryCell::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(width() - 1, 0, 1, height(), m_theme.color(Color::Border));
    const int side = m_theme.px(space::kL);
    const int captionLine = m_theme.lineHeight(TypeStyle::Caption);
    const int figureLine = m_theme.lineHeight(TypeStyle::Figure);
    const int inner = figureWidth();
    int y = (height() - 2 * captionLine - figureLine) / 2;
    painter.setFont(m_theme.font(TypeStyle::Caption));
    painter.setPen(m_theme.color(Color::Text3));
    painter.drawText(QRect(side, y, inner, captionLine), Qt::AlignVCenter, tr("Memory per rank"));
    y += captionLine;
    const bool known = !m_figure.isEmpty();
    drawNumberWithUnit(painter, m_theme, TypeStyle::Figure, QRectF(side, y, inner, figureLine),
                       Qt::AlignLeft | Qt::AlignVCenter, known ? m_figure : notAvailable(), m_unit,
                       m_theme.color(known && !m_stale ? Color::Text : Color::Text3));
    y += figureLine;
    painter.setPen(m_theme.color(Color::Text3));
    painter.setFont(m_theme.font(TypeStyle::Caption));
    painter.drawText(QRect(side, y, inner, captionLine), Qt::AlignVCenter, m_detail);
    const int legend = side + inner + side;
    if (width() >= legend + m_theme.px(kLegendWidth) && !m_parts.empty())
        paintLegend(painter, legend);
}

void MemoryCell::paintLegend(QPainter& painter, int left) const {
    const int line = m_theme.px(15);
    const int wide = m_theme.px(kLegendWidth) - m_theme.px(space::kXs);
    const int bar = m_theme.px(6);
    int y = (height() - bar - m_theme.px(space::kXs) - 4 * line) / 2;
    drawMemoryBar(painter, m_theme, QRect(left, y, wide, bar), m_parts, 0);
    y += bar + m_theme.px(space::kXs);
    const int swatch = m_theme.px(8);
    for (const MemoryPart& part : m_parts) {
        painter.fillRect(QRect(left, y + (line - swatch) / 2, swatch, swatch),
                         m_theme.color(part.kind));
        painter.setPen(m_theme.color(m_stale ? Color::Text3 : Color::Text2));
        painter.setFont(m_theme.font(TypeStyle::Caption));
        const QRect row(left + swatch + m_theme.px(space::kXs), y,
                        wide - swatch - m_theme.px(space::kXs), line);
        painter.drawText(row, Qt::AlignVCenter, memoryClassWord(part.kind));
        m_theme.numbers(TypeStyle::Caption)
            .draw(painter, row, Qt::AlignRight | Qt::AlignVCenter,
                  formatBytes(static_cast<double>(part.bytes)));
        y += line;
    }
}

} // namespace trainyard::ui

#include "moc_memory_cell.cpp"
