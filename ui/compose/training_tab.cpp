// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/training_tab.h"

#include "app/models/experiment_fields.h"
#include "app/models/experiment_path.h"
#include "engine/spec/training.h"
#include "ui/compose/form_field.h"
#include "ui/compose/form_group.h"
#include "ui/compose/run_arithmetic.h"
#include "ui/compose/scroll_panel.h"
#include "ui/theme/theme.h"

#include <QFrame>
#include <QGridLayout>
#include <QLocale>
#include <QResizeEvent>
#include <QVBoxLayout>

namespace trainyard::ui {

namespace {

constexpr int kColumnWidth = 440;
constexpr int kTrainingLabelWidth = 132;
/// From this width of the tab on the numbers stand beside the columns, not below.
constexpr int kThreeColumns = 1240;

/// "rate × 2 = 0.002" where the rate is scaled to the batch.
QString scaledRateText(const spec::Experiment& experiment) {
    const auto& batch = experiment.training.learningRateBatch;
    const auto value = app::valueAt(experiment, "training.optimizer.learning_rate");
    const auto* rate = value ? std::get_if<double>(&*value) : nullptr;
    if (!batch || *batch < 1 || !rate)
        return {};
    const double factor = spec::learningRateFactor(experiment.training);
    const auto number = [](double shown) {
        return QLocale().toString(shown, 'g', 4);
    };
    return TrainingTab::tr("rate × %1 = %2").arg(number(factor), number(factor * *rate));
}

} // namespace

TrainingTab::TrainingTab(const Theme& theme, app::ExperimentDocument& document, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document), m_learning(makeLearning()),
      m_batches(makeBatches()), m_arithmetic(new RunArithmetic(theme, document)) {
    auto* frame = new QFrame(this);
    frame->setProperty("region", QStringLiteral("surface"));
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(frame);
    auto* inside = new QVBoxLayout(frame);
    inside->setContentsMargins(0, 0, 0, 0);
    auto* scroll = new ScrollPanel(frame);
    inside->addWidget(scroll);
    auto* content = new QWidget;
    m_grid = new QGridLayout(content);
    const int side = theme.px(space::kXl);
    m_grid->setContentsMargins(side, theme.px(space::kL), side, theme.px(space::kL));
    m_grid->setHorizontalSpacing(theme.px(space::kXxl));
    m_grid->setVerticalSpacing(theme.px(space::kXl));
    scroll->setContent(content);
    place(true);
}

QWidget* TrainingTab::makeLearning() {
    auto* column = new QWidget;
    auto* layout = new QVBoxLayout(column);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(m_theme.px(space::kXl));
    const int label = m_theme.px(kTrainingLabelWidth);
    layout->addWidget(new TypedGroup(m_theme, m_document, tr("Optimizer"), spec::Kind::Optimizer,
                                     "training.optimizer.type", app::optimizerFields, label));
    layout->addWidget(new TypedGroup(m_theme, m_document, tr("Learning rate schedule"),
                                     spec::Kind::Schedule, "training.schedule.type",
                                     app::scheduleFields, label));
    layout->addStretch(1);
    return column;
}

QWidget* TrainingTab::makeBatches() {
    auto* column = new QWidget;
    auto* layout = new QVBoxLayout(column);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(m_theme.px(space::kXl));
    const int label = m_theme.px(kTrainingLabelWidth);
    auto* batches = new FormGroup(m_theme, m_document, tr("Batch and length"), label);
    FormField* batch = batches->addField("training.batch");
    FormField* rateBatch = batches->addField("training.learning_rate_batch");
    for (const char* path : {"training.epochs", "training.max_steps"})
        batches->addField(path);
    const auto noteBatch = [this, batch, rateBatch] {
        const spec::Experiment& experiment = m_document.experiment();
        const std::int64_t ranks = experiment.parallel.data;
        QString note = tr("one copy, the whole batch");
        if (ranks > experiment.training.batch)
            note.clear(); // the problem says it
        else if (ranks > 1)
            note = tr("%1, one part for each copy")
                       .arg(app::batchArithmetic(experiment.training.batch, experiment.parallel));
        batch->setNote(note);
        rateBatch->setNote(scaledRateText(experiment));
    };
    connect(&m_document, &app::ExperimentDocument::changed, batch, noteBatch);
    noteBatch();
    layout->addWidget(batches);
    auto* numbers = new FormGroup(m_theme, m_document, tr("Numbers"), label);
    for (const char* path :
         {"precision", "training.clip_norm", "training.ema_decay", "training.seed"})
        numbers->addField(path);
    layout->addWidget(makeStopping());
    layout->addWidget(numbers);
    layout->addStretch(1);
    return column;
}

/// Patience and what counts as better are there only while there is early stopping.
QWidget* TrainingTab::makeStopping() {
    auto* group =
        new FormGroup(m_theme, m_document, tr("Early stopping"), m_theme.px(kTrainingLabelWidth));
    group->addField("training.early_stopping.metric");
    for (const char* path :
         {"training.early_stopping.patience", "training.early_stopping.min_delta"}) {
        FormField* field = group->addField(path);
        const auto follow = [this, field] {
            field->setVisible(m_document.experiment().training.earlyStopping.has_value());
        };
        connect(&m_document, &app::ExperimentDocument::changed, field, follow);
        follow();
    }
    return group;
}

void TrainingTab::place(bool wide) {
    if (m_wide == wide)
        return;
    m_wide = wide;
    for (QWidget* part : {m_learning, m_batches, static_cast<QWidget*>(m_arithmetic)}) {
        m_grid->removeWidget(part);
        part->setMaximumWidth(m_theme.px(kColumnWidth));
    }
    m_grid->addWidget(m_learning, 0, 0, wide ? 1 : 2, 1);
    m_grid->addWidget(m_batches, 0, 1);
    m_grid->addWidget(m_arithmetic, wide ? 0 : 1, wide ? 2 : 1);
    for (int column = 0; column < 3; ++column)
        m_grid->setColumnStretch(column, wide || column < 2 ? 1 : 0);
    m_grid->setRowStretch(wide ? 0 : 1, 1);
}

void TrainingTab::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    place(event->size().width() >= m_theme.px(kThreeColumns));
}

void TrainingTab::visit(const std::string& path) {
    if (FormField* field = findField(this, path))
        field->focusInput();
}

} // namespace trainyard::ui

#include "moc_training_tab.cpp"
