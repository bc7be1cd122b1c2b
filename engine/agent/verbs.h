// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The verbs of trainyard-worker that work on runs. Each writes its answer to stdout, one line of
// JSON except attach, and returns the exit code of the process.
#pragma once

#include "engine/agent/run_folder.h"
#include "engine/agent/supervisor.h"

#include <cstdint>
#include <string>

namespace trainyard::engine {

/// Exit codes of the verbs.
enum class VerbExit : int {
    Ok = 0,             ///< attach: the run has ended and all of it was sent, or stdin was closed
    Refused = 1,        ///< the answer says why
    Usage = 2,          ///< unknown verb or option, no such run
    Damaged = 4,        ///< attach: no frame starts at the offset, or the journal is damaged
    SupervisorDead = 5, ///< attach: the run has no end and nobody who will write one
    StillRunning = 6    ///< attach --once
};

struct StartRequest {
    std::string run;
    int ranks = 1;
    int threads = 1;
    std::string experiment; ///< JSON
    std::vector<std::string> rankProgram;
    SupervisorTiming timing;
    std::size_t bucketBytes = 0; ///< see RankEnvironment
};
VerbExit startVerb(const std::string& root, const StartRequest& request);

struct AttachRequest {
    std::string run;
    std::uint64_t from = 0; ///< bytes of the journal that the reader has
    std::string nonce;
    bool once = false;
};
VerbExit attachVerb(const std::string& root, const AttachRequest& request);

VerbExit stopVerb(const std::string& root, const std::string& run, double graceSeconds);
VerbExit sweepVerb(const std::string& root);
VerbExit probeVerb(const std::string& root);
/// The run's Chrome trace, as of now where it runs; to stdout, or to a file and an answer.
VerbExit traceVerb(const std::string& root, const std::string& run, const std::string& outPath);
VerbExit removeVerb(const std::string& root, const std::string& run);

} // namespace trainyard::engine
