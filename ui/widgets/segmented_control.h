// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A choice of one out of a few, all of them seen: Loss | Learning rate | Gradient norm.
#pragma once

#include "ui/widgets/choice_button.h"

#include <QWidget>

class QHBoxLayout;

namespace trainyard::ui {

class SegmentedControl : public QWidget {
    Q_OBJECT
public:
    /// name: what is chosen here, for screen readers.
    SegmentedControl(const Theme& theme, const QString& name, QWidget* parent = nullptr);

    int addSegment(const QString& text);
    int current() const { return m_group->current(); }
    void setCurrent(int index);
    /// Segments for what there is not at the moment are taken out of the row.
    void setSegmentShown(int index, bool shown);
    QAbstractButton* segment(int index) const { return m_group->button(index); }

signals:
    /// The user chose another segment.
    void chosen(int index);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    ChoiceGroup* m_group;
    QHBoxLayout* m_layout;
};

} // namespace trainyard::ui
