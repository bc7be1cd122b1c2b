// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/rank_process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

/// So much may wait in the pipe before a rank has to wait for the supervisor's disk.
constexpr int kEventPipeBytes = 1 << 20;
/// Descriptors are lifted above those that the rank expects before they are put in their places.
constexpr int kFirstFreeFd = 10;

std::vector<char*> pointersTo(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (std::string& text : strings)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> argumentsOf(const RankCommand& command, const RunFolder& folder) {
    std::vector<std::string> arguments = command.program;
    for (const auto& [name, value] :
         {std::pair<const char*, std::string>{"--run-folder", folder.path()},
          {"--rank", std::to_string(command.rank)},
          {"--world-size", std::to_string(command.worldSize)},
          {"--threads", std::to_string(command.threads)},
          {"--bucket-bytes", std::to_string(command.bucketBytes)}}) {
        arguments.emplace_back(name);
        arguments.push_back(value);
    }
    return arguments;
}

std::vector<std::string> environmentFor(const RunFolder& folder) {
    const std::string cookieName = std::string(kCookieName) + "=";
    std::vector<std::string> variables;
    for (char** entry = environ; *entry; ++entry)
        if (std::strncmp(*entry, cookieName.c_str(), cookieName.size()) != 0)
            variables.emplace_back(*entry);
    variables.push_back(cookieName + folder.cookie());
    if (const char* waits = rankWaits())
        variables.emplace_back(waits);
    return variables;
}

struct ChildFds {
    int input, output, errors, events, status, segment, record, report;
};

/// Between fork and exec: only calls that are safe there. Returns only when something failed.
void becomeRank(ChildFds fds, pid_t supervisor, char* const* arguments, char* const* environment) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    std::signal(SIGHUP, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != supervisor) // it died before the line above
        ::_exit(1);
    int* const all[] = {&fds.input,  &fds.output,  &fds.errors, &fds.events,
                        &fds.status, &fds.segment, &fds.record, &fds.report};
    for (int* fd : all)
        if ((*fd = ::fcntl(*fd, F_DUPFD_CLOEXEC, kFirstFreeFd)) < 0)
            return;
    const std::pair<int, int> places[] = {{fds.input, STDIN_FILENO},   {fds.output, STDOUT_FILENO},
                                          {fds.errors, STDERR_FILENO}, {fds.events, kEventsFd},
                                          {fds.status, kStatusFd},     {fds.segment, kSegmentFd},
                                          {fds.record, kRecordFd}};
    for (const auto& [from, to] : places)
        if (::dup2(from, to) < 0)
            return;
    ::execve(arguments[0], arguments, environment);
    const int error = errno;
    (void)!::write(fds.report, &error, sizeof error);
}

} // namespace

Result<SharedMemory> SharedMemory::create(int worldSize) {
    const auto fail = [](const char* what) {
        return Error(Message("Cannot make shared memory for the ranks (%1): %2.",
                             {what, std::strerror(errno)}));
    };
    SharedMemory memory;
    memory.m_bytes = statusPageBytes(worldSize);
    memory.m_statusFile = FileHandle(::memfd_create("trainyard-status", MFD_CLOEXEC));
    memory.m_segmentFile = FileHandle(::memfd_create("trainyard-segment", MFD_CLOEXEC));
    if (!memory.m_statusFile.isOpen() || !memory.m_segmentFile.isOpen() ||
        ::ftruncate(memory.statusFd(), static_cast<off_t>(memory.m_bytes)) != 0)
        return fail("memfd");
    void* mapping =
        ::mmap(nullptr, memory.m_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.statusFd(), 0);
    if (mapping == MAP_FAILED)
        return fail("mmap");
    memory.m_mapping = mapping;
    // A fresh memfd is all zero; a rank that has not begun must not look as if it were at step 0.
    new (mapping) StatusHeader;
    for (int rank = 0; rank < worldSize; ++rank)
        new (&memory.status().rank(rank)) RankStatus;
    memory.makeRecords(worldSize);
    return memory;
}

