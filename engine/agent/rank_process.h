// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Starting the process of one rank as runtime/rank_protocol.h says: its file descriptors, its mark
// in the environment, and its end should the supervisor die.
#pragma once

#include "engine/agent/posix_files.h"
#include "engine/agent/run_folder.h"
#include "engine/runtime/flight_record.h"
#include "engine/runtime/rank_protocol.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace trainyard::engine {

/// The memory that all ranks of this node and the supervisor share.
class SharedMemory {
public:
    static Result<SharedMemory> create(int worldSize);
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&&) = delete;
    ~SharedMemory();

    StatusPage status() const { return StatusPage(m_mapping); }
    int statusFd() const { return m_statusFile.fd(); }
    int segmentFd() const { return m_segmentFile.fd(); }
    /// A memfd, or something else where there is no memory for records.
    int recordFd() const { return m_recordFile.fd(); }
    /// Null where there are no records.
    const FlightRecord* record(int rank) const;

private:
    SharedMemory() = default;
    void makeRecords(int worldSize);
    FileHandle m_statusFile;
    FileHandle m_segmentFile;
    FileHandle m_recordFile;
    void* m_mapping = nullptr;
    std::size_t m_bytes = 0;
    void* m_records = nullptr;
    std::size_t m_recordBytes = 0;
};

struct RankProcess {
    pid_t pid = 0;
    FileHandle events; ///< read ends, non-blocking
    FileHandle output;
    FileHandle errors;
};

struct RankCommand {
    std::vector<std::string> program; ///< path and first arguments; the rank's own are appended
    int rank = 0;
    int worldSize = 1;
    int threads = 1;
    std::size_t bucketBytes = 0; ///< see RankEnvironment
};

/// How threads of a team wait for each other in ranks, as a line for the environment. Null where
/// the environment says something of it already.
const char* rankWaits();

/// Forks and waits until the program runs; an error when it can not. Call from the main thread
/// only: the kernel ends the child when the thread that forked it ends.
Result<RankProcess> startRank(const RankCommand& command, const RunFolder& folder,
                              const SharedMemory& memory);

} // namespace trainyard::engine
