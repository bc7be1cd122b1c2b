// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The run in numbers: what batch, epochs, ranks and warm-up come to with this data.
#pragma once

#include "app/models/experiment_document.h"

#include <QWidget>

class QVBoxLayout;

namespace trainyard::ui {

class NumberLabel;
class Theme;

class RunArithmetic : public QWidget {
    Q_OBJECT
public:
    RunArithmetic(const Theme& theme, app::ExperimentDocument& document, QWidget* parent = nullptr);

    /// The value beside this label; empty where it is not known.
    QString value(const QString& label) const;

private:
    void addRow(QVBoxLayout* column, const QString& label);
    void set(const QString& label, const QString& value);
    void refresh();
    QString lastStepText(const plan::Plan& plan) const;
    QString warmupText(const plan::Plan& plan, bool stepsKnown) const;

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    std::vector<std::pair<QString, NumberLabel*>> m_rows;
};

} // namespace trainyard::ui
