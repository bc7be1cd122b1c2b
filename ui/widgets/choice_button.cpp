// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// QButtonGroup would do the exclusiveness, but leaves the keys to each style.
#include "ui/widgets/choice_button.h"

#include "ui/theme/theme.h"

#include <QKeyEvent>

#include <algorithm>

namespace trainyard::ui {

ChoiceButton::ChoiceButton(const Theme& theme, const QString& text, QWidget* parent)
    : QAbstractButton(parent), m_theme(theme) {
    setText(text);
    setCheckable(true);
    followTheme(this, theme);
}

void ChoiceButton::keyPressEvent(QKeyEvent* event) {
    const bool rightToLeft = layoutDirection() == Qt::RightToLeft;
    switch (event->key()) {
    case Qt::Key_Up:
        emit moveRequested(-1);
        break;
    case Qt::Key_Down:
        emit moveRequested(1);
        break;
    case Qt::Key_Left:
        emit moveRequested(rightToLeft ? 1 : -1);
        break;
    case Qt::Key_Right:
        emit moveRequested(rightToLeft ? -1 : 1);
        break;
    case Qt::Key_Home:
        emit moveRequested(kToFirst);
        break;
    case Qt::Key_End:
        emit moveRequested(kToLast);
        break;
    default:
        QAbstractButton::keyPressEvent(event);
    }
}

void ChoiceButton::enterEvent(QEnterEvent* event) {
    QAbstractButton::enterEvent(event);
    update();
}

void ChoiceButton::leaveEvent(QEvent* event) {
    QAbstractButton::leaveEvent(event);
    update();
}

void ChoiceGroup::add(ChoiceButton* button) {
    const int index = count();
    m_buttons.push_back(button);
    connect(button, &QAbstractButton::clicked, this, [this, index] {
        const bool changed = index != m_current;
        setCurrent(index);
        if (changed)
            emit chosen(index);
    });
    connect(button, &ChoiceButton::moveRequested, this, [this, index](int by) { move(index, by); });
    if (m_current < 0)
        setCurrent(0);
    else
        updateTabStop();
}

void ChoiceGroup::setCurrent(int index) {
    m_current = std::clamp(index, -1, count() - 1);
    for (int i = 0; i < count(); ++i)
        button(i)->setChecked(i == m_current);
    updateTabStop();
}

void ChoiceGroup::move(int from, int by) {
    const int step = by < 0 ? -1 : 1;
    int target = std::clamp(from + by, 0, count() - 1);
    if (by == ChoiceButton::kToFirst || by == ChoiceButton::kToLast) {
        while (target != from && !button(target)->isEnabled())
            target -= step;
    } else {
        while (target >= 0 && target < count() && !button(target)->isEnabled())
            target += step;
    }
    if (target == from || target < 0 || target >= count())
        return;
    setCurrent(target);
    button(target)->setFocus(Qt::TabFocusReason);
    emit chosen(target);
}

void ChoiceGroup::updateTabStop() {
    for (int i = 0; i < count(); ++i) {
        const bool reachable = i == m_current || (m_current < 0 && i == 0);
        button(i)->setFocusPolicy(reachable ? Qt::TabFocus : Qt::NoFocus);
    }
}

} // namespace trainyard::ui

#include "moc_choice_button.cpp"
