// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rank does before it trains: it opens the data, makes the plan, meets the other ranks and
// makes sure that all have the same plan.
#pragma once

#include "engine/backend/backend.h"
#include "engine/comm/communicator.h"
#include "engine/data/dataset.h"
#include "engine/plan/plan.h"
#include "engine/runtime/process_groups.h"
#include "engine/runtime/rank_voice.h"

#include <memory>

namespace trainyard::engine {

struct StartedRank {
    OpenedData data;
    plan::Plan plan;
    std::unique_ptr<Backend> backend;
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<ProcessGroups> groups;
    bool crossesANetwork = false; ///< to some of the other ranks
};

/// Fills `rank`, step by step, and ends by `voice` where something is wrong: what there is by then
/// stays in place. Used by the thread that will train.
void startTogether(const RankVoice& voice, StartedRank& rank);

} // namespace trainyard::engine
