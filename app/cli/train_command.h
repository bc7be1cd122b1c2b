// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// train: starts a run and shows how it goes. The run belongs to the machine, not to this command:
// it goes on when the command is killed or its terminal closes.
//   first Ctrl-C: the run is asked to stop        second Ctrl-C: it is left running
#pragma once

#include "app/cli/command.h"
#include "app/cli/workspace.h"

#include <QTimer>

namespace trainyard::app {

class TrainCommand : public Command {
    Q_OBJECT
public:
    TrainCommand(Arguments arguments, Console& console);
    static CommandInfo info();
    void start() override;
    void interrupt(int signal) override;

private:
    void connectToRun();
    void onStarted();
    void onState(RunController::State state);
    void onEvents(const std::vector<TimedEvent>& events);
    void onEnded(const RunOutcome& outcome);
    void draw();
    void leaveRunning(int exitCode);
    void printResult(const RunOutcome& outcome);
    QByteArray resultAsJson(const RunOutcome& outcome) const;
    QString label() const;

    const Arguments m_arguments;
    const bool m_json;
    Workspace m_workspace;
    RunController* m_run = nullptr;
    QTimer m_redraw; ///< started when something has come, draws when it is over
    bool m_interrupted = false;
    bool m_disconnected = false;
};

} // namespace trainyard::app
