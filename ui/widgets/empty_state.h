// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What an empty list or page says: an icon, a title, one sentence and at most one button.
#pragma once

#include <QWidget>

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace trainyard::ui {

class Theme;

class EmptyState : public QWidget {
    Q_OBJECT
public:
    enum class Kind { Empty, Failed };

    EmptyState(const Theme& theme, const QString& iconName, QWidget* parent = nullptr);

    void setMessage(const QString& title, const QString& sentence, Kind kind = Kind::Empty);
    /// Adds the button, or renames it. There is only one.
    QPushButton* setButton(const QString& text, const QString& iconName = {}, bool primary = false);

private:
    void showIcon();

    const Theme& m_theme;
    QString m_iconName;
    Kind m_kind = Kind::Empty;
    QLabel* m_icon;
    QLabel* m_title;
    QLabel* m_sentence;
    QVBoxLayout* m_layout;
    QPushButton* m_button = nullptr;
};

} // namespace trainyard::ui
