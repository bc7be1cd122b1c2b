// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/spec/devices.h"

#include <algorithm>
#include <map>
#include <string>

namespace trainyard::spec {

std::vector<int> hostsOfRanks(const Experiment& experiment) {
    std::vector<int> hosts(static_cast<std::size_t>(experiment.parallel.ranks()), 0);
    std::map<std::string, int> numbers;
    for (std::size_t rank = 0; rank < std::min(hosts.size(), experiment.devices.size()); ++rank) {
        const std::string& device = experiment.devices[rank];
        const auto next = static_cast<int>(numbers.size());
        hosts[rank] = numbers.try_emplace(device.substr(0, device.find('/')), next).first->second;
    }
    return hosts;
}

bool isOnSeveralHosts(const Experiment& experiment) {
    const std::vector<int> hosts = hostsOfRanks(experiment);
    return std::ranges::any_of(hosts, [](int host) { return host > 0; });
}

} // namespace trainyard::spec