/// Records are worth no run: where the system has no room for them there are none.
void SharedMemory::makeRecords(int worldSize) {
    m_recordFile = FileHandle(::memfd_create("trainyard-record", MFD_CLOEXEC));
    const std::size_t bytes = kRankRecordBytes * static_cast<std::size_t>(worldSize);
    void* mapping = MAP_FAILED;
    if (m_recordFile.isOpen() && ::ftruncate(recordFd(), static_cast<off_t>(bytes)) == 0)
        mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, recordFd(), 0);
    if (mapping == MAP_FAILED) {
        m_recordFile = FileHandle(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        return;
    }
    m_records = mapping;
    m_recordBytes = bytes;
}

const FlightRecord* SharedMemory::record(int rank) const {
    return m_records ? reinterpret_cast<const FlightRecord*>(
                           static_cast<const std::byte*>(m_records) +
                           kRankRecordBytes * static_cast<std::size_t>(rank))
                     : nullptr;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : m_statusFile(std::move(other.m_statusFile)), m_segmentFile(std::move(other.m_segmentFile)),
      m_recordFile(std::move(other.m_recordFile)),
      m_mapping(std::exchange(other.m_mapping, nullptr)), m_bytes(other.m_bytes),
      m_records(std::exchange(other.m_records, nullptr)), m_recordBytes(other.m_recordBytes) {}

SharedMemory::~SharedMemory() {
    if (m_mapping)
        ::munmap(m_mapping, m_bytes);
    if (m_records)
        ::munmap(m_records, m_recordBytes);
}

// Threads of a team that spin for long at a barrier take the cores from whoever else works here
// (beside one busy process they are slower than one thread). Read when the rank's program loads.
const char* rankWaits() {
    const bool chosen = std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY");
    return chosen ? nullptr : "GOMP_SPINCOUNT=2000";
}

Result<RankProcess> startRank(const RankCommand& command, const RunFolder& folder,
                              const SharedMemory& memory) {
    Result<Pipe> events = makePipe();
    Result<Pipe> output = makePipe();
    Result<Pipe> errors = makePipe();
    Result<Pipe> report = makePipe();
    for (const Result<Pipe>* pipe : {&events, &output, &errors, &report})
        if (!*pipe)
            return pipe->error();
    const FileHandle null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null.isOpen())
        return fileError("open", "/dev/null", errno);
    ::fcntl(events->readEnd.fd(), F_SETPIPE_SZ, kEventPipeBytes);
    for (const Result<Pipe>* pipe : {&events, &output, &errors})
        ::fcntl(pipe->value().readEnd.fd(), F_SETFL, O_NONBLOCK);

    std::vector<std::string> arguments = argumentsOf(command, folder);
    std::vector<std::string> environment = environmentFor(folder);
    const std::vector<char*> argumentPointers = pointersTo(arguments);
    const std::vector<char*> environmentPointers = pointersTo(environment);
    const ChildFds fds{
        null.fd(),         output->writeEnd.fd(), errors->writeEnd.fd(), events->writeEnd.fd(),
        memory.statusFd(), memory.segmentFd(),    memory.recordFd(),     report->writeEnd.fd()};
    const pid_t supervisor = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
        becomeRank(fds, supervisor, argumentPointers.data(), environmentPointers.data());
        ::_exit(127);
    }
    if (pid < 0)
        return Error(Message("Cannot start a process for rank %1: %2.",
                             {std::to_string(command.rank), std::strerror(errno)}),
                     {}, Message("Raise the limit of processes (ulimit -u)."));
    report->writeEnd.close();
    int error = 0;
    if (::read(report->readEnd.fd(), &error, sizeof error) == sizeof error)
        return Error(
            Message("Cannot run %1 for rank %2: %3.",
                    {command.program.front(), std::to_string(command.rank), std::strerror(error)}));
    return RankProcess{pid, std::move(events->readEnd), std::move(output->readEnd),
                       std::move(errors->readEnd)};
}

} // namespace trainyard::engine
