// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/host_layout.h"

#include <algorithm>
#include <map>

namespace trainyard::engine {

HostLayout::HostLayout(const std::vector<int>& hosts, int rank) : m_rank(rank) {
    std::map<int, int> numbers;
    for (int r = 0; r < static_cast<int>(hosts.size()); ++r) {
        const int host = hosts[static_cast<std::size_t>(r)];
        const auto [entry, isNew] = numbers.try_emplace(host, static_cast<int>(m_ranks.size()));
        if (isNew)
            m_ranks.emplace_back();
        else if (hosts[static_cast<std::size_t>(r - 1)] != host)
            m_isConsecutive = false;
        m_hostOf.push_back(entry->second);
        m_ranks[static_cast<std::size_t>(entry->second)].push_back(r);
    }
}

int HostLayout::mostRanks() const {
    std::size_t most = 0;
    for (const std::vector<int>& ranks : m_ranks)
        most = std::max(most, ranks.size());
    return static_cast<int>(most);
}

int HostLayout::localRankOf(int rank) const {
    const std::vector<int>& ranks = ranksOn(hostOf(rank));
    return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
}

} // namespace trainyard::engine
