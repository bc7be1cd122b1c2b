// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/compose_page.h"

#include "app/models/message_text.h"
#include "ui/compose/data_tab.h"
#include "ui/compose/layer_view.h"
#include "ui/compose/model_tab.h"
#include "ui/compose/page_tabs.h"
#include "ui/compose/parallelism_tab.h"
#include "ui/compose/price_strip.h"
#include "ui/compose/problem_list.h"
#include "ui/compose/start_view.h"
#include "ui/compose/training_tab.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"

#include <QAction>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QShortcut>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace trainyard::ui {

using app::Section;

namespace {

QString fileFilter() {
    return ComposePage::tr("Experiments (*.json);;All files (*)");
}

/// The one experiment file that is dragged; empty for anything else.
QString draggedFile(const QMimeData* data) {
    const QList<QUrl> urls = data->urls();
    if (urls.size() != 1 || !urls.front().isLocalFile())
        return {};
    const QString file = urls.front().toLocalFile();
    return file.endsWith(QLatin1StringView(".json"), Qt::CaseInsensitive) ? file : QString();
}

/// Of an experiment that the person draws layer by layer.
spec::Experiment emptyExperiment() {
    spec::Experiment experiment;
    experiment.model.inputShape = {1, 28, 28};
    return experiment;
}

} // namespace

ComposePage::ComposePage(const Theme& theme, app::ExperimentDocument& document,
                         app::DeviceModel& devices, std::vector<app::Sample> samples,
                         QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document), m_devices(devices), m_layers(document),
      m_problems(document) {
    setAcceptDrops(true);
    makeActions();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    m_banner = new Banner(theme, Banner::Kind::Error, this);
    m_banner->setDismissable(true);
    m_banner->hide();
    connect(m_banner, &Banner::dismissed, m_banner, &QWidget::hide);
    layout->addWidget(m_banner);
    m_views = new QStackedWidget(this);
    layout->addWidget(m_views, 1);
    m_start = new StartView(theme, std::move(samples), m_views);
    m_editor = makeEditor();
    m_views->addWidget(m_start);
    m_views->addWidget(m_editor);
    connectDocument();
    makeShortcuts();
    showView();
    refreshActions();
}

ComposePage::~ComposePage() {
    // Fields that lose the keyboard still write into the models, which are members.
    delete m_views;
}

QAction* ComposePage::addAction(const char* icon, const QString& text, const QKeySequence& keys,
                                void (ComposePage::*what)()) {
    auto* action = new QAction(text, this);
    action->setProperty("iconName", QLatin1StringView(icon)); // the header draws its own
    action->setIcon(m_theme.icon(QLatin1StringView(icon)));
    action->setShortcut(keys);
    QWidget::addAction(action);
    connect(action, &QAction::triggered, this, what);
    return action;
}

void ComposePage::makeActions() {
    m_actions.start = addAction("plus", tr("New"), QKeySequence::New, &ComposePage::start);
    m_actions.open = addAction("folder", tr("Open"), QKeySequence::Open, &ComposePage::open);
    m_actions.save = addAction("download", tr("Save"), QKeySequence::Save, &ComposePage::save);
    m_actions.saveAs = addAction("download", tr("Save as…"), Qt::CTRL | Qt::SHIFT | Qt::Key_S,
                                 &ComposePage::saveAs);
    m_actions.undo = addAction("undo", tr("Undo"), QKeySequence::Undo, &ComposePage::undo);
    m_actions.redo =
        addAction("redo", tr("Redo"), Qt::CTRL | Qt::SHIFT | Qt::Key_Z, &ComposePage::redo);
    m_actions.train =
        addAction("train", tr("Train"), Qt::CTRL | Qt::Key_Return, &ComposePage::train);
}

QWidget* ComposePage::makeEditor() {
    auto* editor = new QWidget(m_views);
    auto* layout = new QVBoxLayout(editor);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    m_header = new ComposeHeader(m_theme, m_document, m_problems, m_actions, editor);
    m_tabs = new QStackedWidget(editor);
    m_data = new DataTab(m_theme, m_document, m_tabs);
    m_model = new ModelTab(m_theme, m_document, m_layers, m_tabs);
    m_training = new TrainingTab(m_theme, m_document, m_tabs);
    m_parallelism = new ParallelismTab(m_theme, m_document, m_devices, m_tabs);
    for (QWidget* tab : {static_cast<QWidget*>(m_data), static_cast<QWidget*>(m_model),
                         static_cast<QWidget*>(m_training), static_cast<QWidget*>(m_parallelism)})
        m_tabs->addWidget(tab);
    m_strip = new PriceStrip(m_theme, m_document, m_problems, m_devices, editor);
    layout->addWidget(m_header);
    layout->addWidget(m_tabs, 1);
    layout->addWidget(m_strip);
    connect(m_header->tabs(), &PageTabs::chosen, this,
            [this](int tab) { showSection(static_cast<Section>(tab)); });
    connect(m_strip->problemList(), &ProblemList::visitRequested, this, &ComposePage::visit);
    showSection(Section::Model);
    return editor;
}

