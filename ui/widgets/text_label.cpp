// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A plain QLabel can neither elide nor take its colour from the theme at paint time.
#include "ui/widgets/text_label.h"

#include "ui/theme/theme.h"

#include <QEvent>
#include <QFontMetrics>
#include <QHelpEvent>
#include <QLabel>
#include <QPainter>
#include <QToolTip>

namespace trainyard::ui {

TextLabel::TextLabel(const Theme& theme, TypeStyle style, Color color, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_style(style), m_color(color) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    followTheme(this, theme);
}

void TextLabel::setText(const QString& text) {
    if (text == m_text)
        return;
    m_text = text;
    setAccessibleName(text);
    updateGeometry();
    update();
}

void TextLabel::setColor(Color color) {
    m_color = color;
    update();
}

void TextLabel::setElideMode(Qt::TextElideMode mode) {
    m_elideMode = mode;
    update();
}

void TextLabel::setAlignment(Qt::Alignment alignment) {
    m_alignment = alignment;
    update();
}

QSize TextLabel::sizeHint() const {
    const QFontMetrics metrics(m_theme.font(m_style));
    return {metrics.horizontalAdvance(m_text) + 1, m_theme.lineHeight(m_style)};
}

QSize TextLabel::minimumSizeHint() const {
    const QFontMetrics metrics(m_theme.font(m_style));
    const QString shortest = m_text.left(2) + u'…';
    return {std::min(metrics.horizontalAdvance(shortest), sizeHint().width()),
            m_theme.lineHeight(m_style)};
}

void TextLabel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setFont(m_theme.font(m_style));
    painter.setPen(m_theme.color(isEnabled() ? m_color : Color::Disabled));
    const QString shown = painter.fontMetrics().elidedText(m_text, m_elideMode, width());
    m_elided = shown != m_text;
    painter.drawText(rect(), static_cast<int>(m_alignment) | Qt::TextSingleLine, shown);
}

bool TextLabel::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip && toolTip().isEmpty() && m_elided) {
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), m_text, this);
        return true;
    }
    return QWidget::event(event);
}

TextLabel* makeHeading(const Theme& theme, const QString& text, Color color) {
    auto* label = new TextLabel(theme, TypeStyle::Strong, color);
    label->setText(text);
    return label;
}

QLabel* makeParagraph(const Theme& theme, TypeStyle style, const QString& tone, const QString& text,
                      QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setProperty("tone", tone);
    label->setFont(theme.font(style));
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    QObject::connect(&theme, &Theme::themeChanged, label,
                     [label, &theme, style] { label->setFont(theme.font(style)); });
    return label;
}

} // namespace trainyard::ui

#include "moc_text_label.cpp"
