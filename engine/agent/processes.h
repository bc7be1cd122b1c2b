// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Processes as /proc tells them: load of one, all below one, all that carry a run's cookie. Every
// answer may be out of date when it arrives, so callers look again until they see what they need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace trainyard::engine {

struct ProcessLoad {
    std::int64_t cpuTicks = 0; ///< user + system time, in units of 1 / sysconf(_SC_CLK_TCK) s
    std::int64_t residentBytes = 0;
};

/// Empty when the process is gone or a zombie.
std::optional<ProcessLoad> loadOf(pid_t pid);

/// Halted by a signal (SIGSTOP, Ctrl+Z) or by a debugger.
bool isStopped(pid_t pid);

/// Living (not zombie) processes below `ancestor`, at any depth.
std::vector<pid_t> descendantsOf(pid_t ancestor);

struct MarkedProcess {
    pid_t pid = 0;
    std::string cookie;  ///< value of the variable
    std::string command; ///< short name
};

/// The value of `variable` in the environment that the process was started with; empty without.
std::string environmentOf(pid_t pid, std::string_view variable);
/// Processes, other than this one, whose cookie starts with `prefix`.
std::vector<MarkedProcess> markedProcesses(std::string_view prefix);

} // namespace trainyard::engine
