// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/price_strip.h"

#include "ui/compose/figure_text.h"
#include "ui/compose/memory_cell.h"
#include "ui/compose/page_tabs.h"
#include "ui/compose/problem_list.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/figure_cell.h"
#include "ui/widgets/format.h"
#include "ui/widgets/separator.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <QResizeEvent>
#include <QVBoxLayout>

#include <algorithm>

namespace trainyard::ui {

using Basis = app::ShownPrices::Basis;

namespace {

constexpr int kOpenedHeight = 240;
constexpr int kProblemsLeast = 300;

/// A predicted time as few digits as it is worth.
FigureText timeText(double seconds) {
    if (seconds < 1)
        return {formatSignificant(1e3 * seconds, 3), PriceStrip::tr("ms")};
    return {formatSignificant(seconds, 3), PriceStrip::tr("s")};
}

class CountBadge : public QWidget {
public:
    CountBadge(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
        setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
        followTheme(this, theme);
    }
    void setCount(int count) {
        m_count = count;
        setVisible(count > 0);
        updateGeometry();
        update();
    }
    QSize sizeHint() const override {
        return {problemCountWidth(m_theme, m_count), m_theme.px(16)};
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        drawProblemCount(painter, m_theme, rect(), m_count);
    }

private:
    const Theme& m_theme;
    int m_count = 0;
};

const plan::RankPlan& largestRank(const plan::Plan& plan) {
    return *std::max_element(
        plan.ranks.begin(), plan.ranks.end(),
        [](const auto& a, const auto& b) { return a.memory.total() < b.memory.total(); });
}

} // namespace

PriceStrip::PriceStrip(const Theme& theme, app::ExperimentDocument& document,
                       app::ProblemListModel& problems, app::DeviceModel& devices, QWidget* parent)
    : QFrame(parent), m_theme(theme), m_document(document), m_problems(problems),
      m_devices(devices), m_list(new ProblemList(theme, problems)),
      m_count(new CountBadge(theme, this)),
      m_basis(new TextLabel(theme, TypeStyle::Caption, Color::Text3, this)),
      m_open(makeButton(theme, ButtonKind::Icon, tr("Show more"), QStringLiteral("chevron-up"))),
      m_parameters(new FigureCell(theme, tr("Parameters"), this)),
      m_flops(new FigureCell(theme, tr("Forward, one sample"), this)),
      m_memory(new MemoryCell(theme, this)),
      m_step(new FigureCell(theme, tr("Predicted step"), this)),
      m_measure(makeButton(theme, ButtonKind::Link, tr("Measure this computer"))),
      m_steps(new FigureCell(theme, tr("Steps"), this)) {
    setProperty("region", QStringLiteral("strip"));
    setAccessibleName(tr("Problems and prices"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeProblems(), 1);
    layout->addWidget(new Separator(theme, Qt::Vertical, this));
    for (QWidget* cell : {static_cast<QWidget*>(m_parameters), static_cast<QWidget*>(m_flops),
                          static_cast<QWidget*>(m_memory), static_cast<QWidget*>(m_step),
                          static_cast<QWidget*>(m_measure), static_cast<QWidget*>(m_steps)})
        layout->addWidget(cell, 0, Qt::AlignVCenter);
    m_steps->setSeparator(false);
    setOpened(false);
    connect(m_open, &QPushButton::clicked, this, [this] { setOpened(!m_opened); });
    m_measure->setToolTip(tr("Times a few small models, so that the time of a step can be "
                             "predicted: some seconds with all cores."));
    connect(m_measure, &QPushButton::clicked, &devices, &app::DeviceModel::calibrate);
    connect(&devices, &app::DeviceModel::calibrationChanged, this, &PriceStrip::showPrices);
    connect(&document, &app::ExperimentDocument::pricesChanged, this, &PriceStrip::showPrices);
    connect(&problems, &QAbstractItemModel::modelReset, this, &PriceStrip::showProblems);
    connect(&document, &app::ExperimentDocument::dataChanged, this, &PriceStrip::showProblems);
    connect(&devices, &app::DeviceModel::stateChanged, this, &PriceStrip::showPrices);
    showPrices();
    showProblems();
}

QWidget* PriceStrip::makeProblems() {
    auto* panel = new QWidget(this);
    panel->setMinimumWidth(m_theme.px(kProblemsLeast));
    auto* layout = new QVBoxLayout(panel);
    layout->setContentsMargins(0, m_theme.px(space::kS), 0, 0);
    layout->setSpacing(m_theme.px(space::kXs));
    auto* head = new QHBoxLayout;
    head->setContentsMargins(m_theme.px(space::kL), 0, m_theme.px(space::kS), 0);
    head->setSpacing(m_theme.px(space::kS));
    auto* title = new TextLabel(m_theme, TypeStyle::Strong, Color::Text, panel);
    title->setText(tr("Problems"));
    title->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    m_basis->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_open->setFixedSize(m_theme.px(height::kControlSmall), m_theme.px(20));
    head->addWidget(title);
    head->addWidget(m_count);
    head->addWidget(m_basis, 1);
    head->addWidget(m_open);
    layout->addLayout(head);
    layout->addWidget(m_list, 1);
    return panel;
}

void PriceStrip::setOpened(bool opened) {
    m_opened = opened;
    m_open->setIcon(m_theme.icon(
        opened ? QStringLiteral("chevron-down") : QStringLiteral("chevron-up"), Color::Text2));
    m_open->setToolTip(opened ? tr("Show less") : tr("Show more"));
    m_open->setAccessibleName(m_open->toolTip());
    setFixedHeight(m_theme.px(opened ? kOpenedHeight : height::kStrip));
}

void PriceStrip::showProblems() {
    const int count = m_problems.rowCount();
    static_cast<CountBadge*>(m_count)->setCount(count);
    m_open->setVisible(count > 1 || m_opened);
    using DataState = app::ExperimentDocument::DataState;
    switch (m_document.dataState()) {
    case DataState::Known:
        m_list->setReadyText(tr("None. Ready to train."),
                             tr("checked: values, shapes, data files, memory plan"));
        break;
    case DataState::Looking:
        m_list->setReadyText(tr("None so far."), tr("The data files are being looked into."));
        break;
    case DataState::Unknown:
    case DataState::Failed:
        m_list->setReadyText(tr("None found."),
                             tr("checked: values and shapes; the data files are not known yet"));
        break;
    }
}

QString PriceStrip::memoryDetail(const plan::Plan& plan) const {
    const QString ranks =
        plan.worldSize == 1 ? tr("one rank") : tr("%n ranks", nullptr, plan.worldSize);
    const app::MachineProbe* machine = m_devices.facts();
    if (!machine || !machine->memoryTotal)
        return ranks;
    return tr("%1, %2 here").arg(ranks, formatBytes(static_cast<double>(*machine->memoryTotal)));
}

void PriceStrip::showPrices() {
    const app::ShownPrices& shown = m_document.prices();
    const bool stale = shown.basis == Basis::LastValid;
    m_basis->setText(shown.basis == Basis::AsIfCured
                         ? tr("figures at the right assume the first cure")
                     : stale ? tr("figures at the right: last valid")
                             : QString());
    for (FigureCell* cell : {m_parameters, m_flops, m_step, m_steps})
        cell->setStale(stale);
    m_memory->setStale(stale);
    if (shown.basis == Basis::Unknown) {
        for (FigureCell* cell : {m_parameters, m_flops, m_steps}) {
            cell->setFigure({});
            cell->setDetail({});
        }
        m_memory->setMemory({}, {});
        showStep(nullptr);
        return;
    }
    const app::Prices& prices = shown.prices;
    const plan::Plan& plan = prices.plan;
    const FigureText parameters = splitUnit(formatCompact(static_cast<double>(prices.parameters)));
    m_parameters->setFigure(prices.parameters < 1000 ? formatCount(prices.parameters)
                                                     : parameters.figure,
                            prices.parameters < 1000 ? QString() : parameters.unit);
    const std::size_t bytes = bytesOf(plan.type) * static_cast<std::size_t>(prices.parameters);
    m_parameters->setDetail(tr("%1 in %2")
                                .arg(formatBytes(static_cast<double>(bytes)),
                                     QString::fromUtf8(name(plan.type).data())));
    const FigureText flops = splitUnit(formatFlops(prices.forwardFlops));
    m_flops->setFigure(flops.figure, flops.unit);
    double step = 0;
    for (const plan::RankPlan& rank : plan.ranks)
        step += rank.flopsPerStep;
    m_flops->setDetail(tr("%1 a step").arg(formatFlops(step)));
    m_memory->setMemory(memoryParts(largestRank(plan).memory), memoryDetail(plan));
    showStep(&plan);
    m_steps->setFigure(prices.dataKnown ? formatCount(plan.steps) : QString());
    m_steps->setDetail(prices.dataKnown ? tr("%1 an epoch").arg(formatCount(plan.stepsPerEpoch))
                                        : tr("needs the data"));
    fitCells();
}

QString PriceStrip::whyNoTime() const {
    using Measured = app::DeviceModel::CalibrationState;
    switch (m_devices.calibrationState()) {
    case Measured::Measuring:
        return tr("measuring this computer…");
    case Measured::Failed:
        return tr("measuring failed");
    case Measured::Ready:
        return tr("cannot be predicted");
    case Measured::Unknown:
    case Measured::Absent:
        break;
    }
    return tr("not measured yet");
}

/// The error bound and its source are always said: with the figure, and in its tooltip.
void PriceStrip::showStep(const plan::Plan* plan) {
    using Measured = app::DeviceModel::CalibrationState;
    const Measured state = m_devices.calibrationState();
    m_measure->setVisible(!m_devices.calibration() && state != Measured::Unknown);
    m_measure->setEnabled(state != Measured::Measuring);
    m_step->setFigure({});
    m_step->setDetail(plan || state == Measured::Measuring ? whyNoTime() : QString());
    m_step->setToolTip(m_devices.calibrationError()
                           ? QString::fromStdString(m_devices.calibrationError()->sentence())
                           : QString());
    if (!plan || !m_devices.calibration())
        return;
    const Result<plan::Price> price = m_devices.priceOf(m_document.experiment(), *plan);
    if (!price.ok()) {
        m_step->setToolTip(QString::fromStdString(price.error().sentence()));
        return;
    }
    const FigureText time = timeText(price->stepSeconds);
    m_step->setFigure(time.figure, time.unit);
    m_step->setDetail(tr("%1 samples/s, ±%2 %")
                          .arg(formatCompact(price->samplesPerSecond))
                          .arg(app::kPriceErrorPercent));
    QString source =
        tr("Predicted from a measurement of this computer (%1). Half of the plans in the benchmark "
           "were less than %2 % off; beside other programs steps take longer.")
            .arg(QString::fromStdString(price->measuredAt))
            .arg(app::kPriceErrorPercent);
    if (price->efficiency && plan->worldSize > 1)
        source += u' ' + tr("The ranks reach %1 % of what they could together.")
                             .arg(formatFixed(100 * *price->efficiency, 0));
    m_step->setToolTip(source);
}

void PriceStrip::resizeEvent(QResizeEvent* event) {
    QFrame::resizeEvent(event);
    fitCells();
}

/// Cells that do not fit go, in the order FLOP, parameters; the problems keep their room.
void PriceStrip::fitCells() {
    const int room = width() - m_theme.px(kProblemsLeast) - m_memory->sizeHint().width() -
                     m_steps->sizeHint().width() - m_step->sizeHint().width() -
                     (m_measure->isVisibleTo(this) ? m_measure->sizeHint().width() : 0);
    const int parameters = m_parameters->sizeHint().width();
    m_parameters->setVisible(room >= parameters);
    m_flops->setVisible(room >= parameters + m_flops->sizeHint().width());
}

} // namespace trainyard::ui

#include "moc_price_strip.cpp"
