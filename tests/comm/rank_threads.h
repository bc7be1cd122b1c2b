// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Threads of this process as ranks: each joins and hands a text back.
#pragma once

#include "tests/comm/rank_processes.h"

#include <chrono>
#include <functional>
#include <semaphore>
#include <string>
#include <vector>

namespace trainyard::test {

using RankBody = std::function<std::string(engine::Communicator& world)>;

/// What each rank returned, in rank order; for one that could not join, why.
std::vector<std::string>
runOnThreads(const MeetingPlace& place, const RankBody& body,
             std::chrono::milliseconds deadline = std::chrono::seconds(60));

/// As processes.
std::vector<std::string>
runOnProcesses(const MeetingPlace& place, const RankBody& body,
               std::chrono::milliseconds deadline = std::chrono::seconds(60));

/// "fine" or the error.
std::string sentenceOf(const Result<void>& result);

/// Comes so much later than the others: for tests of how long ranks wait.
inline void beLate(std::chrono::milliseconds by) {
    std::binary_semaphore never(0);
    static_cast<void>(never.try_acquire_for(by));
}

} // namespace trainyard::test
