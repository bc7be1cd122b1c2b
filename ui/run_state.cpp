// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/run_state.h"

namespace trainyard::ui {

State stateOf(app::RunStatus status) {
    switch (status) {
    case app::RunStatus::Created:
        return State::Queued;
    case app::RunStatus::Starting:
    case app::RunStatus::Running:
    case app::RunStatus::Stopping:
        return State::Running;
    case app::RunStatus::Finished:
        return State::Finished;
    case app::RunStatus::Failed:
    case app::RunStatus::Diverged:
    case app::RunStatus::Crashed:
        return State::Failed;
    case app::RunStatus::Stopped:
        return State::Stopped;
    }
    return State::Queued;
}

} // namespace trainyard::ui
