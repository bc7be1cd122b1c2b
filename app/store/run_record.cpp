// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See run_record.h.
#include "app/store/run_record.h"

#include <algorithm>
#include <array>

namespace trainyard::app {

namespace {

struct StatusName {
    RunStatus status;
    const char* name;
};
constexpr std::array kStatusNames = {
    StatusName{RunStatus::Created, "created"},   StatusName{RunStatus::Starting, "starting"},
    StatusName{RunStatus::Running, "running"},   StatusName{RunStatus::Stopping, "stopping"},
    StatusName{RunStatus::Finished, "finished"}, StatusName{RunStatus::Failed, "failed"},
    StatusName{RunStatus::Stopped, "stopped"},   StatusName{RunStatus::Diverged, "diverged"},
    StatusName{RunStatus::Crashed, "crashed"},
};

RunStatus statusOf(spec::RunState state) {
    switch (state) {
    case spec::RunState::Starting:
        return RunStatus::Starting;
    case spec::RunState::Running:
        return RunStatus::Running;
    case spec::RunState::Stopping:
        return RunStatus::Stopping;
    case spec::RunState::Finished:
        return RunStatus::Finished;
    case spec::RunState::Failed:
        return RunStatus::Failed;
    case spec::RunState::Stopped:
        return RunStatus::Stopped;
    case spec::RunState::Diverged:
        return RunStatus::Diverged;
    }
    return RunStatus::Created;
}

} // namespace

bool isFinal(RunStatus status) {
    return status >= RunStatus::Finished;
}

QString nameOf(RunStatus status) {
    for (const StatusName& entry : kStatusNames)
        if (entry.status == status)
            return QString(QLatin1StringView(entry.name));
    return {};
}

RunStatus runStatusFromName(const QString& name) {
    for (const StatusName& entry : kStatusNames)
        if (name == QLatin1StringView(entry.name))
            return entry.status;
    return RunStatus::Created;
}

RunStatus combinedStatus(const std::vector<std::optional<spec::RunState>>& nodes, bool crashed) {
    const auto any = [&](spec::RunState state) {
        return std::find(nodes.begin(), nodes.end(), state) != nodes.end();
    };
    // One node that failed ends all the others, whatever they say of themselves.
    for (spec::RunState state :
         {spec::RunState::Failed, spec::RunState::Diverged, spec::RunState::Stopped})
        if (any(state))
            return statusOf(state);
    const bool allFinished = std::all_of(nodes.begin(), nodes.end(), [](const auto& state) {
        return state == spec::RunState::Finished;
    });
    if (!nodes.empty() && allFinished)
        return RunStatus::Finished;
    if (crashed)
        return RunStatus::Crashed;
    if (any(spec::RunState::Stopping))
        return RunStatus::Stopping;
    if (any(spec::RunState::Running) || any(spec::RunState::Finished))
        return RunStatus::Running;
    return any(spec::RunState::Starting) ? RunStatus::Starting : RunStatus::Created;
}

} // namespace trainyard::app
