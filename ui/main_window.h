// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The window: rail, top bar and the four places. It composes and connects; what a page does is the
// page's own business. Closing it leaves every run going.
#pragma once

#include "app/run/run_controller.h"
#include "ui/studio_services.h"

#include <QMainWindow>

class QStackedWidget;

namespace trainyard::ui {

class Banner;
class ClusterPage;
class ComposePage;
class HistoryPage;
class MonitorPage;
class Rail;
class Theme;
class Ticker;
class TopBar;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    enum class Place { Compose, Cluster, Monitor, History };
    Q_ENUM(Place)

    MainWindow(Theme& theme, const StudioServices& services, QWidget* parent = nullptr);

    void goTo(Place place);
    Place place() const;
    ComposePage& composePage() { return *m_compose; }
    MonitorPage& monitorPage() { return *m_monitor; }
    HistoryPage& historyPage() { return *m_history; }
    Rail& rail() { return *m_rail; }

    /// Opens an experiment file, or says why not.
    void openFile(const QString& path);
    /// Opens a sample by name; false when there is none.
    bool openSample(const QString& name);

protected:
    void closeEvent(QCloseEvent* event) override;

private:
    void createFrame();
    void createPages();
    void createMenus();
    void createFileMenu();
    void createViewMenu();
    void createHelpMenu();
    void connectPages();
    void restoreState();
    void train(const spec::Experiment& experiment);
    void cloneRun(app::RunId run);
    void showNewestActiveRun();
    void updateTicker();
    void showMessage(bool failed, const QString& title, const QString& sentence);

    Theme& m_theme;
    StudioServices m_services;
    TopBar* m_topBar = nullptr;
    Rail* m_rail = nullptr;
    Ticker* m_running = nullptr;
    Banner* m_message = nullptr;
    QStackedWidget* m_stack = nullptr;
    ComposePage* m_compose = nullptr;
    ClusterPage* m_cluster = nullptr;
    MonitorPage* m_monitor = nullptr;
    HistoryPage* m_history = nullptr;
    bool m_closing = false;
};

} // namespace trainyard::ui
