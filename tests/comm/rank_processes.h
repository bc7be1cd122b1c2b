// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Real processes as ranks: each runs a function after fork and hands a text back. What a group
// meets on (memfd, folder, status page) is made before and looked at after.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/runtime/rank_protocol.h"

#include <QTemporaryDir>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace trainyard::test {

/// The last two: ranks on two hosts, the first half on the first one; and on three, of which the
/// first has one rank. Hosts are pretended: their ranks have nothing in common but the loopback.
enum class Transport { SharedMemory, Gloo, TwoHosts, ThreeHosts };

/// The host of each rank.
std::vector<int> hostsOf(Transport transport, int worldSize);

/// What the ranks of one group share. Made before they are started.
class MeetingPlace {
public:
    MeetingPlace(Transport transport, int worldSize);
    /// On several hosts.
    explicit MeetingPlace(std::vector<int> hosts);
    ~MeetingPlace();
    MeetingPlace(const MeetingPlace&) = delete;
    MeetingPlace& operator=(const MeetingPlace&) = delete;

    Result<std::unique_ptr<engine::Communicator>>
    join(int rank, std::chrono::milliseconds deadline = std::chrono::seconds(60)) const;
    /// As `join`, with another idea of the world's size.
    Result<std::unique_ptr<engine::Communicator>> joinAs(int rank, int worldSize,
                                                         std::chrono::milliseconds deadline) const;

    int worldSize() const { return m_worldSize; }
    engine::StatusPage status() const { return engine::StatusPage(m_page); }
    /// Counter that all processes see, for telling when to strike.
    std::atomic<int>& counter() const;
    QString folder() const { return m_folder.path(); }

private:
    MeetingPlace(Transport transport, std::vector<int> hosts);

    const Transport m_transport;
    const int m_worldSize;
    std::vector<int> m_hosts;
    std::vector<int> m_segments; ///< of each host
    void* m_page = nullptr;
    std::size_t m_pageBytes = 0;
    engine::StatusPage m_status;
    QTemporaryDir m_folder;
};

/// How a rank's process ended.
struct RankEnd {
    std::string text;   ///< what its function returned
    int signal = 0;     ///< that killed it, 0 for none
    double seconds = 0; ///< from the start of waiting until its end
};

class RankProcesses {
public:
    /// Forks `count` processes; each returns from `body(rank)` with a text and ends.
    RankProcesses(int count, const std::function<std::string(int rank)>& body);
    /// Kills what is left.
    ~RankProcesses();
    RankProcesses(const RankProcesses&) = delete;
    RankProcesses& operator=(const RankProcesses&) = delete;

    pid_t pid(int rank) const { return m_processes[static_cast<std::size_t>(rank)].pid; }
    void signal(int rank, int number) const;
    bool isRunning(int rank) const;
    /// Waits for all, at most `longest`; those that have not ended by then are killed with SIGABRT.
    std::vector<RankEnd> wait(std::chrono::seconds longest);

private:
    struct Process {
        pid_t pid = 0;
        int pipe = -1;
        int handle = -1; ///< pidfd: readable when the process has ended
    };
    std::vector<Process> m_processes;
};

} // namespace trainyard::test
