// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How a run ended and who caused it, from how its ranks ended. Pure functions, no processes.
// Rules: a rank that lost its peer is a victim, never named as the cause while another can be;
// ranks that the supervisor itself killed are no cause; there is exactly one failure.
#pragma once

#include "engine/base/result.h"
#include "engine/runtime/rank_protocol.h"
#include "engine/spec/event.h"

#include <optional>
#include <string>
#include <vector>

namespace trainyard::engine {

/// Where a rank stood, read from its line of the status page.
struct RankPoint {
    std::int64_t step = -1;
    std::int64_t instruction = -1;
    std::int64_t timeNs = 0;
    RankPhase phase = RankPhase::Starting;
    std::string layer;
    int opcode = 0; ///< plan::Opcode; the rank's word for it, so it may be none
};

RankPoint pointOf(const RankStatus& status);
/// Appends " at step 120, in layer conv2." or " before its first step." to a sentence.
Message withPlace(std::string format, std::vector<std::string> arguments, const RankPoint& point);

struct RankRecord {
    int rank = 0;
    std::int64_t pid = 0;
    std::string device;
    bool ended = false;
    int waitStatus = 0; ///< as from waitpid
    int endOrder = 0;   ///< ranks that were seen to end at the same time share a number
    bool endedBySupervisor = false;
    std::int64_t endedNs = 0;             ///< when that was seen; CLOCK_MONOTONIC
    bool stopped = false;                 ///< its process was halted when the first rank was lost
    RankPoint point;                      ///< when the first rank was lost
    std::optional<spec::Failure> failure; ///< what the rank itself said
};

struct Circumstances {
    std::string host;
    bool stopRequested = false;
    /// Set when ranks did not end in this time after a stop and were killed.
    std::optional<double> overrunGraceSeconds;
    /// The supervisor could not do its own work, e.g. write the journal.
    std::optional<Error> supervisorError;
};

struct Verdict {
    spec::RunState state = spec::RunState::Finished;
    Message reason;
    std::optional<spec::Failure> failure;
    int culprit = -1; ///< rank
};

/// True if the end of this rank means that the run can not go on.
bool isLost(const RankRecord& rank);
Verdict judge(const std::vector<RankRecord>& ranks, const Circumstances& circumstances);

} // namespace trainyard::engine
