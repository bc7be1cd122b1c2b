// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// GlooSite: where a group over TCP meets and what it splits off meets. Internal to engine/comm.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/gloo_link.h"

#include <gloo/transport/device.h>

#include <memory>
#include <string>

namespace trainyard::engine {

struct GlooSite {
    std::string folder;      ///< its own
    std::string worldFolder; ///< empty where it is the world
    std::shared_ptr<gloo::transport::Device> device;
    /// Of this group and all that are split off it; may be null.
    FaultListener whenBroken;

    /// A listener on `address`; sends to ranks that are gone no longer end this process.
    static Result<GlooSite> open(const std::string& folder, const std::string& address);
    /// Of the group with this number among those called `name`; makes its folder.
    Result<GlooSite> ofGroup(const std::string& name, int group) const;
};

/// A group whose members may be anywhere.
Result<std::unique_ptr<Communicator>> makeGlooGroup(const CommunicatorOptions& options,
                                                    const GlooSite& site);

} // namespace trainyard::engine
