// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The command line of trainyard-worker. What computes is given from outside, so that the supervisor
// and its verbs need neither the engine's run-time half nor its libraries.
#pragma once

#include "engine/agent/rank_command.h"
#include "engine/agent/supervisor.h"

#include <functional>
#include <string>
#include <vector>

namespace trainyard::engine {

struct WorkerHooks {
    /// The life of one rank's process; returns its exit code (runtime/rank_protocol.h).
    std::function<int(const RankArguments&)> rank;
    /// `inspect ...`: describes data; gets the arguments after the verb. Empty: there is no such
    /// verb.
    std::function<int(const std::vector<std::string>&)> inspect;
    /// `predict ...`: asks a trained model; likewise.
    std::function<int(const std::vector<std::string>&)> predict;
    /// `calibrate ...`: measures this machine; likewise.
    std::function<int(const std::vector<std::string>&)> calibrate;
    SupervisorTiming timing;
};

int workerMain(const std::vector<std::string>& arguments, const WorkerHooks& hooks);

} // namespace trainyard::engine
