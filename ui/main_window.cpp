// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/main_window.h"

#include "app/models/device_model.h"
#include "app/models/experiment_document.h"
#include "app/models/message_text.h"
#include "app/models/run_list_model.h"
#include "app/run/run_follower.h"
#include "app/samples/samples.h"
#include "app/settings/settings.h"
#include "engine/spec/experiment_json.h"
#include "ui/cluster/cluster_page.h"
#include "ui/compose/compose_page.h"
#include "ui/history/history_page.h"
#include "ui/monitor/monitor_page.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/rail.h"
#include "ui/widgets/top_bar.h"

#include <QActionGroup>
#include <QApplication>
#include <QCloseEvent>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QStackedWidget>

namespace trainyard::ui {

namespace {

constexpr QSize kFirstSize{1440, 900};
constexpr QSize kLeastSize{1024, 700};

} // namespace

MainWindow::MainWindow(Theme& theme, const StudioServices& services, QWidget* parent)
    : QMainWindow(parent), m_theme(theme), m_services(services) {
    setWindowTitle(tr("Trainyard"));
    setMinimumSize(kLeastSize);
    resize(kFirstSize);
    createFrame();
    createPages();
    createMenus();
    connectPages();
    restoreState();
    updateTicker();
    goTo(Place::Compose);
}

void MainWindow::createFrame() {
    m_topBar = new TopBar(m_theme);
    m_topBar->commandField()->hide(); // shown when there are commands to search
    m_running = new Ticker(m_theme, QStringLiteral("running"), State::Running);
    m_running->setObjectName(QStringLiteral("runningTicker"));
    m_topBar->addRight(m_running);
    connect(m_running, &Ticker::clicked, this, [this] {
        showNewestActiveRun();
        goTo(Place::Monitor);
    });
    setMenuWidget(m_topBar);

    m_rail = new Rail(m_theme);
    m_rail->addPlace(QStringLiteral("compose"), tr("Compose"));
    m_rail->addPlace(QStringLiteral("cluster"), tr("Cluster"));
    m_rail->addPlace(QStringLiteral("monitor"), tr("Monitor"));
    m_rail->addPlace(QStringLiteral("history"), tr("History"));
    connect(m_rail, &Rail::placeChosen, this,
            [this](int place) { goTo(static_cast<Place>(place)); });

    m_message = new Banner(m_theme, Banner::Kind::Error);
    m_message->setObjectName(QStringLiteral("windowMessage"));
    m_message->setDismissable(true);
    m_message->hide();
    connect(m_message, &Banner::dismissed, m_message, &QWidget::hide);
    m_stack = new QStackedWidget;
    auto* column = new QVBoxLayout;
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_message);
    column->addWidget(m_stack, 1);
    auto* body = new QWidget;
    auto* row = new QHBoxLayout(body);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    row->addWidget(m_rail);
    row->addLayout(column, 1);
    setCentralWidget(body);
}

void MainWindow::createPages() {
    m_compose = new ComposePage(m_theme, m_services.document, m_services.devices, app::samples());
    m_cluster = new ClusterPage(m_theme, m_services.devices, m_services.workerPath);
    m_monitor = new MonitorPage(m_theme, m_services.store, m_services.runs, m_services.follower);
    m_history = new HistoryPage(m_theme, m_services.store, m_services.runs, m_services.follower,
                                m_services.launcher);
    for (QWidget* page : {static_cast<QWidget*>(m_compose), static_cast<QWidget*>(m_cluster),
                          static_cast<QWidget*>(m_monitor), static_cast<QWidget*>(m_history)})
        m_stack->addWidget(page);
}

void MainWindow::createMenus() {
    createFileMenu();
    createViewMenu();
    createHelpMenu();
}

