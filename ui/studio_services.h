// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the pages of the studio work with; made once in main() and handed down by reference.
#pragma once

#include <QString>

namespace trainyard::app {
class DeviceModel;
class ExperimentDocument;
class LocalLauncher;
class RunFollower;
class RunListModel;
class RunStore;
class Settings;
} // namespace trainyard::app

namespace trainyard::ui {

struct StudioServices {
    app::Settings& settings;
    app::RunStore& store;
    const app::LocalLauncher& launcher;
    app::RunFollower& follower;
    app::RunListModel& runs;
    app::ExperimentDocument& document;
    app::DeviceModel& devices;
    QString workerPath; ///< of the worker that answers here
};

} // namespace trainyard::ui
