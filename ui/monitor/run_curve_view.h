// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Chart, events, lanes and axis of one run, all on one time axis: what stands above one another
// happened at the same time.
#pragma once

#include "app/models/run_curves.h"
#include "ui/plots/lane_widget.h"
#include "ui/plots/plot_widget.h"

#include <QWidget>

#include <map>
#include <vector>

class QVBoxLayout;

namespace trainyard::ui {

class AxisWidget;
class EventStrip;

/// What the chart shows of a run.
enum class ChartMetric {
    Loss,
    Accuracy,
    Perplexity,
    AbsoluteError,
    RSquared,
    LearningRate,
    GradientNorm,
    Speed
};
inline constexpr int kChartMetrics = 8;

QString chartName(ChartMetric metric);
/// False for what this run's model has not: numbers have no accuracy, classes no absolute error.
bool hasChart(const app::RunCurves& curves, ChartMetric metric);

class RunCurveView : public QWidget {
    Q_OBJECT
public:
    explicit RunCurveView(const Theme& theme, QWidget* parent = nullptr);

    /// Null shows the empty axes. Must outlive its being shown.
    void setCurves(const app::RunCurves* curves, const app::RunRecord* record);
    /// Before setCurves(): where the ranks are, for the lanes' tags.
    void setMesh(const plan::Mesh& mesh) { m_mesh = mesh; }
    void setMetric(ChartMetric metric);
    void setUnit(TimeAxis::Unit unit);
    void setCompact(bool compact);
    TimeAxis& axis() { return m_axis; }
    PlotWidget& plot() { return *m_plot; }
    /// What is drawn of a metric; null while it is not shown.
    const CurveData* curve(const QString& metric) const;
    const std::vector<LaneWidget*>& lanes() const { return m_lanes; }

private:
    struct Shown {
        PlotWidget::SeriesId series = 0;
        std::size_t points = 0;
    };
    const std::vector<double>& axisOf(const app::CurveColumns& columns) const;
    const std::vector<double>& axisOf(const app::LaneColumns& columns) const;
    void rebuild();
    void appendNew();
    void appendLanes();
    void addCurve(const char* metric, const QString& name, int slot, SeriesKind kind);

    const Theme& m_theme;
    TimeAxis m_axis;
    TimeMarks m_marks;
    const app::RunCurves* m_curves = nullptr;
    ChartMetric m_metric = ChartMetric::Loss;
    bool m_compact = false;
    QString m_host;
    plan::Mesh m_mesh;
    PlotWidget* m_plot;
    EventStrip* m_events;
    QWidget* m_laneBox;
    QVBoxLayout* m_laneLayout;
    AxisWidget* m_axisWidget;
    std::map<QString, Shown> m_shown;
    std::vector<LaneWidget*> m_lanes;
    std::vector<std::size_t> m_lanePoints;
};

} // namespace trainyard::ui
