// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// GlooRendezvous: where the ranks of a Gloo group meet. Each leaves a card in a folder that all can
// reach (rank, host, process), so that a rank that never comes is named, and a note when it gives
// up, so that the others name the cause and not a fellow victim. The folder serves one group; a
// group that is split off has one inside its world's, where its notes lie, too.
#pragma once

#include "engine/base/result.h"
#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"
#include "engine/comm/process_identity.h"
#include "engine/comm/wait_observer.h"

#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace trainyard::engine {

/// What a rank says of itself.
struct RankCard {
    int worldSize = 0;
    std::string host; ///< name, for people
    std::string boot; ///< identifier of the running system: equal means the same host
    ProcessIdentity process;
};

class GlooRendezvous final : public WaitObserver {
public:
    using Clock = std::chrono::steady_clock;

    /// Leaves this rank's card and waits for all the others. `worldFolder`: of the world to which
    /// the group belongs and whose ranks it names; empty for a world.
    static Result<GlooRendezvous> meet(const CommunicatorOptions& options,
                                       const std::string& folder, const std::string& worldFolder,
                                       Clock::time_point end);
    static Error cannotMeet(const std::string& folder, const std::error_code& code);

    const RankCard& card(int rank) const { return m_cards[static_cast<std::size_t>(rank)]; }
    bool onThisHost(int rank) const;
    /// Running for ranks of other hosts: this host cannot tell.
    ProcessState processState(int rank) const;

    /// For what Gloo needs to know of the other ranks to connect.
    Result<void> publish(const std::string& key, const std::vector<char>& value) const;
    Result<std::vector<char>> await(const std::string& key, Clock::time_point end) const;
    void removePublished(const std::string& key) const;

    /// Written before the connections are closed.
    void leaveNote(const std::string& reason) const;
    std::optional<std::string> noteOf(int rank) const;
    /// This rank waits for another one of its own host; read by those that wait for this rank.
    void waitsFor(const Fault& missing) const override;
    void waitIsOver() const override;
    Fault behind(const Fault& missing) const override;

    /// Takes this rank's card away: it has done its part and may end before the others. The last
    /// one of a group takes the folder away.
    void leave() const;
    bool hasLeft(int rank) const;

private:
    GlooRendezvous(const CommunicatorOptions& options, std::string folder, std::string worldFolder)
        : m_options(options), m_folder(std::move(folder)), m_worldFolder(std::move(worldFolder)) {}
    Result<void> leaveCard();
    /// Why waiting for other ranks makes no sense any more.
    std::optional<Error> reasonToStop(Clock::time_point end, int missing) const;
    std::string cardPath(int rank) const;
    std::string notePath(const std::string& folder, int rank) const;
    std::string waitPath(int rank) const;
    std::string keyPath(const std::string& key) const;

    CommunicatorOptions m_options;
    std::string m_folder;
    std::string m_worldFolder;
    std::vector<RankCard> m_cards; ///< of the ranks met so far
};

} // namespace trainyard::engine
