// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/parallelism_tab.h"

#include "app/models/experiment_fields.h"
#include "app/models/experiment_path.h"
#include "app/models/message_text.h"
#include "ui/compose/figure_text.h"
#include "ui/compose/form_field.h"
#include "ui/compose/form_group.h"
#include "ui/compose/memory_cell.h"
#include "ui/compose/rank_tiles.h"
#include "ui/compose/schedule_view.h"
#include "ui/compose/scroll_panel.h"
#include "ui/theme/theme.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/figure_cell.h"
#include "ui/widgets/format.h"
#include "ui/widgets/text_label.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QStackedWidget>
#include <QStyle>
#include <QVBoxLayout>

#include <set>

namespace trainyard::ui {

namespace {

constexpr int kFormWidth = 284;
constexpr int kParallelismLabelWidth = 104;

/// Colours of the memory classes with their words.
class MemoryLegend : public QWidget {
public:
    MemoryLegend(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
        setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
        followTheme(this, theme);
    }
    QSize sizeHint() const override {
        const QFontMetrics metrics(m_theme.font(TypeStyle::Small));
        int width = 0;
        for (const MemoryPart& part : memoryParts({}))
            width += metrics.horizontalAdvance(memoryClassWord(part.kind)) +
                     m_theme.px(12 + space::kXs + space::kL);
        return {width, m_theme.px(20)};
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setFont(m_theme.font(TypeStyle::Small));
        const int swatch = m_theme.px(10);
        int x = 0;
        for (const MemoryPart& part : memoryParts({})) {
            painter.fillRect(QRect(x, (height() - swatch) / 2, swatch, swatch),
                             m_theme.color(part.kind));
            x += swatch + m_theme.px(space::kXs + 2);
            const QString word = memoryClassWord(part.kind);
            painter.setPen(m_theme.color(Color::Text2));
            painter.drawText(QRect(x, 0, width(), height()), Qt::AlignVCenter, word);
            x += painter.fontMetrics().horizontalAdvance(word) + m_theme.px(space::kL);
        }
    }

private:
    const Theme& m_theme;
};

} // namespace

ParallelismTab::ParallelismTab(const Theme& theme, app::ExperimentDocument& document,
                               app::DeviceModel& devices, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document), m_devices(devices) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeForm());
    layout->addWidget(makePlan(), 1);
    connect(&document, &app::ExperimentDocument::changed, this, &ParallelismTab::refresh);
    connect(&document, &app::ExperimentDocument::pricesChanged, this, &ParallelismTab::refresh);
    connect(&devices, &app::DeviceModel::stateChanged, this, &ParallelismTab::refresh);
    connect(&devices, &app::DeviceModel::calibrationChanged, this, [this] {
        if (const plan::Calibration* calibration = m_devices.calibration())
            m_document.setCalibration(*calibration); // buckets are cut by it
    });
    refresh();
}

QWidget* ParallelismTab::makeForm() {
    auto* frame = new QFrame(this);
    frame->setProperty("region", QStringLiteral("panelLeft"));
    frame->setFixedWidth(m_theme.px(kFormWidth));
    auto* frameColumn = new QVBoxLayout(frame);
    frameColumn->setContentsMargins(0, 0, 0, 0);
    auto* scroll = new ScrollPanel(frame);
    frameColumn->addWidget(scroll);
    auto* panel = new QWidget;
    auto* column = new QVBoxLayout(panel);
    const int side = m_theme.px(space::kL);
    column->setContentsMargins(side, m_theme.px(space::kM), side, side);
    column->setSpacing(m_theme.px(space::kM));
    const int label = m_theme.px(kParallelismLabelWidth);
    auto* mesh = new FormGroup(m_theme, m_document, tr("Ranks"), label, panel);
    m_ranks = mesh->addField("parallel.data");
    mesh->addField("parallel.shares");
    m_tensor = mesh->addField("parallel.tensor");
    mesh->addField("parallel.pipeline");
    mesh->addField("parallel.balance");
    m_verdict = makeParagraph(m_theme, TypeStyle::Small, QStringLiteral("text2"), {}, panel);
    mesh->addWidget(m_verdict);
    column->addWidget(mesh);
    m_pipeline = new FormGroup(m_theme, m_document, tr("Pipeline"), label, panel);
    for (const char* path : {"parallel.micro_batches", "parallel.schedule",
                             "parallel.stages_per_rank", "parallel.cuts"})
        m_pipeline->addField(path);
    column->addWidget(m_pipeline);
    auto* memory = new FormGroup(m_theme, m_document, tr("Memory"), label, panel);
    for (const char* path : {"parallel.accumulate", "parallel.zero", "parallel.recompute"})
        memory->addField(path);
    column->addWidget(memory);
    m_exchange = new FormGroup(m_theme, m_document, tr("Exchange"), label, panel);
    m_compression = m_exchange->addField("parallel.compression");
    m_exchange->addField("parallel.compression_rank");
    m_exchange->addField("parallel.compression_warmup");
    m_compressionCosts =
        makeParagraph(m_theme, TypeStyle::Small, QStringLiteral("warning"), {}, panel);
    m_exchange->addWidget(m_compressionCosts);
    m_exchange->addField("parallel.transport");
    m_exchange->addField("parallel.bucket_bytes");
    m_exchange->addWidget(makeParagraph(
        m_theme, TypeStyle::Small, QStringLiteral("text3"),
        tr("After each backward pass the ranks add up their gradients, so that all make the same "
           "update."),
        panel));
    column->addWidget(m_exchange);
    column->addStretch(1);
    scroll->setContent(panel);
    return frame;
}

