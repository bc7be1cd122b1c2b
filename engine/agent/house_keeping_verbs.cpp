// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// sweep and remove: what is left over after runs, on the process table and on the disk.
#include "engine/agent/answer.h"
#include "engine/agent/journal.h"
#include "engine/agent/verbs.h"

#include <cerrno>
#include <filesystem>
#include <poll.h>
#include <system_error>

namespace trainyard::engine {
namespace {

/// Run ids never start with a dot, so such a folder is no run and a later sweep may finish it off.
constexpr std::string_view kRemovingPrefix = ".removing-";
/// A supervisor that has written the end holds the lock for a moment longer.
constexpr std::int64_t kGoingNs = 2'000'000'000;

std::error_code removeTree(const std::string& path) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    return error;
}

void removeHalfRemovedRuns(const AgentRoot& root) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(root.path() + "/runs", error))
        if (entry.path().filename().native().rfind(kRemovingPrefix, 0) == 0)
            removeTree(entry.path().native());
}

Result<std::optional<RunLock>> takeWhenGone(const RunFolder& folder) {
    const Result<JournalContent> journal = scanJournal(folder.journal());
    const bool hasEnded = journal && journal->finalState;
    const std::int64_t giveUpNs = monotonicNs() + (hasEnded ? kGoingNs : 0);
    for (;;) {
        Result<std::optional<RunLock>> lock = RunLock::tryTake(folder);
        if (!lock || lock.value() || monotonicNs() >= giveUpNs)
            return lock;
        ::poll(nullptr, 0, 20);
    }
}

Answer removeRun(const AgentRoot& root, const RunFolder& folder) {
    sweepOrphans(root); // nobody may write into the folder while it goes
    const Result<std::optional<RunLock>> lock = takeWhenGone(folder);
    if (!lock)
        return refusal(lock.error());
    if (!lock.value())
        return refusal(Error(Message("Run %1 is still running.", {folder.id()}), {},
                             Message("Stop it first.")));
    const std::string doomed = root.path() + "/runs/" + std::string(kRemovingPrefix) + folder.id();
    removeTree(doomed);
    std::error_code error;
    std::filesystem::rename(folder.path(), doomed, error);
    if (!error)
        error = removeTree(doomed);
    if (error)
        return refusal(fileError("remove", folder.path(), error.value()));
    return {{"answer", "removed"}};
}

} // namespace

VerbExit sweepVerb(const std::string& rootPath) {
    const std::optional<AgentRoot> root = AgentRoot::find(rootPath);
    Answer answer{{"answer", "swept"}, {"ended", Answer::array()}, {"remaining", Answer::array()}};
    if (root) {
        const SweepReport report = sweepOrphans(*root);
        removeHalfRemovedRuns(*root);
        answer["ended"] = describe(report.ended, *root);
        answer["remaining"] = describe(report.remaining, *root);
    }
    print(answer);
    return VerbExit::Ok;
}

VerbExit removeVerb(const std::string& rootPath, const std::string& run) {
    const std::optional<AgentRoot> root = AgentRoot::find(rootPath);
    const Answer answer = root && root->run(run).exists() ? removeRun(*root, root->run(run))
                                                          : Answer{{"answer", "absent"}};
    print(answer);
    return answer["answer"] == "refused" ? VerbExit::Refused : VerbExit::Ok;
}

} // namespace trainyard::engine
