// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The tint comes from the style sheet by the "banner" property, the icon from the theme.
#include "ui/widgets/banner.h"

#include "ui/theme/theme.h"
#include "ui/widgets/button.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStyle>

namespace trainyard::ui {

namespace {

struct KindLook {
    const char* property;
    const char* icon;
    State state;
};

KindLook lookOf(Banner::Kind kind) {
    switch (kind) {
    case Banner::Kind::Warning:
        return {"warning", "warning", State::Warning};
    case Banner::Kind::Error:
        return {"error", "error", State::Failed};
    case Banner::Kind::Done:
        return {"done", "finished", State::Finished};
    case Banner::Kind::Information:
        break;
    }
    return {"information", "info", State::Running};
}

} // namespace

Banner::Banner(const Theme& theme, Kind kind, QWidget* parent)
    : QFrame(parent), m_theme(theme), m_kind(kind), m_icon(new QLabel(this)),
      m_text(new QLabel(this)), m_actions(new QHBoxLayout) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(theme.px(space::kL), theme.px(space::kXs), theme.px(space::kL),
                               theme.px(space::kXs));
    layout->setSpacing(theme.px(space::kM));
    layout->addWidget(m_icon);
    layout->addWidget(m_text, 1);
    layout->addLayout(m_actions);
    m_actions->setContentsMargins(0, 0, 0, 0);
    m_actions->setSpacing(theme.px(space::kS));
    m_text->setWordWrap(true);
    m_text->setTextFormat(Qt::RichText);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    setMinimumHeight(theme.px(40));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    connect(&theme, &Theme::themeChanged, this, &Banner::showIcon);
    setKind(kind);
}

void Banner::setKind(Kind kind) {
    m_kind = kind;
    setProperty("banner", QLatin1String(lookOf(kind).property));
    style()->unpolish(this);
    style()->polish(this);
    showIcon();
}

void Banner::showIcon() {
    const KindLook look = lookOf(m_kind);
    const QColor color = m_theme.tone(look.state).text;
    m_icon->setPixmap(m_theme.pixmap(QLatin1String(look.icon), color,
                                     m_theme.px(icon_size::kControl), devicePixelRatioF()));
    // The title takes the colour of the state, the sentence that of text.
    const QString title = QStringLiteral("<span style=\"font-weight:600;color:%1\">%2</span> ")
                              .arg(color.name(), m_title.toHtmlEscaped());
    m_text->setText((m_title.isEmpty() ? QString() : title) + m_sentence.toHtmlEscaped());
}

void Banner::setMessage(const QString& title, const QString& sentence) {
    m_title = title;
    m_sentence = sentence;
    setAccessibleName(message());
    showIcon();
}

QString Banner::message() const {
    return m_sentence.isEmpty() ? m_title
           : m_title.isEmpty()  ? m_sentence
                                : m_title + u' ' + m_sentence;
}

QPushButton* Banner::addAction(const QString& text, bool quiet) {
    QPushButton* button =
        makeButton(m_theme, quiet ? ButtonKind::Quiet : ButtonKind::Normal, text, {}, this);
    const int place = m_close ? m_actions->count() - 1 : m_actions->count();
    m_actions->insertWidget(place, button);
    return button;
}

void Banner::setDismissable(bool dismissable) {
    if (dismissable && !m_close) {
        m_close = makeButton(m_theme, ButtonKind::Icon, tr("Close"), QStringLiteral("close"), this);
        m_actions->addWidget(m_close);
        connect(m_close, &QPushButton::clicked, this, &Banner::dismissed);
    }
    if (m_close)
        m_close->setVisible(dismissable);
}

} // namespace trainyard::ui

#include "moc_banner.cpp"
