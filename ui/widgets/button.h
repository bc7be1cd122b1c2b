// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Push buttons in the five forms of the design. At most one Primary on a page. Buttons take the
// focus by Tab only, so that a click leaves no ring.
#pragma once

#include <QString>

class QPushButton;
class QWidget;

namespace trainyard::ui {

class Theme;

enum class ButtonKind {
    Normal,
    Primary,
    Quiet,
    Danger,
    Link,
    /// An icon alone: text becomes tooltip and accessible name.
    Icon,
};

/// The icon name may be empty. The caller's layout or parent owns the button.
QPushButton* makeButton(const Theme& theme, ButtonKind kind, const QString& text,
                        const QString& iconName = {}, QWidget* parent = nullptr);

/// Makes a push button or combo box 24 instead of 28 high, for toolbars over charts. Before it is
/// shown.
void setCompact(QWidget* control);

} // namespace trainyard::ui
