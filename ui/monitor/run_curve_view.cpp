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

struct ChartCurve {
    const char* metric;
    const char* name;
    SeriesKind kind;
};

const char* const kTraining = QT_TRANSLATE_NOOP("trainyard::ui::RunCurveView", "training");
const char* const kValidation = QT_TRANSLATE_NOOP("trainyard::ui::RunCurveView", "validation");
const char* const kTop5 = QT_TRANSLATE_NOOP("trainyard::ui::RunCurveView", "validation, top 5");

std::vector<ChartCurve> curvesOf(ChartMetric metric) {
    const auto only = [&](const char* name, SeriesKind kind = SeriesKind::Line) {
        return std::vector<ChartCurve>{{name, nullptr, kind}};
    };
    switch (metric) {
    case ChartMetric::Loss:
        return {{spec::metric::kTrainLoss, kTraining, SeriesKind::Line},
                {spec::metric::kValidationLoss, kValidation, SeriesKind::Points}};
    case ChartMetric::Accuracy:
        return {{spec::metric::kTrainAccuracy, kTraining, SeriesKind::Line},
                {spec::metric::kValidationAccuracy, kValidation, SeriesKind::Points},
                {spec::metric::kValidationTop5, kTop5, SeriesKind::Points}};
    case ChartMetric::Perplexity:
        return {{spec::metric::kValidationPerplexity, kValidation, SeriesKind::Points}};
    case ChartMetric::AbsoluteError:
        return {{spec::metric::kValidationMae, kValidation, SeriesKind::Points}};
    case ChartMetric::RSquared:
        return {{spec::metric::kValidationR2, kValidation, SeriesKind::Points}};
    case ChartMetric::LearningRate:
        return only(spec::metric::kLearningRate);
    case ChartMetric::GradientNorm:
        return only(spec::metric::kGradientNorm);
    case ChartMetric::Speed:
        return only(spec::metric::kSamplesPerSecond);
    }
    return {};
}

bool isMeasured(const app::RunCurves& curves, const char* metric) {
    return curves.metrics().contains(QString::fromLatin1(metric));
}

} // namespace

QString chartName(ChartMetric metric) {
    switch (metric) {
    case ChartMetric::Loss:
        return RunCurveView::tr("Loss");
    case ChartMetric::Accuracy:
        return RunCurveView::tr("Accuracy");
    case ChartMetric::Perplexity:
        return RunCurveView::tr("Perplexity");
    case ChartMetric::AbsoluteError:
        return RunCurveView::tr("Absolute error");
    case ChartMetric::RSquared:
        return RunCurveView::tr("R²");
    case ChartMetric::LearningRate:
        return RunCurveView::tr("Learning rate");
    case ChartMetric::GradientNorm:
        return RunCurveView::tr("Gradient norm");
    case ChartMetric::Speed:
        return RunCurveView::tr("Samples/s");
    }
    return {};
}

bool hasChart(const app::RunCurves& curves, ChartMetric metric) {
    switch (metric) {
    case ChartMetric::Accuracy: // most models have it: shown until the first step says otherwise
        return isMeasured(curves, spec::metric::kTrainAccuracy) ||
               isMeasured(curves, spec::metric::kValidationAccuracy) ||
               !isMeasured(curves, spec::metric::kTrainLoss);
    case ChartMetric::Perplexity:
    case ChartMetric::AbsoluteError:
    case ChartMetric::RSquared:
        return isMeasured(curves, curvesOf(metric).front().metric);
    default:
        return true;
    }
}

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
    m_plot->setTitle(chartName(m_metric));
    int slot = 0;
    for (const ChartCurve& curve : curvesOf(m_metric)) {
        const bool extra = slot > 1; // of some models only
        if (!extra || (m_curves && isMeasured(*m_curves, curve.metric)))
            addCurve(curve.metric, curve.name ? tr(curve.name) : chartName(m_metric).toLower(),
                     slot, curve.kind);
        ++slot;
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
            widget->setTags(meshTagsOfRank(m_mesh, number));
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

#include "moc_run_curve_view.cpp"
