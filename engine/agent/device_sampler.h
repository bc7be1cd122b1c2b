// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Load of a rank on its CPU cores: busy share of the threads it was given, and its memory.
#pragma once

#include "engine/agent/processes.h"
#include "engine/spec/event.h"

#include <cstdint>
#include <optional>
#include <sys/types.h>

namespace trainyard::engine {

/// "cpu:RANK": on CPU each rank is its own device.
std::string cpuDeviceOf(int rank);

class DeviceSampler {
public:
    DeviceSampler(int rank, pid_t pid, int threads)
        : m_rank(rank), m_pid(pid), m_threads(threads) {}

    /// The load since the call before; the first call only remembers. Empty when the process is
    /// gone.
    std::optional<spec::DeviceSample> sample(std::int64_t nowNs);

private:
    int m_rank;
    pid_t m_pid;
    int m_threads;
    std::optional<std::int64_t> m_lastTicks;
    std::int64_t m_lastNs = 0;
};

} // namespace trainyard::engine
