// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The tabs of a page: each says by a tick or a count whether something in it is wrong.
#pragma once

#include "ui/widgets/choice_button.h"

#include <QWidget>

class QHBoxLayout;

namespace trainyard::ui {

class PageTab : public ChoiceButton {
    Q_OBJECT
public:
    PageTab(const Theme& theme, const QString& text, QWidget* parent);

    void setProblems(int count);
    int problems() const { return m_problems; }
    /// For narrow windows: less room around the words, and no tick where nothing is wrong.
    void setTight(bool tight, bool withoutTick);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    int markWidth() const;
    int side() const;
    void paintMark(QPainter& painter, int x) const;

    int m_problems = 0;
    bool m_tight = false;
    bool m_tick = true;
};

class PageTabs : public QWidget {
    Q_OBJECT
public:
    /// name: what the tabs belong to, for screen readers.
    PageTabs(const Theme& theme, const QString& name, QWidget* parent = nullptr);

    void addTab(const QString& text);
    int count() const { return m_group->count(); }
    int current() const { return m_group->current(); }
    void setCurrent(int index) { m_group->setCurrent(index); }
    PageTab* tab(int index) const;
    void setTight(bool tight, bool withoutTicks);

signals:
    /// The user chose another tab.
    void chosen(int index);

private:
    const Theme& m_theme;
    ChoiceGroup* m_group;
    QHBoxLayout* m_layout;
};

/// A small count in the colour of failure.
void drawProblemCount(QPainter& painter, const Theme& theme, const QRect& rect, int count);
/// How wide it is.
int problemCountWidth(const Theme& theme, int count);

} // namespace trainyard::ui
