// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/sweep.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

constexpr std::int64_t kGiveUpNs = 5'000'000'000;

FileHandle openProcess(pid_t pid) {
    return FileHandle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

/// Kills exactly this process: should its number have been used again, the cookie differs. False
/// when it was gone already.
bool killAndWait(const MarkedProcess& process) {
    const FileHandle handle = openProcess(process.pid);
    if (!handle.isOpen()) { // gone, or a kernel before 5.3
        return environmentOf(process.pid, kCookieName) == process.cookie &&
               ::kill(process.pid, SIGKILL) == 0;
    }
    if (environmentOf(process.pid, kCookieName) != process.cookie)
        return false;
    ::syscall(SYS_pidfd_send_signal, handle.fd(), SIGKILL, nullptr, 0);
    pollfd wait{handle.fd(), POLLIN, 0};
    ::poll(&wait, 1, 200);
    return true;
}

std::vector<MarkedProcess> orphansOf(const AgentRoot& root) {
    const std::string prefix = root.path() + "/";
    std::map<std::string, bool> isAlive;
    std::vector<MarkedProcess> orphans = markedProcesses(prefix);
    std::erase_if(orphans, [&](const MarkedProcess& process) {
        const std::string id = process.cookie.substr(prefix.size());
        if (!isRunId(id)) // of another root that lies inside this one
            return true;
        const auto [entry, isNew] = isAlive.try_emplace(id, false);
        if (isNew)
            entry->second = RunLock::isHeld(root.run(id));
        return entry->second;
    });
    return orphans;
}

} // namespace

SweepReport sweepOrphans(const AgentRoot& root) {
    SweepReport report;
    const std::int64_t giveUpNs = monotonicNs() + kGiveUpNs;
    // Again and again: what is killed may just have made a child.
    for (;;) {
        std::vector<MarkedProcess> orphans = orphansOf(root);
        if (orphans.empty())
            return report;
        if (monotonicNs() > giveUpNs) {
            report.remaining = std::move(orphans);
            return report;
        }
        for (MarkedProcess& orphan : orphans) {
            const bool killed = killAndWait(orphan);
            const bool isKnown = std::any_of(report.ended.begin(), report.ended.end(),
                                             [&](const auto& p) { return p.pid == orphan.pid; });
            if (killed && !isKnown)
                report.ended.push_back(std::move(orphan));
        }
    }
}

} // namespace trainyard::engine
