// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/answer.h"

#include "engine/base/json.h"

#include <unistd.h>

namespace trainyard::engine {

void print(const Answer& answer) {
    const std::string line = jsonText(answer) + "\n";
    (void)writeAll(STDOUT_FILENO, line);
}

Answer refusal(const Error& error) {
    return {{"answer", "refused"}, {"error", error.sentence()}};
}

Answer describe(const std::vector<MarkedProcess>& processes, const AgentRoot& root) {
    Answer list = Answer::array();
    for (const MarkedProcess& process : processes)
        list.push_back({{"run", process.cookie.substr(root.path().size() + 1)},
                        {"pid", process.pid},
                        {"command", process.command}});
    return list;
}

} // namespace trainyard::engine
