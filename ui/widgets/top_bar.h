// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The bar over the whole window: mark and menus at the left, the command field in the middle of
// the window, what runs and the bell at the right.
#pragma once

#include "ui/theme/tokens.h"

#include <QAbstractButton>
#include <QFrame>

class QHBoxLayout;
class QLineEdit;
class QMenuBar;

namespace trainyard::ui {

class Theme;

/// Icon and words that lead somewhere, e.g. "1 running"; a count of 0 shows it in grey.
class Ticker : public QAbstractButton {
    Q_OBJECT
public:
    Ticker(const Theme& theme, QString iconName, State state, QWidget* parent = nullptr);

    void setWords(const QString& words, bool active);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    QString m_iconName;
    State m_state;
    bool m_active = false;
};

/// An icon with a small count at its corner.
class BellButton : public QAbstractButton {
    Q_OBJECT
public:
    explicit BellButton(const Theme& theme, QWidget* parent = nullptr);

    void setCount(int count);
    int messageCount() const { return m_count; }
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    int m_count = 0;
};

class TopBar : public QFrame {
    Q_OBJECT
public:
    explicit TopBar(const Theme& theme, QWidget* parent = nullptr);

    QMenuBar* menuBar() const { return m_menus; }
    QLineEdit* commandField() const { return m_command; }
    /// Adds at the right end.
    void addRight(QWidget* widget);

protected:
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    void placeCommandField();

    const Theme& m_theme;
    QMenuBar* m_menus;
    QLineEdit* m_command;
    QHBoxLayout* m_right;
    QWidget* m_rightBox;
};

} // namespace trainyard::ui
