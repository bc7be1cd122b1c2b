// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Monitor: one run as it goes on, or as it went: figures, chart, one lane per rank, log, what
// failed.
#pragma once

#include "app/models/run_curves.h"
#include "app/models/run_list_model.h"
#include "app/run/run_follower.h"

#include <QWidget>

#include <memory>
#include <optional>

class QBoxLayout;
class QComboBox;
class QMenu;
class QPushButton;
class QSlider;
class QSplitter;
class QStackedWidget;
class QTimer;

namespace trainyard::ui {

class Banner;
class ConfusionView;
class EmptyState;
class LogView;
class NumberLabel;
class RunCurveView;
class RunHeader;
class SegmentedControl;
class StateChip;
class StepSplitView;
class TextLabel;
class Theme;

class MonitorPage : public QWidget {
    Q_OBJECT
public:
    MonitorPage(const Theme& theme, app::RunStore& store, app::RunListModel& runs,
                app::RunFollower& follower, QWidget* parent = nullptr);

    /// Shows a run of the store.
    void showRun(app::RunId run);
    std::optional<app::RunId> shownRun() const { return m_run; }
    RunCurveView& curveView() { return *m_view; }
    LogView& logView() { return *m_log; }
    ConfusionView& confusionView() { return *m_confusion; }
    StepSplitView& stepSplitView() { return *m_split; }

signals:
    /// The empty page's button.
    void composeRequested();
    void cloneRequested(trainyard::app::RunId run);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QWidget* makeHeader();
    QWidget* makeToolbar();
    QWidget* makeChartControls();
    QWidget* makeBody();
    void connectToolbar();
    void fillRunMenu();
    void update();
    void showChart(int chart);
    void updateCharts();
    void updateHeader(const app::RunRecord& record);
    void updateBanner(const app::RunRecord& record);
    void askToStop();
    app::RunController* controller() const;
    app::RunProgress progressFromStore(const app::RunRecord& record) const;

    const Theme& m_theme;
    app::RunStore& m_store;
    app::RunListModel& m_runs;
    app::RunFollower& m_follower;
    std::optional<app::RunId> m_run;
    plan::Mesh m_mesh; ///< of the run
    std::unique_ptr<app::RunCurves> m_curves;
    QTimer* m_clock;

    QStackedWidget* m_stack;
    EmptyState* m_empty;
    StateChip* m_state;
    TextLabel* m_name;
    TextLabel* m_number;
    QPushButton* m_chooser;
    QMenu* m_runMenu;
    QPushButton* m_clone;
    QPushButton* m_stop;
    RunHeader* m_header;
    Banner* m_banner;
    SegmentedControl* m_metric;
    QSlider* m_smoothing;
    NumberLabel* m_smoothingValue;
    QPushButton* m_logScale;
    QComboBox* m_unit;
    QPushButton* m_follow;
    QSplitter* m_splitter;
    QStackedWidget* m_views; ///< curves, confusion matrix
    QStackedWidget* m_controls;
    RunCurveView* m_view;
    ConfusionView* m_confusion;
    QBoxLayout* m_side; ///< step split and log: one below the other, or side by side at the foot
    StepSplitView* m_split;
    LogView* m_log;
};

} // namespace trainyard::ui
