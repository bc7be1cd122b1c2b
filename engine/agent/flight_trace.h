// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a run did, instruction by instruction: taken from the memory they share with
// the supervisor (runtime/flight_record.h), kept as a file of the run's folder, and told as a
// Chrome trace. Never trusts what it reads: ranks may have died in the middle of a word, and the
// file may be damaged.
#pragma once

#include "engine/base/result.h"
#include "engine/runtime/flight_record.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::engine {

struct RankTrace {
    int rank = 0;
    std::int64_t pid = 0;
    std::string device;
    std::int64_t untilNs = 0;        ///< when it ended, or was looked at; CLOCK_MONOTONIC
    std::uint64_t leftOut = 0;       ///< instructions that the window had no room for
    std::vector<std::string> layers; ///< by OperationId
    /// By plan::Lane; in the order they began. The window's first, then the last ones before the
    /// end; in between some are missing.
    std::array<std::vector<InstructionRecord>, kLanes> lanes;
};

struct RunTrace {
    std::string run;
    std::string host;
    std::vector<RankTrace> ranks;
};

/// Fills layers and lanes.
void readRecord(const FlightRecord& record, RankTrace& trace);

/// As a file. Needs about 64 bytes an instruction.
std::string encodeTrace(const RunTrace& trace);
Result<RunTrace> decodeTrace(std::string_view bytes);

/// JSON for chrome://tracing, Perfetto and the like: a process for each rank, a thread for each
/// lane. Microseconds from the first instruction. What had not ended has "unfinished": true.
std::string chromeTrace(const RunTrace& trace);

} // namespace trainyard::engine
