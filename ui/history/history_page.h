// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// History: all runs as a table; below it the curves of the checked ones over each other, and of the
// chosen one the confusion matrix and its model, to be asked.
#pragma once

#include "app/models/run_list_model.h"
#include "app/run/run_follower.h"

#include <QWidget>

#include <optional>

class QLineEdit;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace trainyard::ui {

class Banner;
class CompareView;
class ConfusionView;
class EmptyState;
class PredictView;
class SegmentedControl;
class TextLabel;
class Theme;

class HistoryPage : public QWidget {
    Q_OBJECT
public:
    HistoryPage(const Theme& theme, app::RunStore& store, app::RunListModel& runs,
                app::RunFollower& follower, const app::LocalLauncher& launcher,
                QWidget* parent = nullptr);

    QTableView& table() { return *m_table; }
    CompareView& compareView() { return *m_compare; }
    ConfusionView& confusionView() { return *m_confusion; }
    PredictView& predictView() { return *m_predict; }

signals:
    void openRequested(trainyard::app::RunId run);
    void cloneRequested(trainyard::app::RunId run);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* makeHeader();
    QWidget* makeTable();
    QWidget* makePanels();
    void showPanel(int panel);
    void updatePanels();
    std::optional<app::RunId> currentRun() const;
    void updateActions();
    void exportCurrent();
    void askToDelete();
    void deleteRun(app::RunId run);
    void toggleCompared();
    void showProblem(const QString& title, const Error& error);

    const Theme& m_theme;
    app::RunStore& m_store;
    app::RunListModel& m_runs;
    app::RunFollower& m_follower;
    const app::LocalLauncher& m_launcher;
    app::RunFilterModel m_filtered;
    QStackedWidget* m_stack;
    TextLabel* m_count;
    QLineEdit* m_filter;
    QPushButton* m_open;
    QPushButton* m_clone;
    QPushButton* m_predictButton;
    QPushButton* m_export;
    QPushButton* m_delete;
    Banner* m_banner;
    QTableView* m_table;
    CompareView* m_compare;
    ConfusionView* m_confusion;
    PredictView* m_predict;
    SegmentedControl* m_panel;
    QStackedWidget* m_panels;
    QStackedWidget* m_panelBars;
};

} // namespace trainyard::ui
