// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The tab Training: how the model learns, and what follows from it in numbers.
#pragma once

#include "app/models/experiment_document.h"

#include <QWidget>

#include <optional>

class QGridLayout;

namespace trainyard::ui {

class FormField;
class RunArithmetic;
class Theme;

class TrainingTab : public QWidget {
    Q_OBJECT
public:
    TrainingTab(const Theme& theme, app::ExperimentDocument& document, QWidget* parent = nullptr);

    /// Puts the keyboard into the value that `path` names.
    void visit(const std::string& path);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeLearning();
    QWidget* makeBatches();
    QWidget* makeStopping();
    void place(bool wide);

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    QGridLayout* m_grid;
    QWidget* m_learning;
    QWidget* m_batches;
    RunArithmetic* m_arithmetic;
    std::optional<bool> m_wide;
};

} // namespace trainyard::ui