void ComposePage::makeShortcuts() {
    const auto on = [this](const QKeySequence& keys, auto what) {
        auto* shortcut = new QShortcut(keys, this, this, what);
        shortcut->setAutoRepeat(false);
    };
    on(Qt::Key_F8, [this] { stepProblem(1); });
    on(Qt::SHIFT | Qt::Key_F8, [this] { stepProblem(-1); });
    on(Qt::CTRL | Qt::Key_Period, [this] { m_problems.applyCure(0, 0); });
    on(Qt::CTRL | Qt::Key_Enter, [this] { m_actions.train->trigger(); });
    const auto stepTab = [this](int by) {
        const int count = app::kSectionCount;
        showSection(static_cast<Section>((m_tabs->currentIndex() + by + count) % count));
    };
    on(Qt::CTRL | Qt::Key_Tab, [stepTab] { stepTab(1); });
    on(Qt::CTRL | Qt::SHIFT | Qt::Key_Tab, [stepTab] { stepTab(-1); });
}

void ComposePage::connectDocument() {
    using Document = app::ExperimentDocument;
    connect(&m_document, &Document::opened, this, [this] {
        m_banner->hide();
        showView();
        m_model->view()->choose(std::min(1, m_layers.rowCount() - 1));
    });
    for (const auto signal :
         {&Document::changed, &Document::undoChanged, &Document::problemsChanged})
        connect(&m_document, signal, this, &ComposePage::refreshActions);
    connect(&m_document, &Document::modifiedChanged, this, &ComposePage::refreshActions);
    connect(m_start, &StartView::sampleChosen, this, &ComposePage::openSample);
    connect(m_start, &StartView::openRequested, this, &ComposePage::open);
    connect(m_start, &StartView::backRequested, this, &ComposePage::showView);
    connect(m_start, &StartView::emptyRequested, this, [this] {
        keepChanges([this] {
            m_document.openExperiment(emptyExperiment());
            showSection(Section::Model);
        });
    });
}

// --- what is shown ---

void ComposePage::showView() {
    m_views->setCurrentWidget(m_document.isOpen() ? m_editor : static_cast<QWidget*>(m_start));
    refreshActions();
}

void ComposePage::showStart() {
    m_start->setBack(m_document.isOpen() ? m_document.name() : QString());
    m_views->setCurrentWidget(m_start);
    refreshActions();
}

void ComposePage::showSection(Section section) {
    m_document.finishStep();
    const QWidget* focused = focusWidget();
    const bool inside = focused && m_tabs->isAncestorOf(focused);
    m_tabs->setCurrentIndex(static_cast<int>(section));
    m_header->tabs()->setCurrent(static_cast<int>(section));
    // Qt would put the keyboard into some field; a page of fields waits for Tab.
    if (inside && m_tabs->currentWidget() == m_model)
        m_model->view()->setFocus(Qt::OtherFocusReason);
    else if (inside)
        m_tabs->currentWidget()->setFocus(Qt::OtherFocusReason);
}

Section ComposePage::section() const {
    return static_cast<Section>(m_tabs->currentIndex());
}

void ComposePage::visit(const app::ProblemPlace& place) {
    m_views->setCurrentWidget(m_editor);
    if (place.path == "name") {
        m_header->nameField()->setFocus(Qt::TabFocusReason);
        return;
    }
    showSection(place.section);
    switch (place.section) {
    case Section::Data:
        m_data->visit(place.path);
        break;
    case Section::Model:
        m_model->visit(place.node, place.path);
        break;
    case Section::Training:
        m_training->visit(place.path);
        break;
    case Section::Parallelism:
        m_parallelism->visit(place.path);
        break;
    }
}

void ComposePage::stepProblem(int by) {
    const int count = m_problems.rowCount();
    if (count == 0)
        return;
    if (m_visitedProblem < 0 && by < 0)
        m_visitedProblem = 0;
    m_visitedProblem = (m_visitedProblem + by + count) % count;
    visit(m_problems.placeAt(m_visitedProblem));
}

void ComposePage::refreshActions() {
    const bool editing = m_document.isOpen() && m_views->currentWidget() == m_editor;
    // The keys work in the whole window, but nothing is to change that is not seen.
    const bool seen = editing && isVisible();
    const app::ExperimentHistory& history = m_document.history();
    const auto set = [](QAction* action, bool enabled, const QString& tip) {
        action->setEnabled(enabled);
        action->setToolTip(tip);
    };
    set(m_actions.undo, seen && history.canUndo(),
        history.canUndo() ? tr("Undo: %1").arg(history.undoText()) : tr("Nothing to undo"));
    set(m_actions.redo, seen && history.canRedo(),
        history.canRedo() ? tr("Redo: %1").arg(history.redoText()) : tr("Nothing to redo"));
    set(m_actions.save, editing && (m_document.isModified() || m_document.filePath().isEmpty()),
        tr("Save"));
    m_actions.saveAs->setEnabled(editing);
    set(m_actions.train, editing && m_document.problems().empty(), tr("Train"));
}

