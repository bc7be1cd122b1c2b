// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The strip at the foot of Compose, which never goes away: problems at the left, then what the
// experiment costs. Narrow windows lose FLOP first, then parameters.
#pragma once

#include "app/models/device_model.h"
#include "app/models/problem_list_model.h"

#include <QFrame>

class QPushButton;

namespace trainyard::ui {

class FigureCell;
class MemoryCell;
class ProblemList;
class TextLabel;
class Theme;

class PriceStrip : public QFrame {
    Q_OBJECT
public:
    PriceStrip(const Theme& theme, app::ExperimentDocument& document,
               app::ProblemListModel& problems, app::DeviceModel& devices,
               QWidget* parent = nullptr);

    ProblemList* problemList() const { return m_list; }

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeProblems();
    void showPrices();
    void fitCells();
    void showProblems();
    void setOpened(bool opened);
    QString memoryDetail(const plan::Plan& plan) const;
    void showStep(const plan::Plan* plan);
    /// What stands where there is no predicted time.
    QString whyNoTime() const;

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    app::ProblemListModel& m_problems;
    app::DeviceModel& m_devices;
    ProblemList* m_list;
    QWidget* m_count;
    TextLabel* m_basis;
    QPushButton* m_open;
    FigureCell* m_parameters;
    FigureCell* m_flops;
    MemoryCell* m_memory;
    FigureCell* m_step;
    QPushButton* m_measure;
    FigureCell* m_steps;
    bool m_opened = false;
};

} // namespace trainyard::ui
