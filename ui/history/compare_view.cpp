// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/history/compare_view.h"

#include "app/run/run_quality.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/format.h"
#include "ui/widgets/number_label.h"
#include "ui/widgets/text_label.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QPushButton>
#include <QSlider>

#include <set>

namespace trainyard::ui {

namespace {

constexpr int kCompareSmoothingSteps = 99;
constexpr int kCompareLeftGutter = 64;
constexpr int kCompareRightGutter = 200;
/// Those that stand in the list from the first.
constexpr int kUsualMetrics = 6;

} // namespace

CompareView::CompareView(const Theme& theme, app::RunStore& store, app::RunListModel& runs,
                         QWidget* parent)
    : QWidget(parent), m_theme(theme), m_store(store), m_runs(runs),
      m_plot(new PlotWidget(theme, m_axis)) {
    m_axis.setGutters(kCompareLeftGutter, kCompareRightGutter);
    m_plot->setBottomAxis(true);
    m_plot->setEmptyText(tr("Check runs in the table to see their curves"));
    m_plot->setObjectName(QStringLiteral("comparePlot"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_plot, 1);
    m_toolbar = makeToolbar();
    connect(&m_runs, &app::RunListModel::comparedChanged, this, &CompareView::reload);
    reload();
}

QWidget* CompareView::makeToolbar() {
    auto* bar = new QWidget(this);
    bar->hide(); // until somebody gives it a place
    m_metric = new QComboBox;
    m_metric->setObjectName(QStringLiteral("compareMetric"));
    m_metric->setAccessibleName(tr("Metric"));
    m_metric->addItem(tr("Training loss"), QString::fromLatin1(spec::metric::kTrainLoss));
    m_metric->addItem(tr("Validation loss"), QString::fromLatin1(spec::metric::kValidationLoss));
    m_metric->addItem(tr("Validation accuracy"),
                      QString::fromLatin1(spec::metric::kValidationAccuracy));
    m_metric->addItem(tr("Learning rate"), QString::fromLatin1(spec::metric::kLearningRate));
    m_metric->addItem(tr("Gradient norm"), QString::fromLatin1(spec::metric::kGradientNorm));
    m_metric->addItem(tr("Samples/s"), QString::fromLatin1(spec::metric::kSamplesPerSecond));
    auto* against = new TextLabel(m_theme, TypeStyle::Small, Color::Text2);
    against->setText(tr("against"));
    m_unit = new QComboBox;
    m_unit->setAccessibleName(tr("Horizontal axis"));
    m_unit->addItem(tr("Step"), QVariant::fromValue(TimeAxis::Unit::Step));
    m_unit->addItem(tr("Samples seen"), QVariant::fromValue(TimeAxis::Unit::Samples));
    m_unit->addItem(tr("Epoch"), QVariant::fromValue(TimeAxis::Unit::Epoch));
    m_unit->addItem(tr("Time since start"), QVariant::fromValue(TimeAxis::Unit::Duration));
    auto* smoothing = new TextLabel(m_theme, TypeStyle::Small, Color::Text2);
    smoothing->setText(tr("Smoothing"));
    m_smoothing = new QSlider(Qt::Horizontal);
    m_smoothing->setRange(0, kCompareSmoothingSteps);
    m_smoothing->setFixedWidth(m_theme.px(80));
    m_smoothing->setAccessibleName(tr("Smoothing"));
    m_smoothingValue = new NumberLabel(m_theme, TypeStyle::Small);
    m_logScale = makeButton(m_theme, ButtonKind::Normal, tr("Log"));
    m_logScale->setCheckable(true);
    for (QWidget* control : {static_cast<QWidget*>(m_metric), static_cast<QWidget*>(m_unit),
                             static_cast<QWidget*>(m_logScale)})
        setCompact(control);
    const auto smooth = [this](int value) {
        const double weight = value / static_cast<double>(kCompareSmoothingSteps + 1);
        m_plot->setSmoothing(weight);
        m_smoothingValue->setNumber(formatFixed(weight, 2));
    };
    connect(m_metric, &QComboBox::currentIndexChanged, this, &CompareView::reload);
    connect(m_unit, &QComboBox::currentIndexChanged, this, &CompareView::reload);
    connect(m_smoothing, &QSlider::valueChanged, this, smooth);
    connect(m_logScale, &QPushButton::toggled, m_plot, &PlotWidget::setLogarithmic);
    connect(m_plot, &PlotWidget::logarithmicChanged, m_logScale, &QPushButton::setChecked);
    smooth(0);
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(space::kS);
    row->addWidget(m_metric);
    row->addWidget(against);
    row->addWidget(m_unit);
    row->addStretch(1);
    row->addWidget(smoothing);
    row->addWidget(m_smoothing);
    row->addWidget(m_smoothingValue);
    row->addWidget(m_logScale);
    return bar;
}

QString CompareView::metric() const {
    return m_metric->currentData().toString();
}

app::XAxis CompareView::xAxis() const {
    switch (m_axis.unit()) {
    case TimeAxis::Unit::Step:
        return app::XAxis::Step;
    case TimeAxis::Unit::Samples:
        return app::XAxis::Samples;
    case TimeAxis::Unit::Epoch:
        return app::XAxis::Epoch;
    case TimeAxis::Unit::Duration:
        return app::XAxis::Seconds;
    }
    return app::XAxis::Step;
}

const CurveData* CompareView::curve(app::RunId run) const {
    const auto found = m_series.find(run);
    return found == m_series.end() ? nullptr : &m_plot->data(found->second);
}

/// Metrics that only some models have are offered when one of the compared runs has them.
void CompareView::offerMetrics() {
    std::set<QString> measured;
    for (const app::RunId run : m_runs.compared())
        if (const auto series = m_store.reader().seriesOf(run))
            for (const app::SeriesInfo& info : *series)
                measured.insert(info.metric);
    const QSignalBlocker quiet(m_metric); // what is chosen stays
    for (int i = m_metric->count() - 1; i >= kUsualMetrics; --i)
        if (i != m_metric->currentIndex() && !measured.contains(m_metric->itemData(i).toString()))
            m_metric->removeItem(i);
    for (const QString& metric : measured) {
        if (m_metric->findData(metric) >= 0)
            continue;
        QString text = app::metricText(metric);
        if (text != metric && metric.startsWith(QLatin1StringView("val_")))
            text = tr("Validation: %1").arg(text);
        if (text != metric)
            text.front() = text.front().toUpper();
        m_metric->addItem(text, metric);
    }
}

void CompareView::reload() {
    offerMetrics();
    m_axis.setUnit(m_unit->currentData().value<TimeAxis::Unit>());
    m_axis.reset();
    m_plot->clearSeries();
    m_series.clear();
    const bool validation = metric().startsWith(QLatin1StringView("val_"));
    for (const app::RunId run : m_runs.compared()) {
        const app::RunRecord* record = m_runs.record(run);
        if (!record)
            continue;
        const auto series = m_plot->addSeries(
            {tr("#%1 %2").arg(static_cast<qint64>(run)).arg(record->name), m_runs.slotOf(run),
             validation ? SeriesKind::Points : SeriesKind::Line});
        m_series[run] = series;
        Result<app::Points> points = m_store.reader().points(run, metric());
        const Result<app::Axes> axes = m_store.reader().axes(run);
        if (!points || !axes)
            continue;
        const app::Points line = app::liveLine(std::move(*points)).line;
        const std::vector<double> xs = app::along(xAxis(), line.steps, *axes);
        const std::vector<float> ys(line.values.begin(), line.values.end());
        m_plot->append(series, xs, ys);
    }
}

} // namespace trainyard::ui

#include "moc_compare_view.cpp"
