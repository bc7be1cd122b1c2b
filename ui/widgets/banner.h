// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A banner over a page: says what, where and the number in a sentence, with the cure beside it.
#pragma once

#include <QFrame>

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace trainyard::ui {

class Theme;

class Banner : public QFrame {
    Q_OBJECT
public:
    enum class Kind { Information, Warning, Error, Done };

    Banner(const Theme& theme, Kind kind, QWidget* parent = nullptr);

    void setKind(Kind kind);
    /// title is the short fact and stands in bold; both are plain text.
    void setMessage(const QString& title, const QString& sentence = {});
    /// quiet for what is not the first cure.
    QPushButton* addAction(const QString& text, bool quiet = false);
    /// Shows a closing cross.
    void setDismissable(bool dismissable);
    QString message() const;

signals:
    void dismissed();

private:
    void showIcon();

    const Theme& m_theme;
    Kind m_kind;
    QString m_title;
    QString m_sentence;
    QLabel* m_icon;
    QLabel* m_text;
    QHBoxLayout* m_actions;
    QPushButton* m_close = nullptr;
};

} // namespace trainyard::ui