void ComposePage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refreshActions();
}

void ComposePage::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    m_document.finishStep();
    refreshActions();
}

void ComposePage::showError(const Error& error) {
    m_banner->setKind(Banner::Kind::Error);
    m_banner->setMessage(app::whatText(error), app::cureText(error));
    m_banner->show();
}

// --- commands ---

void ComposePage::train() {
    m_document.finishStep();
    if (m_document.isOpen() && m_document.problems().empty())
        emit trainRequested(m_document.resolvedExperiment());
}

void ComposePage::openFile(const QString& file) {
    keepChanges([this, file] {
        if (const Result<void> opened = m_document.open(file); !opened)
            showError(opened.error());
        else
            showView();
    });
}

void ComposePage::openSample(const app::Sample& sample) {
    keepChanges([this, sample] {
        Result<void> opened = app::placeData(sample);
        if (opened)
            opened = m_document.openText(sample.json);
        if (!opened)
            showError(opened.error());
        else
            showView();
    });
}

void ComposePage::open() {
    const QString folder = m_document.filePath().isEmpty()
                               ? QDir::homePath()
                               : QFileInfo(m_document.filePath()).absolutePath();
    auto* dialog = new QFileDialog(this, tr("Open an experiment"), folder, fileFilter());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &ComposePage::openFile);
    dialog->open();
}

void ComposePage::save() {
    saveThen([] {});
}

void ComposePage::saveAs() {
    askWhereToSave([] {});
}

void ComposePage::saveThen(std::function<void()> then) {
    m_document.finishStep();
    if (m_document.filePath().isEmpty())
        askWhereToSave(std::move(then));
    else
        finishSave(m_document.save(), then);
}

QFileDialog* ComposePage::askWhereToSave(std::function<void()> then) {
    const QString file = m_document.filePath().isEmpty()
                             ? QDir::home().filePath(m_document.name() + u".json")
                             : m_document.filePath();
    auto* dialog = new QFileDialog(this, tr("Save the experiment"), file, fileFilter());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("json"));
    dialog->selectFile(file);
    connect(dialog, &QFileDialog::fileSelected, this,
            [this, then = std::move(then)](const QString& chosen) {
                finishSave(m_document.saveAs(chosen), then);
            });
    dialog->open();
    return dialog;
}

void ComposePage::finishSave(const Result<void>& saved, const std::function<void()>& then) {
    if (saved.ok()) {
        m_banner->hide();
        refreshActions();
        then();
        return;
    }
    if (!m_document.fileChangedMeanwhile())
        return showError(saved.error());
    auto* question = new QMessageBox(QMessageBox::Warning, tr("The file has changed"),
                                     app::whatText(saved.error()), QMessageBox::Cancel, this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setInformativeText(tr("Writing over it loses those changes."));
    QPushButton* other = question->addButton(tr("Save as…"), QMessageBox::AcceptRole);
    QPushButton* over = question->addButton(tr("Write over it"), QMessageBox::DestructiveRole);
    question->setDefaultButton(other);
    connect(other, &QPushButton::clicked, this, [this, then] { askWhereToSave(then); });
    connect(over, &QPushButton::clicked, this, [this, then] {
        finishSave(m_document.save(app::ExperimentDocument::Overwrite::Yes), then);
    });
    question->open();
}

QMessageBox* ComposePage::keepChanges(std::function<void()> then) {
    if (!m_document.isModified() || m_mayReplace) {
        then();
        return nullptr;
    }
    // What is asked once must not be asked again by what follows.
    const auto allowed = [this, then] {
        m_mayReplace = true;
        then();
        m_mayReplace = false;
    };
    auto* question =
        new QMessageBox(QMessageBox::Question, tr("Unsaved changes"),
                        tr("%1 has changes that are not saved.").arg(m_document.name()),
                        QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setDefaultButton(QMessageBox::Save);
    connect(question->button(QMessageBox::Save), &QAbstractButton::clicked, this,
            [this, then] { saveThen(then); });
    connect(question->button(QMessageBox::Discard), &QAbstractButton::clicked, this, allowed);
    question->open();
    return question;
}

// --- files dropped on the page ---

void ComposePage::dragEnterEvent(QDragEnterEvent* event) {
    if (!draggedFile(event->mimeData()).isEmpty())
        event->acceptProposedAction();
}

void ComposePage::dropEvent(QDropEvent* event) {
    const QString file = draggedFile(event->mimeData());
    if (file.isEmpty())
        return;
    event->acceptProposedAction();
    openFile(file);
}

} // namespace trainyard::ui

#include "moc_compose_page.cpp"