QWidget* ParallelismTab::makePlan() {
    auto* panel = new QWidget(this);
    auto* column = new QVBoxLayout(panel);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    m_stack = new QStackedWidget(panel);
    m_empty = new EmptyState(m_theme, QStringLiteral("layout"), m_stack);
    m_empty->setMessage(tr("No plan yet"),
                        tr("It is made as soon as the problems below are solved."));
    m_stack->addWidget(m_empty);

    auto* scroll = new ScrollPanel(m_stack);
    auto* board = new QWidget;
    auto* rows = new QVBoxLayout(board);
    const int side = m_theme.px(space::kL);
    rows->setContentsMargins(side, m_theme.px(space::kM), side, side);
    rows->setSpacing(m_theme.px(space::kS));
    auto* head = new QHBoxLayout;
    auto* title = new TextLabel(m_theme, TypeStyle::Strong, Color::Text, board);
    title->setText(tr("This computer"));
    title->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    m_machine = new TextLabel(m_theme, TypeStyle::Small, Color::Text3, board);
    head->setSpacing(m_theme.px(space::kM));
    head->addWidget(title);
    head->addWidget(m_machine, 1);
    head->addWidget(new MemoryLegend(m_theme, board));
    rows->addLayout(head);
    m_tiles = new RankTiles(m_theme, board);
    rows->addWidget(m_tiles);
    rows->addStretch(1);
    scroll->setContent(board);
    m_stack->addWidget(scroll);
    column->addWidget(m_stack, 1);
    m_schedule = new ScheduleView(m_theme, panel);
    column->addWidget(m_schedule);
    column->addWidget(makeTraffic());
    return panel;
}

QWidget* ParallelismTab::makeTraffic() {
    auto* panel = new QFrame(this);
    panel->setProperty("region", QStringLiteral("strip"));
    auto* row = new QHBoxLayout(panel);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    m_sent = new FigureCell(m_theme, tr("Sent per step and rank"), panel);
    m_buckets = new FigureCell(m_theme, tr("Gradient buckets"), panel);
    m_threads = new FigureCell(m_theme, tr("Threads per rank"), panel);
    for (FigureCell* cell : {m_sent, m_buckets, m_threads})
        row->addWidget(cell);
    m_threads->setSeparator(false);
    row->addStretch(1);
    return panel;
}

void ParallelismTab::refresh() {
    const spec::Experiment& experiment = m_document.experiment();
    const std::int64_t ranks = experiment.parallel.data;
    QString note = tr("one copy, the whole batch");
    if (ranks > experiment.training.batch)
        note =
            tr("a batch of %1 is too small for them").arg(formatCount(experiment.training.batch));
    else if (ranks > 1)
        note = tr("%1 copies: %2")
                   .arg(formatCount(ranks),
                        app::batchArithmetic(experiment.training.batch, experiment.parallel));
    m_ranks->setNote(note);
    refreshFields();
    refreshVerdict();
    refreshPlan();
}

/// A field is there where it changes something, or where it was changed.
void ParallelismTab::refreshFields() {
    const spec::Experiment& experiment = m_document.experiment();
    std::set<const QWidget*> used;
    for (FormField* field : findChildren<FormField*>()) {
        const std::string& path = field->path();
        const bool shown = app::hasEffect(path, experiment.parallel) ||
                           app::valueAt(experiment, path) != app::valueAt({}, path);
        field->setVisible(shown);
        if (shown)
            used.insert(field->parentWidget());
    }
    for (FormGroup* group : {m_pipeline, m_exchange})
        group->setVisible(used.contains(group));
}

