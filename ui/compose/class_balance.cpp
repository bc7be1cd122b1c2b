// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/class_balance.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"

#include <QPaintEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

constexpr int kClassRowHeight = 26;
constexpr int kBarMost = 360;
constexpr int kClassNameMost = 160;
/// What more classes there are is told by the sentence only.
constexpr std::size_t kRowsMost = 10000;

std::int64_t countOf(const std::vector<std::int64_t>& counts, int row) {
    const auto index = static_cast<std::size_t>(row);
    return index < counts.size() ? counts[index] : 0;
}

} // namespace

/// Left edges and widths, all from the widest texts.
struct ClassBalance::Columns {
    int label = 0, bar = 0, barWidth = 0, training = 0, trainingWidth = 0, validation = 0,
        validationWidth = 0;
};

ClassBalance::ClassBalance(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    followTheme(this, theme);
}

void ClassBalance::setCounts(const std::vector<std::int64_t>& training,
                             const std::vector<std::int64_t>& validation,
                             const std::vector<std::string>& names) {
    m_training = training;
    m_validation = validation;
    m_names = names;
    setAccessibleName(tr("Samples of each class"));
    setAccessibleDescription(sentence());
    updateGeometry();
    update();
}

QString ClassBalance::sentence() const {
    if (m_training.empty())
        return {};
    const auto [least, most] = std::minmax_element(m_training.begin(), m_training.end());
    if (*least == *most)
        return tr("Balanced: each class has %1 training samples.").arg(formatCount(*least));
    return tr("From %1 training samples (class %2) to %3 (class %4).")
        .arg(formatCount(*least), nameOf(static_cast<std::size_t>(least - m_training.begin())),
             formatCount(*most), nameOf(static_cast<std::size_t>(most - m_training.begin())));
}

QString ClassBalance::nameOf(std::size_t row) const {
    return row < m_names.size() ? QString::fromStdString(m_names[row]).simplified()
                                : formatCount(static_cast<qint64>(row));
}

int ClassBalance::rows() const {
    return static_cast<int>(std::min(std::max(m_training.size(), m_validation.size()), kRowsMost));
}

std::int64_t ClassBalance::largest() const {
    std::int64_t most = 1;
    for (const auto* counts : {&m_training, &m_validation})
        for (const std::int64_t count : *counts)
            most = std::max(most, count);
    return most;
}

int ClassBalance::rowHeight() const {
    return m_theme.px(kClassRowHeight);
}

QSize ClassBalance::sizeHint() const {
    return {m_theme.px(480), (rows() + 1) * rowHeight()};
}

QSize ClassBalance::minimumSizeHint() const {
    return {m_theme.px(260), sizeHint().height()};
}

ClassBalance::Columns ClassBalance::columns() const {
    const NumberFont& numbers = m_theme.numbers(TypeStyle::Body);
    const QFontMetrics caption(m_theme.font(TypeStyle::Caption));
    const auto widest = [&](const QString& head, std::int64_t value) {
        return std::max(caption.horizontalAdvance(head),
                        static_cast<int>(std::ceil(numbers.width(formatCount(value)))));
    };
    Columns c;
    const int gap = m_theme.px(space::kL);
    c.label = widest(tr("Class"), static_cast<std::int64_t>(m_training.size()));
    const QFontMetrics body(m_theme.font(TypeStyle::Body));
    for (int row = 0; row < std::min(rows(), static_cast<int>(m_names.size())); ++row)
        c.label = std::max(c.label, body.horizontalAdvance(nameOf(static_cast<std::size_t>(row))));
    c.label = std::min(c.label, m_theme.px(kClassNameMost));
    c.trainingWidth = widest(tr("Training"), largest());
    c.validationWidth = m_validation.empty() ? 0 : widest(tr("Validation"), largest());
    const int counts = c.trainingWidth + gap + (m_validation.empty() ? 0 : c.validationWidth + gap);
    c.bar = c.label + gap;
    c.barWidth = std::min(m_theme.px(kBarMost), width() - c.bar - counts);
    c.training = c.bar + c.barWidth + gap;
    c.validation = c.training + c.trainingWidth + gap;
    return c;
}

void ClassBalance::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    const Columns c = columns();
    const int line = rowHeight();
    painter.setFont(m_theme.font(TypeStyle::Caption));
    painter.setPen(m_theme.color(Color::Text3));
    const auto head = [&](int left, int width, const QString& text,
                          Qt::Alignment side = Qt::AlignRight) {
        painter.drawText(QRect(left, 0, width, line), side | Qt::AlignVCenter, text);
    };
    head(0, c.label, tr("Class"), m_names.empty() ? Qt::AlignRight : Qt::AlignLeft);
    head(c.training, c.trainingWidth, tr("Training"));
    if (!m_validation.empty())
        head(c.validation, c.validationWidth, tr("Validation"));
    // Only the rows that are seen: there may be thousands.
    const int first = std::max(0, event->rect().top() / line - 1);
    const int last = std::min(rows() - 1, event->rect().bottom() / line);
    for (int row = first; row <= last; ++row)
        paintRow(painter, c, row);
}

void ClassBalance::paintRow(QPainter& painter, const Columns& c, int row) const {
    const int line = rowHeight();
    const QRect rect(0, (row + 1) * line, width(), line);
    const std::int64_t training = countOf(m_training, row);
    const std::int64_t validation = countOf(m_validation, row);
    const NumberFont& numbers = m_theme.numbers(TypeStyle::Body);
    const auto number = [&](int left, int width, std::int64_t value, Color color) {
        painter.setPen(m_theme.color(color));
        numbers.draw(painter, QRectF(left, rect.top(), width, line),
                     Qt::AlignRight | Qt::AlignVCenter, formatCount(value));
    };
    if (m_names.empty()) {
        number(0, c.label, row, Color::Text2);
    } else {
        const QFont& font = m_theme.font(TypeStyle::Body);
        painter.setFont(font);
        painter.setPen(m_theme.color(Color::Text2));
        painter.drawText(QRect(0, rect.top(), c.label, line),
                         Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                         QFontMetrics(font).elidedText(nameOf(static_cast<std::size_t>(row)),
                                                       Qt::ElideMiddle, c.label));
    }
    number(c.training, c.trainingWidth, training, training > 0 ? Color::Text : Color::Text3);
    if (!m_validation.empty())
        number(c.validation, c.validationWidth, validation, Color::Text2);
    const auto bar = [&](std::int64_t count, int top, int height, const QColor& color) {
        const double share = static_cast<double>(count) / static_cast<double>(largest());
        const int wide = static_cast<int>(std::lround(c.barWidth * share));
        painter.fillRect(QRect(c.bar, rect.top() + top, std::max(wide, count > 0 ? 1 : 0), height),
                         color);
    };
    const int tall = m_theme.px(8), low = m_validation.empty() ? 0 : m_theme.px(4);
    const int top = (line - tall - low) / 2;
    bar(training, top, tall, m_theme.series(0));
    if (low > 0)
        bar(validation, top + tall, low, m_theme.series(1));
}

} // namespace trainyard::ui

#include "moc_class_balance.cpp"
