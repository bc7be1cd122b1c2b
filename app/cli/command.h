// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A command of the command line: started once, works from the event loop, ends with an exit code.
// Rule: a command never waits and never exits by itself.
#pragma once

#include "app/cli/arguments.h"
#include "app/cli/console.h"
#include "app/run/run_follower.h"

#include <QObject>

#include <functional>
#include <memory>
#include <vector>

namespace trainyard::app {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitInvalid = 2; ///< the words or the experiment; nothing was done

class Command : public QObject {
    Q_OBJECT
public:
    explicit Command(Console& console) : m_console(console) {}
    virtual void start() = 0;
    /// SIGINT, SIGTERM or SIGHUP has come.
    virtual void interrupt(int signal) { emit finished(128 + signal); }

signals:
    void finished(int exitCode);

protected:
    Console& console() { return m_console; }
    void fail(const Error& error, int exitCode = kExitFailed);
    void failInvalid(const Problems& problems);

private:
    Console& m_console;
};

struct CommandEntry {
    CommandInfo info;
    std::function<std::unique_ptr<Command>(const Arguments&, Console&)> make;
};

/// All commands, in the order of the help.
const std::vector<CommandEntry>& commandTable();

/// What `trainyard --help` says.
QString generalHelp();

/// The command that `words` (without the program's name) ask for, or one that only prints help or
/// the version. An error for words that make no sense.
Result<std::unique_ptr<Command>> makeCommand(const QStringList& words, Console& console);

} // namespace trainyard::app
