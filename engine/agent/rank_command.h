// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The hidden verb `rank`: the process in which one rank trains (runtime/rank_protocol.h).
#pragma once

#include <cstddef>
#include <string>

namespace trainyard::engine {

struct RankArguments {
    std::string runFolder;
    int rank = 0;
    int worldSize = 1;
    int threads = 1;
    std::size_t bucketBytes = 0; ///< see RankEnvironment
};

/// Reads the run's experiment, maps what the ranks share, trains, and returns the exit code.
int rankMain(const RankArguments& arguments);

} // namespace trainyard::engine
