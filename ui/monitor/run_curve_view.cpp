// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/monitor/run_curve_view.h"

#include "app/base/format.h"
#include "ui/plots/axis_widget.h"
#include "ui/plots/event_strip.h"
#include "ui/theme/theme.h"
#include "ui/widgets/format.h"
#include "ui/widgets/separator.h"

#include <QVBoxLayout>

#include <cmath>

namespace trainyard::ui {

namespace {

constexpr int kLeftGutter = 124;
constexpr int kRightGutter = 226;
constexpr int kNarrowLeftGutter = 104;
constexpr int kNarrowRightGutter = 164;

std::vector<LaneColumn> laneColumns() {
    return {{RunCurveView::tr("Load"), RunCurveView::tr("100 %")},
            {RunCurveView::tr("Memory"), QStringLiteral("1,023 MiB")}};
}

} // namespace

RunCurveView::RunCurveView(const Theme& theme, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_plot(new PlotWidget(theme, m_axis)),
      m_events(new EventStrip(theme, m_axis, &m_marks)), m_laneBox(new QWidget),
      m_laneLayout(new QVBoxLayout(m_laneBox)), m_axisWidget(new AxisWidget(theme, m_axis)) {
    m_axis.setUnit(TimeAxis::Unit::Duration);
    m_axis.setGutters(kLeftGutter, kRightGutter);
    m_plot->setMarks(&m_marks);
    m_plot->setObjectName(QStringLiteral("lossPlot"));
    m_laneLayout->setContentsMargins(0, 0, 0, 0);
    m_laneLayout->setSpacing(0);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_plot, 1);
    layout->addWidget(new Separator(theme, Qt::Horizontal));
    layout->addWidget(m_events);
    layout->addWidget(m_laneBox);
    layout->addWidget(m_axisWidget);
    rebuild();
}

void RunCurveView::setCurves(const app::RunCurves* curves, const app::RunRecord* record) {
    if (record)
        m_host = record->host;
    if (m_curves == curves)
        return;
    if (m_curves)
        disconnect(m_curves, nullptr, this, nullptr);
    m_curves = curves;
    if (m_curves) {
        connect(m_curves, &app::RunCurves::appended, this, &RunCurveView::appendNew);
        connect(m_curves, &app::RunCurves::restarted, this, &RunCurveView::rebuild);
    }
    rebuild();
}

const CurveData* RunCurveView::curve(const QString& metric) const {
    const auto found = m_shown.find(metric);
    return found == m_shown.end() ? nullptr : &m_plot->data(found->second.series);
}

void RunCurveView::setMetric(ChartMetric metric) {
    m_metric = metric;
    rebuild();
}

void RunCurveView::setUnit(TimeAxis::Unit unit) {
    m_axis.setUnit(unit);
    rebuild();
}

void RunCurveView::setCompact(bool compact) {
    m_compact = compact;
    m_axis.setGutters(compact ? kNarrowLeftGutter : kLeftGutter,
                      compact ? kNarrowRightGutter : kRightGutter);
    for (LaneWidget* lane : m_lanes)
        lane->setCompact(compact);
}

const std::vector<double>& RunCurveView::axisOf(const app::CurveColumns& columns) const {
    if (m_axis.unit() == TimeAxis::Unit::Step)
        return columns.steps;
    return m_axis.unit() == TimeAxis::Unit::Epoch ? columns.epochs : columns.seconds;
}

const std::vector<double>& RunCurveView::axisOf(const app::LaneColumns& columns) const {
    if (m_axis.unit() == TimeAxis::Unit::Step)
        return columns.steps;
    return m_axis.unit() == TimeAxis::Unit::Epoch ? columns.epochs : columns.seconds;
}

void RunCurveView::addCurve(const char* metric, const QString& name, int slot, SeriesKind kind) {
    m_shown[QString::fromLatin1(metric)].series = m_plot->addSeries({name, slot, kind});
}

void RunCurveView::rebuild() {
    m_axis.reset();
    m_marks.clear();
    m_plot->clearSeries();
    m_shown.clear();
    switch (m_metric) {
    case ChartMetric::Loss:
        m_plot->setTitle(tr("Loss"));
        addCurve(spec::metric::kTrainLoss, tr("training"), 0, SeriesKind::Line);
        addCurve(spec::metric::kValidationLoss, tr("validation"), 1, SeriesKind::Points);
        break;
    case ChartMetric::Accuracy:
        m_plot->setTitle(tr("Accuracy"));
        addCurve(spec::metric::kTrainAccuracy, tr("training"), 0, SeriesKind::Line);
        addCurve(spec::metric::kValidationAccuracy, tr("validation"), 1, SeriesKind::Points);
        break;
    case ChartMetric::LearningRate:
        m_plot->setTitle(tr("Learning rate"));
        addCurve(spec::metric::kLearningRate, tr("learning rate"), 0, SeriesKind::Line);
        break;
    case ChartMetric::GradientNorm:
        m_plot->setTitle(tr("Gradient norm"));
        addCurve(spec::metric::kGradientNorm, tr("gradient norm"), 0, SeriesKind::Line);
        break;
    case ChartMetric::Speed:
        m_plot->setTitle(tr("Samples/s"));
        addCurve(spec::metric::kSamplesPerSecond, tr("samples/s"), 0, SeriesKind::Line);
        break;
    }
    while (QLayoutItem* item = m_laneLayout->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    m_lanes.clear();
    m_lanePoints.clear();
    appendNew();
}

void RunCurveView::appendNew() {
    if (!m_curves)
        return;
    for (auto& [metric, shown] : m_shown) {
        const auto found = m_curves->metrics().find(metric);
        if (found == m_curves->metrics().end())
            continue;
        const app::CurveColumns& columns = found->second;
        const std::vector<double>& xs = axisOf(columns);
        for (; shown.points < columns.values.size(); ++shown.points) {
            const double value = columns.values[shown.points];
            m_plot->append(shown.series, xs[shown.points], static_cast<float>(value));
            if (!std::isfinite(value))
                m_marks.addMark(
                    {xs[shown.points], MarkKind::NonFinite,
                     tr("The value is not finite at step %1.")
                         .arg(formatCount(static_cast<qint64>(columns.steps[shown.points])))});
        }
    }
    appendLanes();
}

void RunCurveView::appendLanes() {
    for (const auto& [rank, lane] : m_curves->lanes()) {
        const auto index = static_cast<std::size_t>(rank);
        while (m_lanes.size() <= index) {
            if (m_lanes.empty())
                m_laneLayout->addWidget(new LaneHead(m_theme, m_axis, m_host, laneColumns()));
            const int number = static_cast<int>(m_lanes.size());
            auto* widget =
                new LaneWidget(m_theme, m_axis, tr("Rank %1").arg(number), laneColumns());
            widget->setTags({{MeshAxis::Data, number}});
            widget->setMarks(&m_marks);
            widget->setCompact(m_compact);
            m_laneLayout->addWidget(widget);
            m_lanes.push_back(widget);
            m_lanePoints.push_back(0);
        }
        const std::vector<double>& xs = axisOf(lane);
        for (std::size_t& i = m_lanePoints[index]; i < lane.utilization.size(); ++i)
            if (xs[i] >= 0)
                m_lanes[index]->append(xs[i], static_cast<float>(lane.utilization[i]));
        if (lane.utilization.empty())
            continue;
        m_lanes[index]->setValues(
            {{withUnit(formatFixed(lane.utilization.back(), 0), QStringLiteral("%")), false},
             {formatBytes(lane.memoryBytes), false}});
    }
}

} // namespace trainyard::ui
