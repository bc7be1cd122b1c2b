// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// StallWatch: sees when no rank of a run moves on, and names the one that the others wait for.
// Without processes or clocks of its own. Ending the run is not its business: the wait of the other
// ranks has a deadline.
#pragma once

#include "engine/agent/run_verdict.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::engine {

/// A living rank and where it stands.
struct StandingRank {
    int rank = 0;
    std::int64_t pid = 0;
    RankPoint point;
};

/// The rank that holds the others up: one whose process is halted, else one that does not
/// wait for others itself, else the one that is furthest behind. `ranks` is not empty.
const StandingRank& suspectOf(const std::vector<StandingRank>& ranks,
                              const std::function<bool(const StandingRank&)>& isHalted);

class StallWatch {
public:
    /// Looks again; from time to time. A warning when the ranks have stood for `limitNs`, once; a
    /// line when they go on. Before all have begun to train they may take any time, and only one
    /// whose process is halted holds them up.
    std::optional<spec::Log> look(std::vector<StandingRank> living, const std::string& host,
                                  std::int64_t nowNs, std::int64_t limitNs,
                                  const std::function<bool(const StandingRank&)>& isHalted);

private:
    std::optional<spec::Log>
    lookBeforeTraining(const std::vector<StandingRank>& living, const std::string& host,
                       std::int64_t nowNs, std::int64_t limitNs,
                       const std::function<bool(const StandingRank&)>& isHalted);
    spec::Log goesOn(std::int64_t stoodNs);

    std::int64_t m_lastMoveNs = 0; ///< CLOCK_MONOTONIC of the newest move of any rank
    bool m_stalled = false;
};

} // namespace trainyard::engine
