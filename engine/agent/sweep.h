// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Ends what a killed supervisor left behind: processes that carry a run's cookie while nobody holds
// that run's lock. A supervisor takes the lock before it starts anything, so no living run is hit.
#pragma once

#include "engine/agent/processes.h"
#include "engine/agent/run_folder.h"

#include <vector>

namespace trainyard::engine {

struct SweepReport {
    std::vector<MarkedProcess> ended;
    std::vector<MarkedProcess> remaining; ///< did not end in some seconds: wait for a device
};

SweepReport sweepOrphans(const AgentRoot& root);

} // namespace trainyard::engine
