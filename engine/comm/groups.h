// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What all transports do alike when a group is split or channels are opened: checks, the call that
// the ranks compare, and who is where. Internal to engine/comm.
#pragma once

#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace trainyard::engine {

using Groups = std::vector<std::vector<int>>;

/// Where a rank is in a list of groups.
struct GroupPlace {
    int group = -1;              ///< number in the list, -1 for none
    CommunicatorOptions options; ///< of the group; of a group of one without one

    bool isAlone() const { return options.worldSize == 1; }
};

/// `options`: of the communicator that is split.
GroupPlace placeIn(const Groups& groups, const CommunicatorOptions& options);

/// Checks the arguments; `usedNames` gets the name.
CollectiveCall splitCall(const Groups& groups, const std::string& name,
                         const CommunicatorOptions& options, std::set<std::string>& usedNames);

/// Checks the arguments.
CollectiveCall openingCall(std::span<const Channel> channels, const CommunicatorOptions& options);

} // namespace trainyard::engine
