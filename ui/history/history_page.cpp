// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/history/history_page.h"

#include "app/models/message_text.h"
#include "app/store/run_export.h"
#include "ui/history/compare_view.h"
#include "ui/history/predict_view.h"
#include "ui/history/run_delegate.h"
#include "ui/monitor/confusion_view.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/button.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/format.h"
#include "ui/widgets/segmented_control.h"
#include "ui/widgets/text_label.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QSaveFile>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>

namespace trainyard::ui {

using app::RunListModel;

namespace {

enum Panel { CurvesPanel, ConfusionPanel, PredictPanel };

struct ColumnWidth {
    int column;
    int width;
};
constexpr ColumnWidth kWidths[] = {
    {RunListModel::ComparedColumn, 32}, {RunListModel::SlotColumn, 44},
    {RunListModel::NumberColumn, 64},   {RunListModel::NameColumn, 240},
    {RunListModel::StatusColumn, 116},  {RunListModel::BestColumn, 112},
    {RunListModel::CurveColumn, 104},   {RunListModel::LossColumn, 104},
    {RunListModel::RanksColumn, 64},    {RunListModel::DurationColumn, 96},
    {RunListModel::StartedColumn, 210},
};

} // namespace

HistoryPage::HistoryPage(const Theme& theme, app::RunStore& store, app::RunListModel& runs,
                         app::RunFollower& follower, const app::LocalLauncher& launcher,
                         QWidget* parent)
    : QWidget(parent), m_theme(theme), m_store(store), m_runs(runs), m_follower(follower),
      m_launcher(launcher), m_stack(new QStackedWidget),
      m_banner(new Banner(theme, Banner::Kind::Error)),
      m_compare(new CompareView(theme, store, runs)), m_confusion(new ConfusionView(theme, store)),
      m_predict(new PredictView(theme, store, launcher)) {
    setObjectName(QStringLiteral("historyPage"));
    m_filtered.setSourceModel(&m_runs);
    auto* empty = new EmptyState(theme, QStringLiteral("history"));
    empty->setMessage(tr("No runs yet"), tr("Every run is kept here with its curves and its "
                                            "experiment, to be compared and cloned."));
    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->setHandleWidth(1);
    splitter->addWidget(makeTable());
    splitter->addWidget(makePanels());
    splitter->setChildrenCollapsible(false);
    splitter->setSizes({360, 400});
    m_stack->addWidget(empty);
    m_stack->addWidget(splitter);
    m_banner->hide();
    m_banner->setDismissable(true);
    connect(m_banner, &Banner::dismissed, m_banner, &QWidget::hide);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeHeader());
    layout->addWidget(m_banner);
    layout->addWidget(m_stack, 1);
    connect(&m_runs, &RunListModel::refreshed, this, &HistoryPage::updateActions);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this,
            &HistoryPage::updateActions);
    updateActions();
}

QWidget* HistoryPage::makeHeader() {
    auto* header = new QFrame;
    header->setProperty("region", QStringLiteral("pageHeader"));
    header->setFixedHeight(m_theme.px(height::kPageHeader));
    auto* title = new TextLabel(m_theme, TypeStyle::Title);
    title->setText(tr("History"));
    m_count = new TextLabel(m_theme, TypeStyle::Small, Color::Text3);
    m_filter = new QLineEdit;
    m_filter->setObjectName(QStringLiteral("runFilter"));
    m_filter->setPlaceholderText(tr("Filter by name, number or state"));
    m_filter->setClearButtonEnabled(true);
    m_filter->setFixedWidth(m_theme.px(280));
    m_open = makeButton(m_theme, ButtonKind::Quiet, tr("Open"), QStringLiteral("monitor"));
    m_clone = makeButton(m_theme, ButtonKind::Normal, tr("Clone"), QStringLiteral("copy"));
    m_predictButton =
        makeButton(m_theme, ButtonKind::Quiet, tr("Predict…"), QStringLiteral("wand"));
    m_predictButton->setObjectName(QStringLiteral("predictButton"));
    m_predictButton->setToolTip(tr("Ask the model of this run about something new"));
    m_export = makeButton(m_theme, ButtonKind::Quiet, tr("Export"), QStringLiteral("download"));
    m_delete = makeButton(m_theme, ButtonKind::Quiet, tr("Delete"), QStringLiteral("trash"));
    connect(m_filter, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_filtered.setFilterText(text);
        updateActions();
    });
    connect(m_open, &QPushButton::clicked, this, [this] {
        if (const auto run = currentRun())
            emit openRequested(*run);
    });
    connect(m_clone, &QPushButton::clicked, this, [this] {
        if (const auto run = currentRun())
            emit cloneRequested(*run);
    });
    connect(m_predictButton, &QPushButton::clicked, this, [this] { showPanel(PredictPanel); });
    connect(m_export, &QPushButton::clicked, this, &HistoryPage::exportCurrent);
    connect(m_delete, &QPushButton::clicked, this, &HistoryPage::askToDelete);
    auto* row = new QHBoxLayout(header);
    row->setContentsMargins(space::kL, 0, space::kL, 0);
    row->setSpacing(space::kS);
    row->addWidget(title);
    row->addWidget(m_count);
    row->addSpacing(space::kM);
    row->addWidget(m_filter);
    row->addStretch(1);
    for (QPushButton* button : {m_open, m_predictButton, m_export, m_delete, m_clone})
        row->addWidget(button);
    return header;
}

