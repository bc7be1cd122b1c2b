// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The header of Compose: the experiment's name, the tabs, what can be done with it, and Train with
// the reason why it cannot be pressed beside it.
#pragma once

#include "app/models/problem_list_model.h"

#include <QFrame>

class QAction;
class QLabel;
class QLineEdit;
class QPushButton;

namespace trainyard::ui {

class PageTabs;
class Theme;

/// What the header offers as buttons and the window as menu entries.
struct ComposeActions {
    QAction* start = nullptr;
    QAction* open = nullptr;
    QAction* save = nullptr;
    QAction* saveAs = nullptr;
    QAction* undo = nullptr;
    QAction* redo = nullptr;
    QAction* train = nullptr;
};

class ComposeHeader : public QFrame {
    Q_OBJECT
public:
    ComposeHeader(const Theme& theme, app::ExperimentDocument& document,
                  app::ProblemListModel& problems, const ComposeActions& actions,
                  QWidget* parent = nullptr);

    PageTabs* tabs() const { return m_tabs; }
    QLineEdit* nameField() const { return m_name; }
    QPushButton* trainButton() const { return m_train; }
    /// Why Train is disabled; empty while it is not.
    QString reason() const;
    /// It gives up words before it gives up room.
    QSize minimumSizeHint() const override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void addName();
    void addActions(const ComposeActions& actions);
    QPushButton* addAction(QAction* action, bool iconOnly);
    void refresh();
    /// Leaves out as little as the width demands.
    void fit();
    void leaveOut(int level);
    void fitName(int most);
    void styleName();

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    app::ProblemListModel& m_problems;
    QLineEdit* m_name;
    QWidget* m_dot;
    PageTabs* m_tabs;
    QLabel* m_reason;
    QPushButton* m_train;
    std::vector<std::pair<QPushButton*, QAction*>>
        m_wordy; ///< lose their words when it gets narrow
};

} // namespace trainyard::ui
