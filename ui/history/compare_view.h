// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The curves of several runs over each other: one metric, against step, epoch, samples or time.
// Whoever shows it gives its toolbar a place.
#pragma once

#include "app/models/run_list_model.h"
#include "ui/plots/plot_widget.h"

#include <QWidget>

#include <map>

class QComboBox;
class QPushButton;
class QSlider;

namespace trainyard::ui {

class NumberLabel;
class Theme;

class CompareView : public QWidget {
    Q_OBJECT
public:
    CompareView(const Theme& theme, app::RunStore& store, app::RunListModel& runs,
                QWidget* parent = nullptr);

    /// Not part of this widget's layout.
    QWidget* toolbar() const { return m_toolbar; }
    PlotWidget& plot() { return *m_plot; }
    /// What is drawn of a run; null while it is not compared.
    const CurveData* curve(app::RunId run) const;
    /// Reads the compared runs anew.
    void reload();
    void offerMetrics();

private:
    QWidget* makeToolbar();
    QString metric() const;
    app::XAxis xAxis() const;

    const Theme& m_theme;
    app::RunStore& m_store;
    app::RunListModel& m_runs;
    TimeAxis m_axis;
    PlotWidget* m_plot;
    QWidget* m_toolbar;
    std::map<app::RunId, PlotWidget::SeriesId> m_series;
    QComboBox* m_metric = nullptr;
    QComboBox* m_unit = nullptr;
    QSlider* m_smoothing = nullptr;
    NumberLabel* m_smoothingValue = nullptr;
    QPushButton* m_logScale = nullptr;
};

} // namespace trainyard::ui
