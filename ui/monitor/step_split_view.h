// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a step of the shown run goes: legend, a bar for each rank, and the figures of the chosen
// one. Hidden until a step has been measured; runs of earlier versions have no such figures.
#pragma once

#include "app/models/run_curves.h"

#include <QFrame>

class QLabel;
class QScrollArea;

namespace trainyard::ui {

class NumberLabel;
class StepBars;
class StepLegend;
class Theme;

class StepSplitView : public QFrame {
    Q_OBJECT
public:
    explicit StepSplitView(const Theme& theme, QWidget* parent = nullptr);

    /// Null: nothing to show. Must outlive its being shown.
    void setCurves(const app::RunCurves* curves);
    StepBars& bars() { return *m_bars; }
    /// The figures of the chosen rank, as a sentence.
    QString details() const;

private:
    void refresh();
    void showDetails();

    const Theme& m_theme;
    const app::RunCurves* m_curves = nullptr;
    NumberLabel* m_step;
    StepLegend* m_legend;
    StepBars* m_bars;
    QScrollArea* m_area;
    QLabel* m_details;
};

} // namespace trainyard::ui