/// Ranks that share a core wait for each other: said before it is tried.
void ParallelismTab::refreshVerdict() {
    const auto ranks = static_cast<int>(m_document.experiment().parallel.ranks());
    const bool known = m_devices.facts() != nullptr;
    const int cores = m_devices.cores();
    QString text = tr("This computer has not been looked at yet.");
    const char* tone = "text3";
    if (known && ranks > cores) {
        text = tr("%1 ranks share %2 cores and wait for each other. At most %2 is faster.")
                   .arg(formatCount(ranks), formatCount(cores));
        tone = "warning";
    } else if (known) {
        text = tr("%1 of %2 cores here are used.")
                   .arg(formatCount(ranks * app::threadsPerRank(cores, ranks, true)),
                        formatCount(cores));
        tone = "finished";
    }
    m_verdict->setText(text);
    if (m_verdict->property("tone").toString() != QLatin1StringView(tone)) {
        m_verdict->setProperty("tone", QLatin1StringView(tone));
        m_verdict->style()->unpolish(m_verdict);
        m_verdict->style()->polish(m_verdict);
    }
}

QString ParallelismTab::verdict() const {
    return m_verdict->text();
}

void ParallelismTab::refreshPlan() {
    const app::ShownPrices& shown = m_document.prices();
    const app::MachineProbe* machine = m_devices.facts();
    const bool planned = shown.basis == app::ShownPrices::Basis::Current;
    m_stack->setCurrentIndex(planned ? 1 : 0);
    m_machine->setText(machine
                           ? tr("%1, %2 cores").arg(machine->cpuModel, formatCount(machine->cores))
                           : QString());
    for (FigureCell* cell : {m_sent, m_buckets, m_threads}) {
        cell->setFigure({});
        cell->setDetail({});
    }
    refreshCompression(planned ? &shown.prices.plan : nullptr);
    m_tensor->setNote({});
    if (!planned) {
        m_schedule->hide();
        return;
    }
    const plan::Plan& plan = shown.prices.plan;
    if (const auto& shared = plan.sectionOf(0).sharedClasses; !shared.empty())
        m_tensor->setNote(tr("each scores a part of the classes of %1")
                              .arg(QString::fromStdString(shared.front())));
    const int threads = machine ? app::threadsPerRank(machine->cores, plan.worldSize, true) : 0;
    const double memory =
        machine && machine->memoryTotal ? static_cast<double>(*machine->memoryTotal) : 0;
    m_tiles->setPlan(plan, threads, memory);
    m_schedule->setPlan(plan);
    const auto sent = static_cast<double>(plan.ranks.front().sentPerStep.total());
    const FigureText text = splitUnit(formatBytes(sent));
    m_sent->setFigure(text.figure, text.unit);
    m_sent->setDetail(plan.worldSize == 1 ? tr("one rank needs nobody") : sentText(plan.mesh));
    m_buckets->setFigure(formatCount(static_cast<qint64>(plan.sectionOf(0).buckets.size())));
    const QString size = formatBytes(static_cast<double>(plan.bucketBytes));
    m_buckets->setDetail(plan.mesh.pipeline == 1 ? tr("each sent as soon as it has %1").arg(size)
                                                 : tr("sent after the last micro-batch"));
    if (threads > 0)
        m_threads->setFigure(formatCount(threads));
    m_threads->setDetail(machine ? tr("of %1 cores").arg(formatCount(machine->cores)) : QString());
}

void ParallelismTab::refreshCompression(const plan::Plan* plan) {
    QString note;
    QStringList costs;
    if (plan && plan->compression != plan::Compression::None) {
        const plan::CompressionSaving saving = plan::compressionSaving(*plan);
        note = tr("%1 a step instead of %2: %3 % saved")
                   .arg(formatBytes(static_cast<double>(saving.sent)),
                        formatBytes(static_cast<double>(saving.whole)),
                        QLocale().toString(saving.percent(), 'f', 0));
        const bool overNetwork = m_document.experiment().parallel.transport == "gloo";
        for (const Message& cost : plan::compressionCosts(*plan, overNetwork))
            costs << app::text(cost);
    }
    m_compression->setNote(note);
    m_compressionCosts->setText(costs.join(u' '));
    m_compressionCosts->setVisible(!costs.isEmpty());
}

QString ParallelismTab::compressionCosts() const {
    return m_compressionCosts->text();
}

QString ParallelismTab::sentText(const plan::Mesh& mesh) {
    QStringList parts;
    if (mesh.data > 1)
        parts << tr("gradients");
    if (mesh.tensor > 1)
        parts << tr("parts of layers");
    if (mesh.pipeline > 1)
        parts << tr("values between stages");
    return parts.join(QStringLiteral(", "));
}

void ParallelismTab::visit(const std::string& path) {
    FormField* field = findField(this, path.substr(0, path.find('['))); // of a list, the whole
    (field ? field : m_ranks)->focusInput();
}

} // namespace trainyard::ui

#include "moc_parallelism_tab.cpp"
