// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/monitor/monitor_page.h"

#include "app/models/message_text.h"
#include "app/models/run_mesh.h"
#include "ui/monitor/confusion_view.h"
#include "ui/monitor/log_view.h"
#include "ui/monitor/run_curve_view.h"
#include "ui/monitor/run_header.h"
#include "ui/monitor/step_split_view.h"
#include "ui/run_state.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/button.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/format.h"
#include "ui/widgets/number_label.h"
#include "ui/widgets/segmented_control.h"
#include "ui/widgets/separator.h"
#include "ui/widgets/state_chip.h"
#include "ui/widgets/text_label.h"

#include <QComboBox>
#include <QDateTime>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QSlider>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>

namespace trainyard::ui {

namespace {

constexpr int kWideFrom = 1124; ///< page width from which the log stands at the right
constexpr int kLogWidth = 372;
constexpr int kLowHeight = 800;
constexpr int kSmoothingSteps = 99;
constexpr int kRunsInMenu = 12;
/// Segment behind those of the charts.
constexpr int kConfusion = kChartMetrics;

} // namespace

MonitorPage::MonitorPage(const Theme& theme, app::RunStore& store, app::RunListModel& runs,
                         app::RunFollower& follower, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_store(store), m_runs(runs), m_follower(follower),
      m_clock(new QTimer(this)), m_stack(new QStackedWidget),
      m_empty(new EmptyState(theme, QStringLiteral("monitor"))) {
    setObjectName(QStringLiteral("monitorPage"));
    m_empty->setMessage(tr("No run yet"),
                        tr("Compose an experiment and press Train; its curves appear here."));
    connect(m_empty->setButton(tr("Compose"), QStringLiteral("compose"), true),
            &QPushButton::clicked, this, &MonitorPage::composeRequested);

    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(makeHeader());
    m_header = new RunHeader(theme);
    column->addWidget(m_header);
    m_banner = new Banner(theme, Banner::Kind::Error);
    m_banner->hide();
    column->addWidget(m_banner);
    column->addWidget(makeBody(), 1);
    m_stack->addWidget(m_empty);
    m_stack->addWidget(page);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_stack);

    connectToolbar();
    connect(&m_runs, &app::RunListModel::refreshed, this, &MonitorPage::update);
    // The clock of a live run moves between its reports, too.
    m_clock->setInterval(1000);
    connect(m_clock, &QTimer::timeout, this, &MonitorPage::update);
}

QWidget* MonitorPage::makeHeader() {
    auto* header = new QFrame;
    header->setProperty("region", QStringLiteral("pageHeader"));
    header->setFixedHeight(m_theme.px(height::kPageHeader));
    m_state = new StateChip(m_theme);
    m_name = new TextLabel(m_theme, TypeStyle::Title);
    m_number = new TextLabel(m_theme, TypeStyle::Body, Color::Text3);
    m_chooser = makeButton(m_theme, ButtonKind::Icon, tr("Show another run"),
                           QStringLiteral("chevron-down"));
    m_chooser->setObjectName(QStringLiteral("runChooser"));
    m_runMenu = new QMenu(m_chooser);
    connect(m_chooser, &QPushButton::clicked, this, [this] {
        fillRunMenu();
        m_runMenu->popup(m_chooser->mapToGlobal(QPoint(0, m_chooser->height())));
    });
    m_clone = makeButton(m_theme, ButtonKind::Normal, tr("Clone"), QStringLiteral("copy"));
    m_clone->setToolTip(tr("Compose a new experiment from this run's frozen copy"));
    m_stop = makeButton(m_theme, ButtonKind::Danger, tr("Stop"), QStringLiteral("stop"));
    m_stop->setObjectName(QStringLiteral("stopButton"));
    connect(m_clone, &QPushButton::clicked, this, [this] {
        if (m_run)
            emit cloneRequested(*m_run);
    });
    connect(m_stop, &QPushButton::clicked, this, &MonitorPage::askToStop);
    auto* row = new QHBoxLayout(header);
    row->setContentsMargins(space::kL, 0, space::kL, 0);
    row->setSpacing(space::kS);
    row->addWidget(m_state);
    row->addWidget(m_name);
    row->addWidget(m_number);
    row->addWidget(m_chooser);
    row->addStretch(1);
    row->addWidget(m_clone);
    row->addWidget(m_stop);
    return header;
}

QWidget* MonitorPage::makeToolbar() {
    auto* bar = new QWidget;
    bar->setFixedHeight(m_theme.px(40));
    m_metric = new SegmentedControl(m_theme, tr("Chart"));
    for (int metric = 0; metric < kChartMetrics; ++metric)
        m_metric->addSegment(chartName(static_cast<ChartMetric>(metric)));
    m_metric->addSegment(tr("Confusion"));
    m_metric->setSegmentShown(kConfusion, false);
    m_metric->setCurrent(0);
    m_confusion = new ConfusionView(m_theme, m_store);
    m_controls = new QStackedWidget;
    m_controls->addWidget(makeChartControls());
    m_controls->addWidget(m_confusion->toolbar());
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(space::kL, 0, space::kL, 0);
    row->setSpacing(space::kM);
    row->addWidget(m_metric);
    row->addWidget(m_controls, 1);
    return bar;
}

QWidget* MonitorPage::makeChartControls() {
    auto* controls = new QWidget;
    auto* smoothing = new TextLabel(m_theme, TypeStyle::Small, Color::Text2);
    smoothing->setText(tr("Smoothing"));
    m_smoothing = new QSlider(Qt::Horizontal);
    m_smoothing->setRange(0, kSmoothingSteps);
    m_smoothing->setFixedWidth(m_theme.px(80));
    m_smoothing->setAccessibleName(tr("Smoothing"));
    m_smoothingValue = new NumberLabel(m_theme, TypeStyle::Small);
    m_logScale = makeButton(m_theme, ButtonKind::Normal, tr("Log"));
    m_logScale->setCheckable(true);
    m_logScale->setToolTip(tr("Logarithmic scale (L)"));
    m_unit = new QComboBox;
    m_unit->addItem(tr("Time"), QVariant::fromValue(TimeAxis::Unit::Duration));
    m_unit->addItem(tr("Step"), QVariant::fromValue(TimeAxis::Unit::Step));
    m_unit->addItem(tr("Epoch"), QVariant::fromValue(TimeAxis::Unit::Epoch));
    m_unit->setAccessibleName(tr("Horizontal axis"));
    m_follow = makeButton(m_theme, ButtonKind::Normal, tr("Follow"));
    m_follow->setCheckable(true);
    m_follow->setChecked(true);
    m_follow->setToolTip(tr("Keep the newest point in view (W)"));
    for (QWidget* control : {static_cast<QWidget*>(m_logScale), static_cast<QWidget*>(m_unit),
                             static_cast<QWidget*>(m_follow)})
        setCompact(control);
    auto* row = new QHBoxLayout(controls);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(space::kS);
    row->addStretch(1);
    row->addWidget(smoothing);
    row->addWidget(m_smoothing);
    row->addWidget(m_smoothingValue);
    row->addWidget(m_logScale);
    row->addWidget(m_unit);
    row->addWidget(m_follow);
    return controls;
}

QWidget* MonitorPage::makeBody() {
    m_view = new RunCurveView(m_theme);
    m_log = new LogView(m_theme);
    m_split = new StepSplitView(m_theme);
    auto* side = new QFrame;
    side->setProperty("region", QStringLiteral("surface"));
    side->setMinimumWidth(200);
    m_side = new QBoxLayout(QBoxLayout::TopToBottom, side);
    m_side->setContentsMargins(0, 0, 0, 0);
    m_side->setSpacing(0);
    m_side->addWidget(m_split);
    m_side->addWidget(m_log, 1);
    auto* left = new QFrame;
    left->setProperty("region", QStringLiteral("surface"));
    auto* column = new QVBoxLayout(left);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(makeToolbar());
    m_views = new QStackedWidget;
    m_views->addWidget(m_view);
    m_views->addWidget(m_confusion);
    column->addWidget(m_views, 1);
    m_splitter = new QSplitter(Qt::Horizontal);
    m_splitter->setHandleWidth(1);
    m_splitter->addWidget(left);
    m_splitter->addWidget(side);
    m_splitter->setStretchFactor(0, 1);
    m_splitter->setStretchFactor(1, 0);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->setSizes({1000, kLogWidth});
    return m_splitter;
}

void MonitorPage::connectToolbar() {
    connect(m_metric, &SegmentedControl::chosen, this, &MonitorPage::showChart);
    const auto smooth = [this](int value) {
        const double weight = value / static_cast<double>(kSmoothingSteps + 1);
        m_view->plot().setSmoothing(weight);
        m_smoothingValue->setNumber(formatFixed(weight, 2));
    };
    connect(m_smoothing, &QSlider::valueChanged, this, smooth);
    smooth(0);
    connect(m_logScale, &QPushButton::toggled, this,
            [this](bool on) { m_view->plot().setLogarithmic(on); });
    connect(&m_view->plot(), &PlotWidget::logarithmicChanged, m_logScale, &QPushButton::setChecked);
    connect(m_unit, &QComboBox::currentIndexChanged, this,
            [this] { m_view->setUnit(m_unit->currentData().value<TimeAxis::Unit>()); });
    connect(m_follow, &QPushButton::toggled, this,
            [this](bool on) { m_view->axis().setFollow(on); });
    connect(&m_view->axis(), &TimeAxis::followChanged, m_follow, &QPushButton::setChecked);
}

void MonitorPage::showRun(app::RunId run) {
    if (m_run != run) {
        m_view->setCurves(nullptr, nullptr);
        m_log->setCurves(nullptr);
        m_split->setCurves(nullptr);
        m_run = run;
        m_curves = std::make_unique<app::RunCurves>(m_store, run);
        m_mesh = app::meshOf(m_store.reader(), run);
        m_view->setMesh(m_mesh);
        m_view->setCurves(m_curves.get(), m_runs.record(run));
        m_log->setCurves(m_curves.get());
        m_split->setCurves(m_curves.get());
        m_confusion->showRun(run);
    }
    update();
}

app::RunController* MonitorPage::controller() const {
    return m_run ? m_follower.controllerOf(*m_run) : nullptr;
}

app::RunProgress MonitorPage::progressFromStore(const app::RunRecord& record) const {
    app::RunProgress progress;
    progress.step = record.lastStep;
    progress.steps = record.stepsTotal;
    progress.stepsPerEpoch = record.stepsPerEpoch;
    progress.epochs = record.epochsTotal;
    progress.samples = record.samples;
    progress.trainSamples = record.trainSamples;
    progress.validationSamples = record.validationSamples;
    progress.epoch = record.epoch;
    progress.seconds = record.seconds;
    const auto last = [this](const char* metric) -> std::optional<double> {
        const auto found = m_curves->metrics().find(QString::fromLatin1(metric));
        if (found == m_curves->metrics().end() || found->second.values.empty())
            return std::nullopt;
        return found->second.values.back();
    };
    progress.trainLoss = last(spec::metric::kTrainLoss);
    progress.validationLoss = last(spec::metric::kValidationLoss);
    progress.validationAccuracy = last(spec::metric::kValidationAccuracy);
    progress.samplesPerSecond = last(spec::metric::kSamplesPerSecond);
    for (const auto& [name, columns] : m_curves->metrics())
        if (name.startsWith(QLatin1StringView("val_")) && !columns.values.empty())
            progress.validated[name.toStdString()] = columns.values.back();
    return progress;
}

void MonitorPage::update() {
    const app::RunRecord* record = m_run ? m_runs.record(*m_run) : nullptr;
    if (!record && m_run) {
        m_view->setCurves(nullptr, nullptr);
        m_log->setCurves(nullptr);
        m_split->setCurves(nullptr);
        m_confusion->showRun(std::nullopt);
        m_curves.reset();
        m_run.reset();
    }
    m_stack->setCurrentIndex(record ? 1 : 0);
    if (!record)
        return;
    updateCharts();
    updateHeader(*record);
    updateBanner(*record);
}

void MonitorPage::showChart(int chart) {
    const bool confusion = chart == kConfusion;
    m_views->setCurrentIndex(confusion ? 1 : 0);
    m_controls->setCurrentIndex(confusion ? 1 : 0);
    if (!confusion)
        m_view->setMetric(static_cast<ChartMetric>(chart));
}

/// Only charts that this run's model has.
void MonitorPage::updateCharts() {
    for (int metric = 0; metric < kChartMetrics; ++metric)
        m_metric->setSegmentShown(metric, hasChart(*m_curves, static_cast<ChartMetric>(metric)));
    m_confusion->refresh();
    m_metric->setSegmentShown(kConfusion, m_confusion->hasTable());
    if (m_metric->segment(m_metric->current())->isHidden()) {
        m_metric->setCurrent(0);
        showChart(0);
    }
}

void MonitorPage::updateHeader(const app::RunRecord& record) {
    const bool over = app::isFinal(record.status);
    m_state->setState(stateOf(record.status), app::statusText(record.status));
    m_name->setText(record.name);
    m_number->setText(u'#' + QString::number(static_cast<qint64>(record.id)));
    m_stop->setVisible(!over);
    const bool stopping =
        record.status == app::RunStatus::Stopping ||
        (controller() && controller()->state() == app::RunController::State::Stopping);
    m_stop->setEnabled(!over && !stopping && controller());
    m_stop->setText(stopping ? tr("Stopping…") : tr("Stop"));
    RunFigures figures;
    figures.record = record;
    figures.progress = progressFromStore(record);
    figures.device = tr("CPU");
    figures.mesh = m_mesh;
    if (app::RunController* live = over ? nullptr : controller()) {
        const app::RunProgress& progress = live->progress();
        if (progress.steps > 0)
            figures.progress = progress;
        if (record.startedUtcUs)
            figures.record.seconds =
                std::max(0.0, static_cast<double>(QDateTime::currentMSecsSinceEpoch()) * 1e-3 -
                                  static_cast<double>(*record.startedUtcUs) * 1e-6);
    }
    m_header->setFigures(figures);
    if (over)
        m_clock->stop();
    else if (!m_clock->isActive())
        m_clock->start();
}

void MonitorPage::updateBanner(const app::RunRecord& record) {
    if (record.status == app::RunStatus::Crashed && !record.failure) {
        m_banner->setMessage(
            tr("The run's processes are gone."),
            tr("They ended without a word, last heard of at step %1. What was measured is kept.")
                .arg(formatCount(record.lastStep)));
        m_banner->show();
        return;
    }
    m_banner->setVisible(record.failure.has_value());
    if (record.failure)
        m_banner->setMessage(app::text(record.failure->what), app::text(record.failure->cure));
}

void MonitorPage::fillRunMenu() {
    m_runMenu->clear();
    int shown = 0;
    for (const app::RunRecord& record : m_runs.records()) {
        if (shown++ == kRunsInMenu)
            break;
        const app::RunId id = record.id;
        QAction* action = m_runMenu->addAction(
            m_theme.icon(QString(tokenName(stateOf(record.status))), stateOf(record.status)),
            tr("#%1  %2").arg(static_cast<qint64>(id)).arg(record.name));
        connect(action, &QAction::triggered, this, [this, id] { showRun(id); });
    }
}

void MonitorPage::askToStop() {
    if (!m_run)
        return;
    const app::RunRecord* record = m_runs.record(*m_run);
    if (!record)
        return;
    auto* question = new QMessageBox(this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setObjectName(QStringLiteral("stopQuestion"));
    question->setIcon(QMessageBox::NoIcon);
    question->setText(tr("Stop run #%1?").arg(static_cast<qint64>(*m_run)));
    question->setInformativeText(
        tr("It ends after the current step. What was measured so far is kept."));
    const QString verb = tr("Stop run #%1").arg(static_cast<qint64>(*m_run));
    QPushButton* stop = question->addButton(verb, QMessageBox::DestructiveRole);
    question->setDefaultButton(question->addButton(QMessageBox::Cancel));
    connect(question, &QMessageBox::buttonClicked, this, [this, stop](QAbstractButton* button) {
        if (button == stop && controller())
            controller()->stop();
        update();
    });
    question->open();
}

void MonitorPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const bool wide = width() >= kWideFrom;
    const Qt::Orientation wanted = wide ? Qt::Horizontal : Qt::Vertical;
    if (m_splitter->orientation() != wanted) {
        m_splitter->setOrientation(wanted);
        m_side->setDirection(wide ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
        m_splitter->setSizes(wide ? QList<int>{width() - kLogWidth, kLogWidth}
                                  : QList<int>{height() * 7 / 10, height() * 3 / 10});
    }
    m_view->setCompact(!wide || height() < kLowHeight);
}

void MonitorPage::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Period && event->modifiers() == Qt::ControlModifier)
        askToStop();
    else if (event->key() == Qt::Key_L && event->modifiers() == Qt::NoModifier)
        m_logScale->toggle();
    else if (event->key() == Qt::Key_W && event->modifiers() == Qt::NoModifier)
        m_follow->toggle();
    else if (event->key() == Qt::Key_BracketRight)
        m_smoothing->setValue(m_smoothing->value() + 5);
    else if (event->key() == Qt::Key_BracketLeft)
        m_smoothing->setValue(m_smoothing->value() - 5);
    else
        QWidget::keyPressEvent(event);
}

} // namespace trainyard::ui

#include "moc_monitor_page.cpp"
