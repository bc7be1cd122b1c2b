// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/rank_command.h"

#include "engine/agent/limits.h"
#include "engine/agent/posix_files.h"
#include "engine/runtime/memory_failure.h"
#include "engine/runtime/rank_protocol.h"
#include "engine/runtime/rank_session.h"
#include "engine/spec/experiment_json.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

/// The mapped status page, or null where there is none: without a supervisor a rank trains all the
/// same.
void* mapStatusPage(int worldSize) {
    struct stat status {};
    const std::size_t bytes = statusPageBytes(worldSize);
    if (::fstat(kStatusFd, &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::size_t>(status.st_size) < bytes)
        return nullptr;
    void* mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kStatusFd, 0);
    return mapping == MAP_FAILED ? nullptr : mapping;
}

/// This rank's part of the flight records, or null where there are none.
FlightRecord* mapRecord(const RankArguments& arguments) {
    struct stat status {};
    const std::size_t offset = kRankRecordBytes * static_cast<std::size_t>(arguments.rank);
    if (::fstat(kRecordFd, &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::size_t>(status.st_size) < offset + kRankRecordBytes)
        return nullptr;
    void* mapping = ::mmap(nullptr, kRankRecordBytes, PROT_READ | PROT_WRITE, MAP_SHARED, kRecordFd,
                           static_cast<off_t>(offset));
    return mapping == MAP_FAILED ? nullptr : static_cast<FlightRecord*>(mapping);
}

bool isOpen(int fd) {
    return ::fcntl(fd, F_GETFD) >= 0;
}

int failWith(EventSink& events, const RankArguments& arguments, const Error& error) {
    spec::Failure failure;
    failure.rank = arguments.rank;
    failure.pid = ::getpid();
    failure.what =
        error.where.empty() ? error.what : Message("%1: %2", {error.where, error.what.text()});
    failure.cure = error.cure;
    events.send(failure);
    return static_cast<int>(RankExit::Failed);
}

int trainAsRank(const RankArguments& arguments, EventSink& events) {
    const std::string path = arguments.runFolder + "/experiment.json";
    const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.isOpen())
        return failWith(events, arguments, fileError("read", path, errno));
    const spec::ParsedExperiment parsed = spec::parseExperiment(readAll(file.fd(), 64u << 20));
    if (!parsed.problems.empty())
        return failWith(events, arguments, parsed.problems.front());

    void* mapping = mapStatusPage(arguments.worldSize);
    StatusPage page(mapping);
    if (mapping)
        page.rank(arguments.rank).pid.store(static_cast<std::uint32_t>(::getpid()));
    RankEnvironment environment{.runFolder = arguments.runFolder,
                                .rank = arguments.rank,
                                .worldSize = arguments.worldSize,
                                .threads = arguments.threads,
                                .bucketBytes = arguments.bucketBytes,
                                .status = mapping ? &page : nullptr,
                                .record = mapRecord(arguments),
                                .segmentFd = isOpen(kSegmentFd) ? kSegmentFd : -1,
                                .deadline = waitForOthersLimit(),
                                .events = events};
    return static_cast<int>(trainRank(parsed.experiment, environment));
}

std::terminate_handler usualTermination = nullptr;

/// What is thrown in a thread of a library ends here. Where memory ran out nothing may be said that
/// takes memory: the exit code tells the supervisor.
[[noreturn]] void leaveTerminated() {
    try {
        if (const std::exception_ptr failure = std::current_exception())
            std::rethrow_exception(failure);
    } catch (const std::bad_alloc&) {
        ::_exit(static_cast<int>(RankExit::NoMemory));
    } catch (...) {
    }
    usualTermination();
    std::abort();
}

} // namespace

int rankMain(const RankArguments& arguments) {
    ::prctl(PR_SET_NAME, "trainyard-rank");
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // the supervisor did this, too; exec may have lost it
    std::signal(SIGPIPE, SIG_IGN);
    usualTermination = std::set_terminate(leaveTerminated);
    PipeEventSink events(kEventsFd);
    try {
        return trainAsRank(arguments, events);
    } catch (const std::exception& failure) { // before there is a session that says so
        return failWith(events, arguments, errorOf(failure, arguments.rank));
    }
}

} // namespace trainyard::engine
