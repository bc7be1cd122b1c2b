// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/monitor/step_split_view.h"

#include "ui/theme/theme.h"
#include "ui/widgets/number_label.h"
#include "ui/widgets/step_bars.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace trainyard::ui {

namespace {

constexpr int kRowsAtOnce = 8; ///< the others by scrolling

static_assert(kStepPartCount == spec::metric::kStepParts.size());
// Parts of the store and of the theme stand in the same order.

} // namespace

StepSplitView::StepSplitView(const Theme& theme, QWidget* parent)
    : QFrame(parent), m_theme(theme), m_step(new NumberLabel(theme, TypeStyle::Small)),
      m_legend(new StepLegend(theme)), m_bars(new StepBars(theme)), m_area(new QScrollArea),
      m_details(makeParagraph(theme, TypeStyle::Small, QStringLiteral("text2"))) {
    setObjectName(QStringLiteral("stepSplit"));
    setProperty("region", QStringLiteral("surface"));
    auto* title = new TextLabel(theme, TypeStyle::Strong);
    title->setText(tr("Where a step goes"));
    auto* head = new QHBoxLayout;
    head->setContentsMargins(0, 0, 0, 0);
    head->setSpacing(space::kS);
    head->addWidget(title, 1);
    head->addWidget(m_step);
    m_area->setWidget(m_bars);
    m_area->setWidgetResizable(true);
    m_area->viewport()->setAutoFillBackground(false); // the surface of the panel shows through
    m_bars->setAutoFillBackground(false);
    m_area->setFrameShape(QFrame::NoFrame);
    m_area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_area->setFocusPolicy(Qt::NoFocus);
    m_details->setObjectName(QStringLiteral("stepDetails"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(space::kL, space::kS, space::kL, space::kS);
    layout->setSpacing(space::kXs);
    layout->addLayout(head);
    layout->addWidget(m_legend);
    layout->addWidget(m_area);
    layout->addWidget(m_details);
    layout->addStretch(1);
    connect(m_bars, &StepBars::currentChanged, this, [this] {
        showDetails();
        const int line =
            m_bars->height() / std::max<int>(1, static_cast<int>(m_bars->rows().size()));
        m_area->ensureVisible(0, m_bars->current() * line + line / 2, 0, line);
    });
    hide();
}

void StepSplitView::setCurves(const app::RunCurves* curves) {
    if (m_curves == curves)
        return;
    if (m_curves)
        disconnect(m_curves, nullptr, this, nullptr);
    m_curves = curves;
    if (m_curves)
        connect(m_curves, &app::RunCurves::appended, this, &StepSplitView::refresh);
    refresh();
}

QString StepSplitView::details() const {
    return m_details->text();
}

void StepSplitView::refresh() {
    std::vector<StepBars::Row> rows;
    StepParts most{};
    double step = 0;
    if (m_curves)
        for (const auto& [rank, lane] : m_curves->lanes()) {
            if (lane.split.step <= 0)
                continue;
            rows.push_back({tr("Rank %1").arg(rank), lane.split.step, lane.split.parts});
            step = std::max(step, lane.split.step);
            for (std::size_t part = 0; part < most.size(); ++part)
                most[part] = std::max(most[part], lane.split.parts[part]);
        }
    setVisible(!rows.empty());
    if (rows.empty())
        return m_bars->setRows({});
    std::vector<StepPart> parts;
    for (std::size_t part = 0; part < most.size(); ++part)
        if (most[part] > 0)
            parts.push_back(static_cast<StepPart>(part));
    m_legend->setParts(std::move(parts));
    const int shown = std::min(kRowsAtOnce, static_cast<int>(rows.size()));
    m_bars->setRows(std::move(rows));
    const int line = m_bars->sizeHint().height() / static_cast<int>(m_bars->rows().size());
    m_area->setFixedHeight(line * shown);
    m_step->setNumber(stepTimeText(step));
    showDetails();
}

void StepSplitView::showDetails() {
    const std::vector<StepBars::Row>& rows = m_bars->rows();
    const auto current = static_cast<std::size_t>(m_bars->current());
    m_details->setText(current < rows.size() ? StepBars::describe(rows[current]) : QString());
}

} // namespace trainyard::ui

#include "moc_step_split_view.cpp"
