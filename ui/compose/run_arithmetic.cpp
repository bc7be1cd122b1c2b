// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/run_arithmetic.h"

#include "app/models/experiment_fields.h"
#include "ui/theme/theme.h"
#include "ui/widgets/format.h"
#include "ui/widgets/number_label.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

namespace trainyard::ui {

RunArithmetic::RunArithmetic(const Theme& theme, app::ExperimentDocument& document, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(theme.px(space::kS));
    auto* title = new TextLabel(theme, TypeStyle::Strong, Color::Text, this);
    title->setText(tr("The run in numbers"));
    column->addWidget(title);
    for (const QString& label : {tr("Samples an epoch"), tr("Batch over the copies"),
                                 tr("Steps an epoch"), tr("Last step of an epoch"),
                                 tr("Steps in all"), tr("Warm-up"), tr("Samples seen in all")})
        addRow(column, label);
    column->addStretch(1);
    connect(&document, &app::ExperimentDocument::pricesChanged, this, &RunArithmetic::refresh);
    refresh();
}

void RunArithmetic::addRow(QVBoxLayout* column, const QString& label) {
    auto* row = new QHBoxLayout;
    row->setSpacing(m_theme.px(space::kS));
    auto* name = new TextLabel(m_theme, TypeStyle::Body, Color::Text2, this);
    name->setText(label);
    auto* value = new NumberLabel(m_theme, TypeStyle::Body, this);
    value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    row->addWidget(name, 1);
    row->addWidget(value);
    column->addLayout(row);
    m_rows.emplace_back(label, value);
}

QString RunArithmetic::value(const QString& label) const {
    for (const auto& [name, row] : m_rows)
        if (name == label)
            return row->number();
    return {};
}

void RunArithmetic::set(const QString& label, const QString& value) {
    for (const auto& [name, row] : m_rows)
        if (name == label) {
            row->setNumber(value);
            row->setAccessibleName(label + u": " + (value.isEmpty() ? notAvailable() : value));
        }
}

QString RunArithmetic::lastStepText(const plan::Plan& plan) const {
    const std::int64_t rows = plan.rowsOfStep(plan.stepsPerEpoch - 1);
    return rows == plan.batch ? tr("full") : tr("%1 samples").arg(formatCount(rows));
}

QString RunArithmetic::warmupText(const plan::Plan& plan, bool stepsKnown) const {
    const auto value = m_document.value("training.schedule.warmup_steps");
    const auto rise = m_document.value("training.schedule.rise_share"); // of one cycle
    const auto* steps = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    if (const auto* part = rise ? std::get_if<double>(&*rise) : nullptr)
        return tr("%1 of the run").arg(withUnit(formatFixed(100 * *part, 0), tr("%")));
    if (!steps)
        return {};
    if (*steps == 0)
        return tr("none");
    if (!stepsKnown || plan.steps < 1)
        return tr("%1 steps").arg(formatCount(*steps));
    const double share = 100.0 * static_cast<double>(*steps) / static_cast<double>(plan.steps);
    return tr("%1 steps, %2 of the run")
        .arg(formatCount(*steps), withUnit(formatFixed(share, share < 10 ? 1 : 0), tr("%")));
}

void RunArithmetic::refresh() {
    const app::ShownPrices& shown = m_document.prices();
    const bool planned = shown.basis == app::ShownPrices::Basis::Current;
    const bool known = planned && shown.prices.dataKnown;
    const plan::Plan& plan = shown.prices.plan;
    const spec::Experiment& experiment = m_document.experiment();
    const auto whenKnown = [known](const QString& text) {
        return known ? text : QString();
    };
    set(tr("Samples an epoch"), whenKnown(formatCount(plan.data.trainSamples)));
    set(tr("Batch over the copies"),
        planned ? app::batchArithmetic(experiment.training.batch, experiment.parallel) : QString());
    set(tr("Steps an epoch"), whenKnown(formatCount(plan.stepsPerEpoch)));
    set(tr("Last step of an epoch"), known ? lastStepText(plan) : QString());
    set(tr("Steps in all"), whenKnown(formatCount(plan.steps)));
    set(tr("Warm-up"), warmupText(plan, known));
    const std::int64_t epochs = known ? plan.steps / plan.stepsPerEpoch : 0;
    const std::int64_t rest = known ? plan.steps % plan.stepsPerEpoch : 0;
    set(tr("Samples seen in all"),
        whenKnown(formatCount(epochs * plan.data.trainSamples + rest * plan.batch)));
}

} // namespace trainyard::ui

#include "moc_run_arithmetic.cpp"