void MainWindow::createFileMenu() {
    const ComposeActions& actions = m_compose->actions();
    QMenu* file = m_topBar->menuBar()->addMenu(tr("&File"));
    file->addAction(actions.start);
    QMenu* samples = file->addMenu(tr("New from &sample"));
    for (const app::Sample& sample : app::samples()) {
        QAction* action = samples->addAction(sample.title);
        connect(action, &QAction::triggered, this, [this, name = sample.name] {
            m_compose->keepChanges([this, name] { openSample(name); });
        });
    }
    file->addActions({actions.open, actions.save, actions.saveAs});
    file->addSeparator();
    QAction* quit = file->addAction(tr("&Quit"));
    quit->setShortcut(QKeySequence::Quit);
    connect(quit, &QAction::triggered, this, &QWidget::close);
    QMenu* edit = m_topBar->menuBar()->addMenu(tr("&Edit"));
    edit->addActions({actions.undo, actions.redo});
    QMenu* run = m_topBar->menuBar()->addMenu(tr("&Run"));
    run->addAction(actions.train);
    // The page's keys work wherever one is; what they did must be seen.
    for (QAction* action : {actions.start, actions.open})
        connect(action, &QAction::triggered, this, [this] { goTo(Place::Compose); });
}

void MainWindow::createViewMenu() {
    QMenu* view = m_topBar->menuBar()->addMenu(tr("&View"));
    const std::pair<QString, Place> places[] = {{tr("&Compose"), Place::Compose},
                                                {tr("C&luster"), Place::Cluster},
                                                {tr("&Monitor"), Place::Monitor},
                                                {tr("&History"), Place::History}};
    for (const auto& [text, place] : places) {
        QAction* action = view->addAction(text);
        action->setShortcut(
            QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + static_cast<int>(place))));
        connect(action, &QAction::triggered, this, [this, target = place] { goTo(target); });
    }
    view->addSeparator();
    auto* schemes = new QActionGroup(this);
    const std::pair<QString, Theme::Setting> settings[] = {
        {tr("&As the desktop"), Theme::Setting::System},
        {tr("L&ight"), Theme::Setting::Light},
        {tr("&Dark"), Theme::Setting::Dark}};
    for (const auto& [text, setting] : settings) {
        QAction* action = view->addAction(text);
        action->setCheckable(true);
        action->setChecked(m_theme.setting() == setting);
        schemes->addAction(action);
        connect(action, &QAction::triggered, this, [this, chosen = setting] {
            m_theme.setSetting(chosen);
            m_services.settings.set(app::settings::kTheme, static_cast<app::Theme>(chosen));
        });
    }
}

void MainWindow::createHelpMenu() {
    QMenu* help = m_topBar->menuBar()->addMenu(tr("&Help"));
    QAction* about = help->addAction(tr("&About Trainyard"));
    connect(about, &QAction::triggered, this, [this] {
        auto* box = new QMessageBox(this);
        box->setAttribute(Qt::WA_DeleteOnClose);
        box->setText(tr("Trainyard %1").arg(QApplication::applicationVersion()));
        box->setInformativeText(
            tr("A studio for training neural networks. Runs and settings are kept in %1.")
                .arg(m_services.store.folder()));
        box->open();
    });
}

void MainWindow::connectPages() {
    connect(m_compose, &ComposePage::trainRequested, this, &MainWindow::train);
    connect(m_monitor, &MonitorPage::composeRequested, this, [this] { goTo(Place::Compose); });
    connect(m_monitor, &MonitorPage::cloneRequested, this, &MainWindow::cloneRun);
    connect(m_history, &HistoryPage::cloneRequested, this, &MainWindow::cloneRun);
    connect(m_history, &HistoryPage::openRequested, this, [this](app::RunId run) {
        m_monitor->showRun(run);
        goTo(Place::Monitor);
    });
    connect(&m_services.runs, &app::RunListModel::refreshed, this, &MainWindow::updateTicker);
    connect(&m_services.store, &app::RunStore::problemChanged, this, [this] {
        if (const std::optional<Error> problem = m_services.store.problem())
            showMessage(true, tr("Nothing can be stored now."), app::sentenceText(*problem));
        else
            m_message->hide();
    });
    if (const auto& viewOnly = m_services.store.viewOnly())
        showMessage(false, tr("This store can only be viewed."), app::sentenceText(*viewOnly));
    else if (const auto& warning = m_services.store.warning())
        showMessage(false, tr("The place of the store is doubtful."), app::sentenceText(*warning));
    connect(&m_services.document, &app::ExperimentDocument::filePathChanged, this,
            [this](const QString& path) {
                m_services.settings.set(app::settings::kLastExperiment, path);
            });
}

