// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A group inside a host, on a segment that its ranks have joined. Internal to engine/comm.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/shared_segment.h"

#include <functional>
#include <memory>

namespace trainyard::engine {

/// Gets the first error of a group, in the thread that uses it.
using ErrorListener = std::function<void(const Error&)>;

/// `whenBroken`: of this group and all that are split off it; may be null.
std::unique_ptr<Communicator> makeSharedGroup(const CommunicatorOptions& options,
                                              std::unique_ptr<SharedSegment> segment,
                                              ErrorListener whenBroken);

} // namespace trainyard::engine
