// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The devices of a computer as rows.
#pragma once

#include "app/models/device_model.h"

#include <QTableView>

namespace trainyard::ui {

class Theme;

class DeviceTable : public QTableView {
    Q_OBJECT
public:
    DeviceTable(const Theme& theme, app::DeviceModel& devices, QWidget* parent = nullptr);
};

} // namespace trainyard::ui
