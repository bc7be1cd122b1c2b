// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The computers as rows: what state each is in, what it has, what it does now.
#pragma once

#include "app/models/device_model.h"

#include <QTableView>

class QStandardItemModel;

namespace trainyard::ui {

class Theme;

class HostTable : public QTableView {
    Q_OBJECT
public:
    enum Column { Host, State, Address, Devices, Memory, Now };

    HostTable(const Theme& theme, app::DeviceModel& devices, QWidget* parent = nullptr);

    QString cell(int row, Column column) const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

private:
    void refresh();

    const Theme& m_theme;
    app::DeviceModel& m_devices;
    QStandardItemModel* m_rows;
};

/// Sets up a table as the design has them: rows of 28 or 32, no grid, one header line.
void styleTable(const Theme& theme, QTableView* table, int rowHeight);

} // namespace trainyard::ui
