// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The chosen computer in full, as its last probe told: system, processor, memory, disk, worker,
// what runs on it.
#pragma once

#include "app/models/device_model.h"

#include <QWidget>

class QLabel;
class QVBoxLayout;

namespace trainyard::ui {

class TextLabel;
class Theme;

class HostDetails : public QWidget {
    Q_OBJECT
public:
    HostDetails(const Theme& theme, app::DeviceModel& devices, const QString& workerPath,
                QWidget* parent = nullptr);

    /// The value beside this label; N/A where the probe does not say it.
    QString value(const QString& label) const;
    /// The last error as a sentence; empty when the last probe was answered.
    QString lastError() const;

private:
    struct Row {
        QString label;
        TextLabel* value;
    };

    void addRow(QVBoxLayout* column, const QString& label);
    void addRuns(QVBoxLayout* column);
    void addError(QVBoxLayout* column);
    void set(const QString& label, const QString& value);
    void refresh();
    void showRuns(const app::MachineProbe* facts);

    const Theme& m_theme;
    app::DeviceModel& m_devices;
    QString m_workerPath;
    std::vector<Row> m_rows;
    QLabel* m_runs = nullptr;
    QLabel* m_warning = nullptr;
    QWidget* m_errorPart = nullptr;
    QLabel* m_error = nullptr;
};

} // namespace trainyard::ui
