// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/gloo_group.h"

#include "engine/comm/gloo_meeting.h"

#include <csignal>
#include <filesystem>
#include <system_error>

namespace trainyard::engine {

namespace {

/// A send to a rank that is gone would otherwise end this process.
void ignoreBrokenPipes() {
    struct sigaction action = {};
    if (::sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL)
        ::signal(SIGPIPE, SIG_IGN);
}

} // namespace

Result<GlooSite> GlooSite::open(const std::string& folder, const std::string& address) {
    ignoreBrokenPipes();
    const auto device = listenOn(address);
    if (!device)
        return device.error();
    return GlooSite{folder, {}, *device, nullptr};
}

Result<GlooSite> GlooSite::ofGroup(const std::string& name, int group) const {
    GlooSite site = *this;
    site.folder += '/' + name + '-' + std::to_string(group);
    site.worldFolder = worldFolder.empty() ? folder : worldFolder;
    std::error_code code;
    std::filesystem::create_directory(site.folder, code); // or another member has
    if (code)
        return GlooRendezvous::cannotMeet(site.folder, code);
    return site;
}

} // namespace trainyard::engine
