// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/comm/rank_processes.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>

#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trainyard::test {

using Clock = std::chrono::steady_clock;

namespace {

std::size_t pageBytes(int worldSize) {
    return engine::statusPageBytes(worldSize) + sizeof(std::atomic<int>);
}

void* sharedPage(std::size_t bytes) {
    void* page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        qFatal("no shared page");
    return page;
}

} // namespace

std::vector<int> hostsOf(Transport transport, int worldSize) {
    std::vector<int> hosts(static_cast<std::size_t>(worldSize), 0);
    for (int rank = 0; rank < worldSize; ++rank) {
        int& host = hosts[static_cast<std::size_t>(rank)];
        if (transport == Transport::TwoHosts)
            host = 2 * rank >= worldSize;
        else if (transport == Transport::ThreeHosts) // 1, all between, 1
            host = rank == 0 ? 5 : rank < 3 || rank < worldSize - 1 ? 2 : 7;
    }
    return hosts;
}

MeetingPlace::MeetingPlace(Transport transport, int worldSize)
    : MeetingPlace(transport, hostsOf(transport, worldSize)) {}

MeetingPlace::MeetingPlace(std::vector<int> hosts)
    : MeetingPlace(Transport::TwoHosts, std::move(hosts)) {}

MeetingPlace::MeetingPlace(Transport transport, std::vector<int> hosts)
    : m_transport(transport), m_worldSize(static_cast<int>(hosts.size())),
      m_hosts(std::move(hosts)), m_page(sharedPage(pageBytes(m_worldSize))),
      m_pageBytes(pageBytes(m_worldSize)), m_status(m_page) {
    const int last = m_hosts.empty() ? 0 : *std::ranges::max_element(m_hosts);
    for (int host = 0; host <= last; ++host)
        m_segments.push_back(::memfd_create("trainyard-test", MFD_CLOEXEC));
}

MeetingPlace::~MeetingPlace() {
    for (const int segment : m_segments)
        ::close(segment);
    ::munmap(m_page, m_pageBytes);
}

std::atomic<int>& MeetingPlace::counter() const {
    return *reinterpret_cast<std::atomic<int>*>(static_cast<std::byte*>(m_page) +
                                                engine::statusPageBytes(m_worldSize));
}

Result<std::unique_ptr<engine::Communicator>>
MeetingPlace::join(int rank, std::chrono::milliseconds deadline) const {
    return joinAs(rank, m_worldSize, deadline);
}

Result<std::unique_ptr<engine::Communicator>>
MeetingPlace::joinAs(int rank, int worldSize, std::chrono::milliseconds deadline) const {
    const engine::CommunicatorOptions options{rank, worldSize, deadline, &m_status};
    const std::string folder = m_folder.path().toStdString();
    if (m_transport == Transport::SharedMemory)
        return engine::makeSharedMemoryCommunicator(options, m_segments.front());
    if (m_transport == Transport::Gloo)
        return engine::makeGlooCommunicator(options, folder, "127.0.0.1");
    const std::vector<int> hosts =
        worldSize == m_worldSize ? m_hosts : hostsOf(m_transport, worldSize);
    const int host = hosts[static_cast<std::size_t>(rank)];
    return engine::makeTwoLevelCommunicator(
        options, hosts, m_segments[static_cast<std::size_t>(host)], folder, "127.0.0.1");
}

RankProcesses::RankProcesses(int count, const std::function<std::string(int rank)>& body) {
    for (int rank = 0; rank < count; ++rank) {
        std::array<int, 2> ends;
        if (::pipe(ends.data()) != 0)
            qFatal("no pipe");
        const pid_t pid = ::fork();
        if (pid < 0)
            qFatal("no process");
        if (pid == 0) {
            // As a fresh process, without the test framework's handlers.
            for (int number = 1; number < SIGRTMIN; ++number)
                ::signal(number, SIG_DFL);
            std::string text;
            try {
                text = body(rank);
            } catch (const std::exception& failure) {
                text = std::string("exception: ") + failure.what();
            }
            // Not through exit(): what the parent registered for its own end must not run here.
            const ssize_t written = ::write(ends[1], text.data(), text.size());
            ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 9);
        }
        ::close(ends[1]);
        const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
        if (handle < 0)
            qFatal("no pidfd");
        m_processes.push_back({pid, ends[0], handle});
    }
}

RankProcesses::~RankProcesses() {
    for (const Process& process : m_processes) {
        if (process.pid > 0) {
            ::kill(process.pid, SIGKILL);
            ::waitpid(process.pid, nullptr, 0);
        }
        ::close(process.pipe);
        ::close(process.handle);
    }
}

void RankProcesses::signal(int rank, int number) const {
    ::kill(pid(rank), number);
}

bool RankProcesses::isRunning(int rank) const {
    pollfd handle = {m_processes[static_cast<std::size_t>(rank)].handle, POLLIN, 0};
    return ::poll(&handle, 1, 0) == 0;
}

std::vector<RankEnd> RankProcesses::wait(std::chrono::seconds longest) {
    const Clock::time_point start = Clock::now();
    std::vector<RankEnd> ends(m_processes.size());
    std::size_t running = m_processes.size();
    bool struck = false;
    while (running > 0) {
        std::vector<pollfd> handles;
        for (const Process& process : m_processes)
            handles.push_back({process.pid > 0 ? process.handle : -1, POLLIN, 0});
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(start + longest - Clock::now());
        if (left.count() <= 0 && !struck) {
            struck = true;
            for (const Process& process : m_processes)
                if (process.pid > 0)
                    ::kill(process.pid, SIGABRT), ::kill(process.pid, SIGCONT);
        }
        ::poll(handles.data(), handles.size(), struck ? -1 : static_cast<int>(left.count()));
        for (std::size_t i = 0; i < m_processes.size(); ++i) {
            if (m_processes[i].pid == 0 || !(handles[i].revents & POLLIN))
                continue;
            int status = 0;
            ::waitpid(m_processes[i].pid, &status, 0);
            m_processes[i].pid = 0;
            --running;
            ends[i].signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            ends[i].seconds = std::chrono::duration<double>(Clock::now() - start).count();
            std::array<char, 4096> buffer;
            for (ssize_t got;
                 (got = ::read(m_processes[i].pipe, buffer.data(), buffer.size())) > 0;)
                ends[i].text.append(buffer.data(), static_cast<std::size_t>(got));
        }
    }
    return ends;
}

} // namespace trainyard::test
