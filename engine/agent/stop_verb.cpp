// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// stop: asks the run's supervisor and waits for the end. Whatever state the run is in, after it no
// process of the run is left, and the answer says how that came about.
#include "engine/agent/answer.h"
#include "engine/agent/journal.h"
#include "engine/agent/verbs.h"
#include "engine/base/json.h"

#include <poll.h>

namespace trainyard::engine {
namespace {

/// Beyond the grace: SIGTERM, SIGKILL, and the supervisor's own limits.
constexpr double kEndSeconds = 20;
constexpr int kRetryMs = 50;
constexpr std::int64_t kComingUpNs = 2'000'000'000;

std::optional<spec::RunState> finalStateIn(const RunFolder& folder) {
    const Result<JournalContent> journal = scanJournal(folder.journal());
    return journal ? journal->finalState : std::nullopt;
}

Answer stop(const AgentRoot& root, const RunFolder& folder, double graceSeconds) {
    const std::int64_t beganNs = monotonicNs();
    // A supervisor that is just coming up, or just going, holds the lock but does not listen.
    do {
        const std::optional<std::string> reply =
            askToStop(folder, graceSeconds, graceSeconds + kEndSeconds);
        if (reply) {
            Answer answer = jsonOrDiscarded(*reply);
            if (answer.is_object()) {
                answer["seconds"] = static_cast<double>(monotonicNs() - beganNs) * 1e-9;
                return answer;
            }
        }
        if (!RunLock::isHeld(folder))
            break;
        ::poll(nullptr, 0, kRetryMs);
    } while (monotonicNs() - beganNs < kComingUpNs);

    if (RunLock::isHeld(folder))
        return refusal(Error(Message("The supervisor of run %1 (process %2) does not answer.",
                                     {folder.id(), std::to_string(RunLock::holder(folder))}),
                             {}, Message("End this process, then stop the run again.")));
    const SweepReport swept = sweepOrphans(root);
    if (const std::optional<spec::RunState> state = finalStateIn(folder))
        return {{"answer", "ended"}, {"state", std::string(spec::name(*state))}};
    return {{"answer", "dead"},
            {"error", "The supervisor of run " + folder.id() + " was killed before; " +
                          std::to_string(swept.ended.size()) +
                          " processes that it left were ended now."},
            {"swept", describe(swept.ended, root)}};
}

Error noSuchRun(const std::string& root, const std::string& run) {
    return Error(Message("There is no run %1 in %2.", {run, root}));
}

} // namespace

VerbExit stopVerb(const std::string& rootPath, const std::string& run, double graceSeconds) {
    const std::optional<AgentRoot> root = AgentRoot::find(rootPath);
    if (!root || !root->run(run).exists()) {
        print(refusal(noSuchRun(rootPath, run)));
        return VerbExit::Usage;
    }
    const Answer answer = stop(*root, root->run(run), graceSeconds);
    print(answer);
    return answer["answer"] == "refused" ? VerbExit::Refused : VerbExit::Ok;
}

} // namespace trainyard::engine
