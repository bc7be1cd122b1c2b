// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The place Cluster: the computers that can train, their devices, and the chosen one in full. At
// present that is this computer.
#pragma once

#include "app/models/device_model.h"

#include <QWidget>

class QAction;
class QBoxLayout;
class QFrame;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace trainyard::ui {

class Banner;
class DeviceTable;
class EmptyState;
class HostDetails;
class HostTable;
class TextLabel;
class Theme;

class ClusterPage : public QWidget {
    Q_OBJECT
public:
    /// `workerPath`: of the worker that answers here; left out where it is not known.
    ClusterPage(const Theme& theme, app::DeviceModel& devices, const QString& workerPath = {},
                QWidget* parent = nullptr);

    QAction* probeAction() const { return m_probe; }
    QPushButton* probeButton() const { return m_probeButton; }
    HostTable* hosts() const { return m_hosts; }
    QTableView* deviceTable() const;
    HostDetails* details() const { return m_details; }
    /// What stands in place of the tables while nothing is known.
    EmptyState* emptyState() const { return m_empty; }
    bool isEmpty() const;
    Banner* banner() const { return m_banner; }

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeHeader();
    QWidget* makeContent(const QString& workerPath);
    void refresh();
    QString summary() const;

    const Theme& m_theme;
    app::DeviceModel& m_devices;
    QAction* m_probe;
    QPushButton* m_probeButton = nullptr;
    TextLabel* m_summary = nullptr;
    Banner* m_banner = nullptr;
    QStackedWidget* m_stack = nullptr;
    EmptyState* m_empty = nullptr;
    HostTable* m_hosts = nullptr;
    DeviceTable* m_table = nullptr;
    HostDetails* m_details = nullptr;
    QBoxLayout* m_columns = nullptr;
    QFrame* m_panel = nullptr;
};

} // namespace trainyard::ui
