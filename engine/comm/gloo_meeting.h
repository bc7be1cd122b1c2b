// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// GlooMeeting: the ranks of a group have found each other and are connected, each with each, and
// each peer has said that it is one of the group: whoever else connects is left, and the ranks
// connect anew.
// Internal to engine/comm.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/gloo_rendezvous.h"

#include <gloo/rendezvous/context.h>
#include <gloo/transport/device.h>

#include <memory>
#include <string>
#include <vector>

namespace trainyard::engine {

/// One listener for all groups of a rank.
Result<std::shared_ptr<gloo::transport::Device>> listenOn(const std::string& address);

struct GlooMeeting {
    GlooRendezvous rendezvous;
    std::shared_ptr<gloo::rendezvous::Context> context;
    /// May be removed once all are connected.
    std::vector<std::string> publishedKeys;

    /// Within the deadline. `worldFolder`: as for GlooRendezvous::meet.
    static Result<GlooMeeting> hold(const CommunicatorOptions& options, const std::string& folder,
                                    const std::string& worldFolder,
                                    std::shared_ptr<gloo::transport::Device> device);
};

} // namespace trainyard::engine
