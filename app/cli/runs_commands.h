// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// runs list, show, export, trace, stop and delete. Each first brings into the store what the
// journals have, so that what it says is true even when no studio has been open.
#pragma once

#include "app/cli/command.h"
#include "app/cli/workspace.h"

namespace trainyard::app {

/// Opens the store, catches up, then does its work.
class RunsCommand : public Command {
    Q_OBJECT
public:
    RunsCommand(Arguments arguments, Console& console)
        : Command(console), m_arguments(std::move(arguments)) {}
    void start() final;

protected:
    virtual void work() = 0;
    /// The final weights of a run; an error that says why there are none.
    Result<QString> weightsOf(const RunRecord& run) const;
    const Arguments& arguments() const { return m_arguments; }
    RunStore& store() { return *m_workspace.store; }
    const LocalLauncher& launcher() const { return *m_workspace.launcher; }
    /// The run that the first operand names, or the command has failed.
    std::optional<RunRecord> namedRun();
    void catchUp(std::function<void()> then);

private:
    const Arguments m_arguments;
    Workspace m_workspace;
};

class RunsListCommand : public RunsCommand {
    Q_OBJECT
public:
    using RunsCommand::RunsCommand;
    static CommandInfo info();

protected:
    void work() override;
};

class RunsShowCommand : public RunsCommand {
    Q_OBJECT
public:
    using RunsCommand::RunsCommand;
    static CommandInfo info();

protected:
    void work() override;
};

class RunsExportCommand : public RunsCommand {
    Q_OBJECT
public:
    using RunsCommand::RunsCommand;
    static CommandInfo info();

protected:
    void work() override;

private:
    Result<void> exportPoints(const RunRecord& run, const QString& path);
    Result<void> exportWeights(const RunRecord& run, const QString& path);
    Result<void> exportConfusion(const RunRecord& run, const QString& path);
};

class RunsStopCommand : public RunsCommand {
    Q_OBJECT
public:
    using RunsCommand::RunsCommand;
    static CommandInfo info();

protected:
    void work() override;
};

class RunsTraceCommand : public RunsCommand {
    Q_OBJECT
public:
    using RunsCommand::RunsCommand;
    static CommandInfo info();

protected:
    void work() override;
};

class RunsDeleteCommand : public RunsCommand {
    Q_OBJECT
public:
    using RunsCommand::RunsCommand;
    static CommandInfo info();

protected:
    void work() override;

private:
    void remove(const RunRecord& run);
};

} // namespace trainyard::app
