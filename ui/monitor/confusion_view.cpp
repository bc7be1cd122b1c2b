// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/monitor/confusion_view.h"

#include "ui/theme/theme.h"
#include "ui/widgets/confusion_map.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/format.h"
#include "ui/widgets/segmented_control.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QStackedWidget>
#include <QTableWidget>

namespace trainyard::ui {

namespace {

enum ClassColumn { NameColumn, SamplesColumn, RecallColumn, PrecisionColumn, ClassColumns };

constexpr int kTableWidth = 420;
constexpr int kShareWidth = 92;

/// Sorts by its number; what is not known comes first.
class FigureItem : public QTableWidgetItem {
public:
    FigureItem(const QString& text, std::optional<double> figure)
        : QTableWidgetItem(text, UserType), m_figure(figure.value_or(-1)) {
        setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    }
    bool operator<(const QTableWidgetItem& other) const override {
        return m_figure < static_cast<const FigureItem&>(other).m_figure;
    }

private:
    double m_figure;
};

QString sharePercent(std::optional<double> share) {
    return share ? withUnit(formatFixed(100 * *share, 1), QStringLiteral("%")) : notAvailable();
}

} // namespace

ConfusionView::ConfusionView(const Theme& theme, app::RunStore& store, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_store(store), m_toolbar(new QWidget(this)),
      m_stack(new QStackedWidget), m_empty(new EmptyState(theme, QStringLiteral("table"))) {
    setObjectName(QStringLiteral("confusionView"));
    makeToolbar();
    m_stack->addWidget(m_empty);
    m_stack->addWidget(makeBody());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_stack);
    showEmpty();
}

void ConfusionView::makeToolbar() {
    m_toolbar->hide(); // until somebody gives it a place
    m_which = new SegmentedControl(m_theme, tr("Validation"));
    m_which->addSegment(tr("Newest"));
    m_which->addSegment(tr("Best"));
    m_which->setCurrent(0);
    m_values = new SegmentedControl(m_theme, tr("Values"));
    m_values->addSegment(tr("Counts"));
    m_values->addSegment(tr("% of label"));
    m_values->setCurrent(0);
    m_sentence = new TextLabel(m_theme, TypeStyle::Small, Color::Text2);
    m_sentence->setObjectName(QStringLiteral("confusionSentence"));
    m_sentence->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    connect(m_which, &SegmentedControl::chosen, this, &ConfusionView::refresh);
    connect(m_values, &SegmentedControl::chosen, this,
            [this](int index) { m_map->setValues(static_cast<ConfusionMap::Values>(index)); });
    auto* row = new QHBoxLayout(m_toolbar);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(space::kM);
    row->addWidget(m_sentence, 1);
    row->addWidget(m_which);
    row->addWidget(m_values);
}

QWidget* ConfusionView::makeBody() {
    auto* body = new QFrame;
    body->setProperty("region", QStringLiteral("surface"));
    m_map = new ConfusionMap(m_theme);
    makeClasses();
    auto* row = new QHBoxLayout(body);
    row->setContentsMargins(m_theme.px(space::kL), m_theme.px(space::kS), m_theme.px(space::kL),
                            m_theme.px(space::kM));
    row->setSpacing(m_theme.px(space::kXl));
    row->addWidget(m_map, 1);
    row->addWidget(m_classes);
    return body;
}

void ConfusionView::makeClasses() {
    m_classes = new QTableWidget(0, ClassColumns);
    m_classes->setObjectName(QStringLiteral("classTable"));
    m_classes->setAccessibleName(tr("Recall and precision of each class"));
    m_classes->setHorizontalHeaderLabels(
        {tr("Class"), tr("Samples"), tr("Recall"), tr("Precision")});
    m_classes->horizontalHeaderItem(RecallColumn)
        ->setToolTip(tr("Of the samples of this class, the share that was found"));
    m_classes->horizontalHeaderItem(PrecisionColumn)
        ->setToolTip(tr("Of what was taken for this class, the share that is it"));
    m_classes->setFixedWidth(m_theme.px(kTableWidth));
    m_classes->setFrameShape(QFrame::NoFrame);
    m_classes->setShowGrid(false);
    m_classes->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_classes->setSelectionMode(QAbstractItemView::SingleSelection);
    m_classes->setWordWrap(false);
    m_classes->verticalHeader()->hide();
    m_classes->verticalHeader()->setDefaultSectionSize(m_theme.px(height::kRowCompact));
    QHeaderView* head = m_classes->horizontalHeader();
    head->setHighlightSections(false);
    head->setSectionResizeMode(NameColumn, QHeaderView::Stretch);
    for (const int column : {SamplesColumn, RecallColumn, PrecisionColumn}) {
        m_classes->setColumnWidth(column, m_theme.px(kShareWidth));
        // Not at the right, where the mark of sorting is.
        m_classes->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignCenter);
    }
    m_classes->horizontalHeaderItem(NameColumn)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_classes->setSortingEnabled(true);
    m_classes->sortByColumn(RecallColumn, Qt::AscendingOrder); // the worst first
}

void ConfusionView::showRun(std::optional<app::RunId> run) {
    m_run = run;
    refresh();
}

void ConfusionView::refresh() {
    std::optional<app::ConfusionTable> table;
    if (m_run) {
        const auto which =
            m_which->current() == 1 ? app::Validation::Best : app::Validation::Newest;
        Result<std::optional<app::ConfusionTable>> read = m_store.reader().confusion(*m_run, which);
        if (read)
            table = std::move(*read);
    }
    m_stack->setCurrentIndex(table ? 1 : 0);
    m_which->setEnabled(table.has_value());
    m_values->setEnabled(table.has_value());
    // While nothing is new, what was chosen in the table stays.
    if (table && m_table && table->step() == m_table->step() &&
        table->total() == m_table->total() && m_tableOf == m_run)
        return;
    m_table = std::move(table);
    m_tableOf = m_run;
    m_map->setTable(m_table);
    if (!m_table)
        return showEmpty();
    const double share = m_table->total() > 0 ? static_cast<double>(m_table->correct()) /
                                                    static_cast<double>(m_table->total())
                                              : 0;
    m_sentence->setText(tr("Epoch %1: %2 of %3 right (%4)")
                            .arg(formatFixed(m_table->epoch(), 1), formatCount(m_table->correct()),
                                 formatCount(m_table->total()), sharePercent(share)));
    fillClasses();
}

void ConfusionView::showEmpty() {
    m_sentence->setText({});
    m_empty->setMessage(
        tr("No confusion matrix"),
        m_run
            ? tr("It is counted at each validation of a model that tells up to 100 classes apart.")
            : tr("Choose a run in the table."));
}

void ConfusionView::fillClasses() {
    m_classes->setSortingEnabled(false); // rows must not move while they are filled
    m_classes->setRowCount(m_table->classes());
    for (int each = 0; each < m_table->classes(); ++each) {
        auto* name = new FigureItem(m_table->name(each).simplified(), each);
        name->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
        m_classes->setItem(each, NameColumn, name);
        const std::int64_t samples = m_table->labelled(each);
        m_classes->setItem(each, SamplesColumn,
                           new FigureItem(formatCount(samples), static_cast<double>(samples)));
        const auto recall = m_table->recall(each), precision = m_table->precision(each);
        m_classes->setItem(each, RecallColumn, new FigureItem(sharePercent(recall), recall));
        m_classes->setItem(each, PrecisionColumn,
                           new FigureItem(sharePercent(precision), precision));
    }
    m_classes->setSortingEnabled(true);
}

} // namespace trainyard::ui

#include "moc_confusion_view.cpp"
