// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/device_sampler.h"

#include <unistd.h>

namespace trainyard::engine {

std::string cpuDeviceOf(int rank) {
    return "cpu:" + std::to_string(rank);
}

std::optional<spec::DeviceSample> DeviceSampler::sample(std::int64_t nowNs) {
    const std::optional<ProcessLoad> load = loadOf(m_pid);
    if (!load)
        return std::nullopt;
    const std::optional<std::int64_t> lastTicks = m_lastTicks;
    const double seconds = static_cast<double>(nowNs - m_lastNs) * 1e-9;
    m_lastTicks = load->cpuTicks;
    m_lastNs = nowNs;
    if (!lastTicks || seconds <= 0)
        return std::nullopt;
    const double busySeconds = static_cast<double>(load->cpuTicks - *lastTicks) /
                               static_cast<double>(::sysconf(_SC_CLK_TCK));
    spec::DeviceSample sample;
    sample.rank = m_rank;
    sample.device = cpuDeviceOf(m_rank);
    sample.values = {
        {spec::metric::kUtilization, 100 * busySeconds / (seconds * m_threads)},
        {spec::metric::kMemory, static_cast<double>(load->residentBytes)},
    };
    return sample;
}

} // namespace trainyard::engine
