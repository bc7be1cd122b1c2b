// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The list of problems at the foot of Compose: a click or Enter goes to the place, buttons cure.
#pragma once

#include "app/models/problem_list_model.h"
#include "ui/compose/scroll_panel.h"

#include <QFrame>

class QLabel;
class QVBoxLayout;

namespace trainyard::ui {

class Theme;

class ProblemRow : public QFrame {
    Q_OBJECT
public:
    ProblemRow(const Theme& theme, const QModelIndex& problem, QWidget* parent);

signals:
    void visitRequested();
    void cureRequested(int cure);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    const Theme& m_theme;
};

class ProblemList : public ScrollPanel {
    Q_OBJECT
public:
    ProblemList(const Theme& theme, app::ProblemListModel& problems, QWidget* parent = nullptr);

    /// What stands here while there are no problems: what is ready, and what was checked.
    void setReadyText(const QString& title, const QString& detail);
    /// Marks this row with the keyboard.
    void focusRow(int row);

signals:
    void visitRequested(const trainyard::app::ProblemPlace& place);

private:
    void rebuild();

    const Theme& m_theme;
    app::ProblemListModel& m_problems;
    QString m_readyTitle, m_readyDetail;
    std::vector<ProblemRow*> m_rows;
};

} // namespace trainyard::ui
