// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The tab Parallelism: how ranks share batch, layers and model, what they exchange, and what each
// of them holds.
#pragma once

#include "app/models/device_model.h"
#include "app/models/experiment_document.h"

#include <QWidget>

class QLabel;
class QStackedWidget;

namespace trainyard::ui {

class EmptyState;
class FigureCell;
class FormField;
class FormGroup;
class RankTiles;
class ScheduleView;
class TextLabel;
class Theme;

class ParallelismTab : public QWidget {
    Q_OBJECT
public:
    ParallelismTab(const Theme& theme, app::ExperimentDocument& document, app::DeviceModel& devices,
                   QWidget* parent = nullptr);

    /// Puts the keyboard into the value that `path` names.
    void visit(const std::string& path);
    RankTiles* tiles() const { return m_tiles; }
    ScheduleView* schedule() const { return m_schedule; }
    /// What the number of ranks comes to on this machine.
    QString verdict() const;
    /// What compression costs in these strategies; empty where nothing is compressed.
    QString compressionCosts() const;

private:
    QWidget* makeForm();
    QWidget* makePlan();
    QWidget* makeTraffic();
    void refresh();
    void refreshFields();
    void refreshVerdict();
    void refreshPlan();
    /// What compression saves and costs; null: there is no plan.
    void refreshCompression(const plan::Plan* plan);
    /// What ranks of such a mesh send each other.
    static QString sentText(const plan::Mesh& mesh);

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    app::DeviceModel& m_devices;
    FormField* m_ranks = nullptr;
    FormField* m_tensor = nullptr;
    FormGroup* m_pipeline = nullptr;
    FormGroup* m_exchange = nullptr;
    FormField* m_compression = nullptr;
    QLabel* m_compressionCosts = nullptr;
    QLabel* m_verdict = nullptr;
    QStackedWidget* m_stack = nullptr;
    EmptyState* m_empty = nullptr;
    RankTiles* m_tiles = nullptr;
    ScheduleView* m_schedule = nullptr;
    TextLabel* m_machine = nullptr;
    FigureCell* m_sent = nullptr;
    FigureCell* m_buckets = nullptr;
    FigureCell* m_threads = nullptr;
};

} // namespace trainyard::ui