void MainWindow::restoreState() {
    restoreGeometry(m_services.settings.get(app::settings::kWindowGeometry));
    showNewestActiveRun();
    if (!m_monitor->shownRun() && !m_services.runs.records().empty())
        m_monitor->showRun(m_services.runs.records().front().id);
}

void MainWindow::goTo(Place place) {
    m_stack->setCurrentIndex(static_cast<int>(place));
    m_rail->setCurrent(static_cast<int>(place));
    m_stack->currentWidget()->setFocus();
    if (place == Place::Cluster)
        m_services.devices.probe(); // what is free changes with every run
}

MainWindow::Place MainWindow::place() const {
    return static_cast<Place>(m_stack->currentIndex());
}

void MainWindow::openFile(const QString& path) {
    m_compose->openFile(path);
    goTo(Place::Compose);
}

bool MainWindow::openSample(const QString& name) {
    for (const app::Sample& sample : app::samples()) {
        if (sample.name != name)
            continue;
        m_compose->openSample(sample);
        goTo(Place::Compose);
        return true;
    }
    return false;
}

void MainWindow::train(const spec::Experiment& experiment) {
    app::RunController* controller = m_services.follower.newRun();
    connect(controller, &app::RunController::problemsFound, this, [this](const Problems& problems) {
        showMessage(true, tr("This experiment cannot be trained."),
                    problems.empty()
                        ? QString()
                        : QString::fromStdString(problems.front().where) + QStringLiteral(": ") +
                              app::sentenceText(problems.front()));
        goTo(Place::Compose);
    });
    connect(controller, &app::RunController::startFailed, this, [this](const Error& why) {
        showMessage(true, tr("The run was not started."), app::sentenceText(why));
    });
    connect(controller, &app::RunController::stateChanged, this, [this, controller] {
        if (controller->state() != app::RunController::State::Starting || !controller->run())
            return;
        m_message->hide();
        m_services.runs.refresh();
        m_monitor->showRun(controller->run()->id);
        goTo(Place::Monitor);
    });
    controller->start(experiment);
}

void MainWindow::cloneRun(app::RunId run) {
    const Result<QByteArray> text = m_services.store.reader().configuration(run);
    if (!text || text->isEmpty()) {
        showMessage(true, tr("The run's experiment cannot be read."),
                    text ? QString() : app::sentenceText(text.error()));
        return;
    }
    m_compose->keepChanges([this, text = *text] {
        const Result<void> opened = m_services.document.openText(text);
        if (!opened)
            showMessage(true, tr("The run's experiment was not opened."),
                        app::sentenceText(opened.error()));
        else
            goTo(Place::Compose);
    });
}

void MainWindow::showNewestActiveRun() {
    for (const app::RunRecord& record : m_services.runs.records()) {
        if (!app::isFinal(record.status)) {
            m_monitor->showRun(record.id);
            return;
        }
    }
}

void MainWindow::updateTicker() {
    const int active = m_services.runs.activeCount();
    m_running->setWords(tr("%n running", nullptr, active), active > 0);
}

void MainWindow::showMessage(bool failed, const QString& title, const QString& sentence) {
    m_message->setKind(failed ? Banner::Kind::Error : Banner::Kind::Warning);
    m_message->setMessage(title, sentence);
    m_message->show();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    const bool unsaved = m_services.document.isOpen() && m_services.document.isModified();
    if (unsaved && !m_closing) {
        event->ignore();
        m_compose->keepChanges([this] {
            m_closing = true;
            close();
        });
        return;
    }
    m_services.settings.set(app::settings::kWindowGeometry, saveGeometry());
    event->accept();
}

} // namespace trainyard::ui

#include "moc_main_window.cpp"
