// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The style sheet paints the buttons by their "kind"; here it is only set.
#include "ui/widgets/button.h"

#include "ui/theme/theme.h"

#include <QPushButton>

namespace trainyard::ui {

namespace {

QString kindName(ButtonKind kind) {
    switch (kind) {
    case ButtonKind::Primary:
        return QStringLiteral("primary");
    case ButtonKind::Quiet:
        return QStringLiteral("quiet");
    case ButtonKind::Danger:
        return QStringLiteral("danger");
    case ButtonKind::Link:
        return QStringLiteral("link");
    case ButtonKind::Icon:
        return QStringLiteral("icon");
    case ButtonKind::Normal:
        break;
    }
    return QStringLiteral("normal");
}

QIcon buttonIcon(const Theme& theme, ButtonKind kind, const QString& name) {
    switch (kind) {
    case ButtonKind::Primary:
        return theme.icon(name, Color::OnAccent);
    case ButtonKind::Danger:
        return theme.icon(name, State::Failed);
    case ButtonKind::Link:
        return theme.icon(name, Color::AccentText);
    case ButtonKind::Quiet:
    case ButtonKind::Icon:
        return theme.icon(name, Color::Text2);
    case ButtonKind::Normal:
        break;
    }
    return theme.icon(name, Color::Text);
}

} // namespace

QPushButton* makeButton(const Theme& theme, ButtonKind kind, const QString& text,
                        const QString& iconName, QWidget* parent) {
    auto* button = new QPushButton(parent);
    button->setProperty("kind", kindName(kind));
    button->setFocusPolicy(Qt::TabFocus);
    if (kind == ButtonKind::Icon) {
        button->setToolTip(text);
        button->setAccessibleName(text);
        button->setFixedWidth(theme.px(height::kControl));
    } else {
        button->setText(text);
    }
    if (!iconName.isEmpty()) {
        button->setIcon(buttonIcon(theme, kind, iconName));
        const int edge = theme.px(icon_size::kControl);
        const int gap = kind == ButtonKind::Icon ? 0 : theme.px(space::kXs);
        button->setIconSize({edge + gap, edge});
    }
    return button;
}

void setCompact(QWidget* control) {
    control->setProperty("compact", true);
}

} // namespace trainyard::ui
