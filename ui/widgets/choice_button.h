// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Base of the buttons that stand in a row or column of which one is chosen (rail, segments): one
// Tab stop for all, arrows move and choose, Home and End go to the ends.
#pragma once

#include <QAbstractButton>

#include <vector>

namespace trainyard::ui {

class Theme;

class ChoiceButton : public QAbstractButton {
    Q_OBJECT
public:
    ChoiceButton(const Theme& theme, const QString& text, QWidget* parent);

signals:
    /// The user asked with a key to go by so many places; kToFirst and kToLast go to the ends.
    void moveRequested(int by);

public:
    static constexpr int kToFirst = -1000;
    static constexpr int kToLast = 1000;

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;
    const Theme& theme() const { return m_theme; }

private:
    const Theme& m_theme;
};

/// Keeps one of the buttons chosen and reachable by Tab.
class ChoiceGroup : public QObject {
    Q_OBJECT
public:
    explicit ChoiceGroup(QObject* parent) : QObject(parent) {}

    void add(ChoiceButton* button);
    int count() const { return static_cast<int>(m_buttons.size()); }
    ChoiceButton* button(int index) const { return m_buttons[static_cast<std::size_t>(index)]; }
    int current() const { return m_current; }
    void setCurrent(int index);

signals:
    /// Only for what the user did, not for setCurrent().
    void chosen(int index);

private:
    void move(int from, int by);
    void updateTabStop();

    std::vector<ChoiceButton*> m_buttons;
    int m_current = -1;
};

} // namespace trainyard::ui