QWidget* HistoryPage::makeTable() {
    m_table = new QTableView;
    m_table->setObjectName(QStringLiteral("runTable"));
    m_table->setAccessibleName(tr("Runs"));
    m_table->setModel(&m_filtered);
    m_table->setItemDelegate(new RunDelegate(m_theme, m_table));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(RunListModel::NumberColumn, Qt::DescendingOrder);
    m_table->setShowGrid(false);
    m_table->setMouseTracking(true);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(m_theme.px(height::kRow));
    m_table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    QHeaderView* head = m_table->horizontalHeader();
    head->setHighlightSections(false);
    head->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    head->setMinimumSectionSize(m_theme.px(28));
    for (const ColumnWidth& each : kWidths)
        m_table->setColumnWidth(each.column, m_theme.px(each.width));
    head->setSectionResizeMode(RunListModel::NameColumn, QHeaderView::Stretch);
    m_table->installEventFilter(this);
    connect(m_table, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
        if (index.column() > RunListModel::ComparedColumn)
            m_open->click();
    });
    return m_table;
}

QWidget* HistoryPage::makePanels() {
    auto* area = new QFrame;
    area->setProperty("region", QStringLiteral("surface"));
    m_panel = new SegmentedControl(m_theme, tr("Below the table"));
    m_panel->setObjectName(QStringLiteral("historyPanel"));
    m_panel->addSegment(tr("Curves"));
    m_panel->addSegment(tr("Confusion"));
    m_panel->addSegment(tr("Predict"));
    m_panelBars = new QStackedWidget;
    m_panels = new QStackedWidget;
    const auto add = [this](QWidget* bar, QWidget* panel) {
        m_panelBars->addWidget(bar);
        m_panels->addWidget(panel);
    };
    add(m_compare->toolbar(), m_compare);
    add(m_confusion->toolbar(), m_confusion);
    add(m_predict->toolbar(), m_predict);
    connect(m_panel, &SegmentedControl::chosen, this, &HistoryPage::showPanel);
    auto* bar = new QWidget;
    bar->setFixedHeight(m_theme.px(40));
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(space::kL, 0, space::kL, 0);
    row->setSpacing(space::kM);
    row->addWidget(m_panel);
    row->addWidget(m_panelBars, 1);
    auto* column = new QVBoxLayout(area);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(bar);
    column->addWidget(m_panels, 1);
    m_panel->setCurrent(CurvesPanel);
    return area;
}

void HistoryPage::showPanel(int panel) {
    m_panel->setCurrent(panel);
    m_panels->setCurrentIndex(panel);
    m_panelBars->setCurrentIndex(panel);
    updatePanels();
}

/// Of the chosen run only what it has.
void HistoryPage::updatePanels() {
    const auto run = currentRun();
    const app::RunRecord* record = run ? m_runs.record(*run) : nullptr;
    m_confusion->showRun(run);
    const bool asked = record && app::canPredict(m_launcher, *record);
    m_predict->showRun(asked ? record : nullptr);
    m_predictButton->setEnabled(asked);
    const auto offer = [this](Panel panel, bool there) {
        m_panel->setSegmentShown(panel, there || m_panel->current() == panel);
    };
    offer(ConfusionPanel, m_confusion->hasTable());
    offer(PredictPanel, asked);
}

std::optional<app::RunId> HistoryPage::currentRun() const {
    const QModelIndex index = m_table->currentIndex();
    if (!index.isValid())
        return std::nullopt;
    return static_cast<app::RunId>(index.data(RunListModel::RunIdRole).toLongLong());
}

