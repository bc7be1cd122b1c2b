// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where runs lie on a node: ROOT/runs/ID with the files named here. A supervisor holds the lock
// file for as long as it lives, and the kernel lets go of it when it dies: "is it alive" has one
// answer, also after kill -9 and after a reboot.
#pragma once

#include "engine/agent/posix_files.h"
#include "engine/base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace trainyard::engine {

/// Name of the variable that marks every process of a run; its value is ROOT/ID.
inline constexpr std::string_view kCookieName = "TRAINYARD_RUN";

/// [A-Za-z0-9._-]{1,64}, not starting with '.' or '-'.
bool isRunId(std::string_view id);

class RunFolder {
public:
    RunFolder(std::string root, std::string id) : m_root(std::move(root)), m_id(std::move(id)) {}

    const std::string& root() const { return m_root; }
    const std::string& id() const { return m_id; }
    std::string path() const { return m_root + "/runs/" + m_id; }
    std::string experiment() const { return path() + "/experiment.json"; }
    std::string journal() const { return path() + "/journal"; }
    std::string reserve() const { return path() + "/reserve"; }
    /// What the ranks did, see flight_trace.h.
    std::string trace() const { return path() + "/trace"; }
    std::string lock() const { return path() + "/lock"; }
    std::string supervisorLog() const { return path() + "/supervisor.log"; }
    /// Value of kCookieName.
    std::string cookie() const { return m_root + "/" + m_id; }
    bool exists() const;

private:
    std::string m_root;
    std::string m_id;
};

/// Name of the control socket inside the run folder.
inline constexpr const char* kControlSocketName = "control";

/// The folder that holds all runs of this user on this node, as an absolute path without links.
class AgentRoot {
public:
    /// Makes the folder when it is not there.
    static Result<AgentRoot> create(const std::string& path);
    /// Empty when there is no such folder.
    static std::optional<AgentRoot> find(const std::string& path);
    /// $TRAINYARD_ROOT, else $HOME/.trainyard.
    static Result<std::string> defaultPath();

    const std::string& path() const { return m_path; }
    RunFolder run(std::string id) const { return RunFolder(m_path, std::move(id)); }
    std::vector<std::string> runIds() const;

private:
    explicit AgentRoot(std::string path) : m_path(std::move(path)) {}
    std::string m_path;
};

/// Exclusive lock on a run. It belongs to the open file, so it passes on to a forked child and is
/// free when the last process that has the file open is gone.
class RunLock {
public:
    /// Empty when somebody holds it.
    static Result<std::optional<RunLock>> tryTake(const RunFolder& folder);
    /// Asks without taking it, so asking never disturbs a start.
    static bool isHeld(const RunFolder& folder);
    /// The process that wrote itself into the lock file; 0 when unknown.
    static pid_t holder(const RunFolder& folder);

    Result<void> writeHolder(pid_t pid, const RunFolder& folder);
    int fd() const { return m_file.fd(); }

private:
    explicit RunLock(FileHandle file) : m_file(std::move(file)) {}
    FileHandle m_file;
};

} // namespace trainyard::engine
