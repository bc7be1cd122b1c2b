// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A segment for each group that is split off: the first rank of a group makes a memfd and tells
// through its parent's staging where it is, the others open it through /proc. Nothing has a name,
// so nothing is left when ranks die in the middle. Internal to engine/comm.
#pragma once

#include "engine/comm/groups.h"
#include "engine/comm/shared_segment.h"

#include <memory>

namespace trainyard::engine {

/// On all ranks of `parent`, with the same `call`. Null for a rank that is alone. An error of one
/// rank is an error of all.
Result<std::unique_ptr<SharedSegment>> splitSegment(const std::shared_ptr<SharedSegment>& parent,
                                                    const CommunicatorOptions& options,
                                                    const Groups& groups, const GroupPlace& place,
                                                    const CollectiveCall& call,
                                                    SharedSegment::Clock::time_point end);

} // namespace trainyard::engine
