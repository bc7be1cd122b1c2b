// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How `stop` and `trace` reach a supervisor: a unix socket in the run folder, one line there, one
// line back when it is done. The folder's permissions are the access control. Both sides name the
// socket through the folder's descriptor, so the length of the run's path does not matter (sun_path
// has room for 108 bytes only).
#pragma once

#include "engine/agent/posix_files.h"
#include "engine/agent/run_folder.h"

#include <optional>
#include <poll.h>
#include <string>
#include <vector>

namespace trainyard::engine {

/// The supervisor's end. Never blocks.
class ControlServer {
public:
    static Result<ControlServer> listen(const RunFolder& folder);

    void addTo(std::vector<pollfd>& waitFor) const;
    /// Seconds of grace of the stop requests that came in since the last call.
    std::vector<double> takeStopRequests();
    /// Somebody has asked for the trace since the last answerTrace(), as of takeStopRequests().
    bool wantsTrace() const;
    /// The trace is in its file now, or can not be.
    void answerTrace();
    /// Answers all who wait, and takes no more.
    void close(const std::string& answer);

private:
    struct Client {
        FileHandle file;
        std::string received;
        bool waitsForEnd = false;
        bool waitsForTrace = false;
    };
    void acceptClients();

    RunFolder m_folder{"", ""};
    FileHandle m_file;
    std::vector<Client> m_clients;
};

/// Asks the supervisor to stop and waits for its answer; empty when there is no supervisor to ask
/// or it went away before it answered.
std::optional<std::string> askToStop(const RunFolder& folder, double graceSeconds,
                                     double timeoutSeconds);

/// Asks the supervisor to write the run's trace as of now. False as above.
bool askForTrace(const RunFolder& folder, double timeoutSeconds);

} // namespace trainyard::engine