void HistoryPage::updateActions() {
    const int all = m_runs.rowCount();
    const int shown = m_filtered.rowCount();
    m_stack->setCurrentIndex(all > 0 ? 1 : 0);
    m_count->setText(shown == all ? tr("%1 in all").arg(formatCount(all))
                                  : tr("%1 of %2").arg(formatCount(shown), formatCount(all)));
    const bool chosen = currentRun().has_value();
    for (QPushButton* button : {m_open, m_clone, m_export, m_delete})
        button->setEnabled(chosen);
    updatePanels();
    if (m_runs.error())
        showProblem(tr("The store cannot be read."), *m_runs.error());
}

void HistoryPage::toggleCompared() {
    if (const auto run = currentRun())
        m_runs.setCompared(*run, m_runs.slotOf(*run) < 0);
}

bool HistoryPage::eventFilter(QObject* watched, QEvent* event) {
    if (watched != m_table || event->type() != QEvent::KeyPress)
        return QWidget::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Space) {
        toggleCompared();
        return true;
    }
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
        m_open->click();
        return true;
    }
    if (key->key() == Qt::Key_Delete) {
        m_delete->click();
        return true;
    }
    if (key->matches(QKeySequence::Find)) {
        m_filter->setFocus(Qt::ShortcutFocusReason);
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

void HistoryPage::exportCurrent() {
    const auto run = currentRun();
    const app::RunRecord* record = run ? m_runs.record(*run) : nullptr;
    if (!record)
        return;
    auto* dialog = new QFileDialog(this, tr("Export run #%1").arg(static_cast<qint64>(*run)));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilters({tr("Table of all steps (*.csv)"), tr("Everything as JSON (*.json)")});
    dialog->setDefaultSuffix(QStringLiteral("csv"));
    dialog->selectFile(app::exportBaseName(*record) + QStringLiteral(".csv"));
    connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) {
        const bool json = filter.contains(QStringLiteral("json"));
        dialog->setDefaultSuffix(json ? QStringLiteral("json") : QStringLiteral("csv"));
    });
    connect(dialog, &QFileDialog::fileSelected, this, [this, id = *run](const QString& path) {
        QSaveFile file(path);
        if (!file.open(QIODevice::WriteOnly)) {
            showProblem(
                tr("The run was not exported."),
                Error(Message("%1: %2.", {path.toStdString(), file.errorString().toStdString()})));
            return;
        }
        const bool json = path.endsWith(QStringLiteral(".json"), Qt::CaseInsensitive);
        Result<void> written = json ? app::exportJson(m_store.reader(), id, file)
                                    : app::exportCsv(m_store.reader(), id, file);
        if (written && !file.commit())
            written =
                Error(Message("%1: %2.", {path.toStdString(), file.errorString().toStdString()}));
        if (!written)
            showProblem(tr("The run was not exported."), written.error());
    });
    dialog->open();
}

void HistoryPage::askToDelete() {
    const auto run = currentRun();
    const app::RunRecord* record = run ? m_runs.record(*run) : nullptr;
    if (!record)
        return;
    const bool live = !app::isFinal(record->status);
    const auto number = static_cast<qint64>(*run);
    auto* question = new QMessageBox(this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setObjectName(QStringLiteral("deleteQuestion"));
    question->setText(live ? tr("Run #%1 is still running. Stop and delete it?").arg(number)
                           : tr("Delete run #%1, %2?").arg(number).arg(record->name));
    question->setInformativeText(tr("Its curves, log and experiment are removed for good."));
    QPushButton* remove =
        question->addButton(live ? tr("Stop and delete") : tr("Delete run #%1").arg(number),
                            QMessageBox::DestructiveRole);
    question->setDefaultButton(question->addButton(QMessageBox::Cancel));
    connect(question, &QMessageBox::buttonClicked, this,
            [this, remove, id = *run](QAbstractButton* button) {
                if (button == remove)
                    deleteRun(id);
            });
    question->open();
}

void HistoryPage::deleteRun(app::RunId run) {
    app::RunController* controller = m_follower.controllerOf(run);
    if (controller && !controller->isOver()) {
        connect(controller, &app::RunController::ended, this, [this, run] { deleteRun(run); });
        controller->stop();
        return;
    }
    const app::RunRecord* record = m_runs.record(run);
    if (!record)
        return;
    const QString uid = record->uid;
    if (const Result<void> deleted = m_store.deleteRun(run); !deleted) {
        showProblem(tr("The run was not deleted."), deleted.error());
        return;
    }
    m_launcher.remove(uid, this, [](const Result<QJsonObject>&) {});
}

void HistoryPage::showProblem(const QString& title, const Error& error) {
    m_banner->setMessage(title, app::sentenceText(error));
    m_banner->show();
}

} // namespace trainyard::ui

#include "moc_history_page.cpp"
