// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The place Compose: what to begin with, then the experiment in four tabs over the strip of
// problems and prices. Owns the commands on the experiment (open, save, undo, train), which the
// window puts into its menus. Nothing that was edited is dropped without asking.
#pragma once

#include "app/models/device_model.h"
#include "app/models/layer_list_model.h"
#include "app/models/problem_list_model.h"
#include "app/samples/samples.h"
#include "ui/compose/compose_header.h"

#include <QWidget>

#include <functional>

class QFileDialog;
class QMessageBox;
class QStackedWidget;

namespace trainyard::ui {

class Banner;
class DataTab;
class ModelTab;
class ParallelismTab;
class PriceStrip;
class StartView;
class Theme;
class TrainingTab;

class ComposePage : public QWidget {
    Q_OBJECT
public:
    /// The collaborators live longer than the page.
    ComposePage(const Theme& theme, app::ExperimentDocument& document, app::DeviceModel& devices,
                std::vector<app::Sample> samples, QWidget* parent = nullptr);

    ~ComposePage() override;

    const ComposeActions& actions() const { return m_actions; }
    /// Calls `then` at once, or after the person has saved or given up what is not saved; not at
    /// all when they think better of it. The dialog, if there is one, is returned for tests.
    QMessageBox* keepChanges(std::function<void()> then);
    /// Opens the file and shows it; a banner says why if it cannot.
    void openFile(const QString& file);
    void openSample(const app::Sample& sample);
    /// Shows the ways to begin; what is open stays open.
    void showStart();
    /// Goes to where a problem is.
    void visit(const app::ProblemPlace& place);
    void showSection(app::Section section);
    app::Section section() const;

    ComposeHeader* header() const { return m_header; }
    DataTab* dataTab() const { return m_data; }
    ModelTab* modelTab() const { return m_model; }
    TrainingTab* trainingTab() const { return m_training; }
    ParallelismTab* parallelismTab() const { return m_parallelism; }
    PriceStrip* strip() const { return m_strip; }
    StartView* startView() const { return m_start; }
    Banner* banner() const { return m_banner; }

signals:
    /// The user wants to train this; its paths are absolute.
    void trainRequested(const trainyard::spec::Experiment& experiment);

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeActions();
    QAction* addAction(const char* icon, const QString& text, const QKeySequence& keys,
                       void (ComposePage::*what)());
    QWidget* makeEditor();
    void makeShortcuts();
    void connectDocument();
    void open();
    void save();
    void saveAs();
    void start() { showStart(); }
    void undo() { m_document.undo(); }
    void redo() { m_document.redo(); }
    void train();
    void saveThen(std::function<void()> then);
    QFileDialog* askWhereToSave(std::function<void()> then);
    void finishSave(const Result<void>& saved, const std::function<void()>& then);
    void showError(const Error& error);
    void refreshActions();
    void showView();
    void stepProblem(int by);

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    app::DeviceModel& m_devices;
    app::LayerListModel m_layers;
    app::ProblemListModel m_problems;
    ComposeActions m_actions;
    Banner* m_banner = nullptr;
    QStackedWidget* m_views = nullptr; ///< start, editor
    StartView* m_start = nullptr;
    QWidget* m_editor = nullptr;
    ComposeHeader* m_header = nullptr;
    QStackedWidget* m_tabs = nullptr;
    DataTab* m_data = nullptr;
    ModelTab* m_model = nullptr;
    TrainingTab* m_training = nullptr;
    ParallelismTab* m_parallelism = nullptr;
    PriceStrip* m_strip = nullptr;
    int m_visitedProblem = -1;
    bool m_mayReplace = false; ///< the person has just said so
};

} // namespace trainyard::ui
