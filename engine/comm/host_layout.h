// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// HostLayout: which ranks of a group are on one host. Hosts are numbered in the order of their
// first ranks; the first rank of a host is its leader, who talks to the other hosts. Internal to
// engine/comm.
#pragma once

#include <cstddef>
#include <vector>

namespace trainyard::engine {

class HostLayout {
public:
    /// `hosts`: of each rank, any numbers. `rank`: this one.
    HostLayout(const std::vector<int>& hosts, int rank);

    int hosts() const { return static_cast<int>(m_ranks.size()); }
    /// Several hosts, one of them with several ranks, and each with ranks that follow each other,
    /// so that a sum in rank order goes from host to host.
    bool hasTwoLevels() const { return m_isConsecutive && hosts() > 1 && mostRanks() > 1; }

    int hostOf(int rank) const { return m_hostOf[static_cast<std::size_t>(rank)]; }
    int host() const { return hostOf(m_rank); }
    const std::vector<int>& ranksOn(int host) const {
        return m_ranks[static_cast<std::size_t>(host)];
    }
    int leaderOf(int host) const { return ranksOn(host).front(); }
    int mostRanks() const;

    bool isHere(int rank) const { return hostOf(rank) == host(); }
    bool isLeader() const { return leaderOf(host()) == m_rank; }
    /// Number among the ranks of its host.
    int localRankOf(int rank) const;

private:
    int m_rank;
    std::vector<int> m_hostOf;
    std::vector<std::vector<int>> m_ranks; ///< of each host
    bool m_isConsecutive = true;
};

} // namespace trainyard::engine
