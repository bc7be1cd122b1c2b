// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Centred in whatever room it gets; the sentence wraps at a readable width.
#include "ui/widgets/empty_state.h"

#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace trainyard::ui {

EmptyState::EmptyState(const Theme& theme, const QString& iconName, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_iconName(iconName), m_icon(new QLabel(this)),
      m_title(makeParagraph(theme, TypeStyle::Strong, {}, {}, this)),
      m_sentence(makeParagraph(theme, TypeStyle::Body, QStringLiteral("text2"), {}, this)),
      m_layout(new QVBoxLayout) {
    auto* row = new QHBoxLayout(this);
    const int margin = theme.px(space::kL);
    row->setContentsMargins(margin, margin, margin, margin);
    row->addStretch(1);
    row->addLayout(m_layout);
    row->addStretch(1);
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(theme.px(space::kXs));
    m_layout->addStretch(1);
    for (QLabel* label : {m_icon, m_title, m_sentence}) {
        label->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
        // A fixed width, so that the wrapped sentence gets the height it needs.
        label->setFixedWidth(theme.px(280));
        m_layout->addWidget(label);
    }
    m_layout->addStretch(1);
    connect(&theme, &Theme::themeChanged, this, &EmptyState::showIcon);
    showIcon();
}

void EmptyState::showIcon() {
    const QColor color =
        m_kind == Kind::Failed ? m_theme.tone(State::Failed).text : m_theme.color(Color::Text3);
    m_icon->setPixmap(
        m_theme.pixmap(m_iconName, color, m_theme.px(icon_size::kEmpty), devicePixelRatioF()));
}

void EmptyState::setMessage(const QString& title, const QString& sentence, Kind kind) {
    m_kind = kind;
    m_title->setText(title);
    m_sentence->setText(sentence);
    setAccessibleName(title);
    setAccessibleDescription(sentence);
    showIcon();
}

QPushButton* EmptyState::setButton(const QString& text, const QString& iconName, bool primary) {
    if (!m_button) {
        m_button = makeButton(m_theme, primary ? ButtonKind::Primary : ButtonKind::Normal, text,
                              iconName, this);
        const int beforeStretch = m_layout->count() - 1;
        m_layout->insertSpacing(beforeStretch, m_theme.px(space::kS));
        m_layout->insertWidget(beforeStretch + 1, m_button, 0, Qt::AlignHCenter);
    }
    m_button->setText(text);
    return m_button;
}

} // namespace trainyard::ui

#include "moc_empty_state.cpp"
