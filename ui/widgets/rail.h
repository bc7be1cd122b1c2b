// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The rail at the left edge of the window: the places with an icon over a word, and actions such
// as Help and Settings at the foot. Keeps exactly one place chosen.
#pragma once

#include "ui/widgets/choice_button.h"

#include <QFrame>

class QVBoxLayout;

namespace trainyard::ui {

class Rail : public QFrame {
    Q_OBJECT
public:
    static constexpr int kWidth = 76;
    static constexpr int kPlaceHeight = 60;

    explicit Rail(const Theme& theme, QWidget* parent = nullptr);

    /// Returns the index of the place.
    int addPlace(const QString& iconName, const QString& word);
    /// A button at the foot that does something and never stays chosen.
    QAbstractButton* addFootAction(const QString& iconName, const QString& word);

    int current() const { return m_group->current(); }
    void setCurrent(int place);
    QAbstractButton* place(int index) const { return m_group->button(index); }
    /// For a new language.
    void setWord(int place, const QString& word);

signals:
    /// The user chose another place.
    void placeChosen(int place);

private:
    const Theme& m_theme;
    ChoiceGroup* m_group;
    QVBoxLayout* m_places;
    QVBoxLayout* m_foot;
};

} // namespace trainyard::ui
