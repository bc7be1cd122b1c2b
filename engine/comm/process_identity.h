// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A process of this host, named so that a later process with the same number is not taken for it.
#pragma once

#include <cstdint>

namespace trainyard::engine {

enum class ProcessState { Running, Stopped, Dead };

struct ProcessIdentity {
    std::int64_t pid = 0;
    std::uint64_t startTime = 0; ///< clock ticks after boot, as in /proc/PID/stat

    static ProcessIdentity self();
    /// Dead also when it has ended but its parent has not noticed yet.
    ProcessState state() const;
};

} // namespace trainyard::engine
