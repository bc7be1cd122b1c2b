// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// trace: what the ranks of a run did, instruction by instruction, for the viewers of Chrome traces.
// Of a run that goes on it is what its supervisor writes when it is asked.
#include "engine/agent/answer.h"
#include "engine/agent/control_socket.h"
#include "engine/agent/flight_trace.h"
#include "engine/agent/verbs.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

constexpr double kSupervisorSeconds = 10;
constexpr std::size_t kMostTraceBytes = std::size_t{1} << 32;

/// As encodeTrace() gave it.
Result<std::string> traceFileOf(const RunFolder& folder) {
    if (RunLock::isHeld(folder))
        askForTrace(folder, kSupervisorSeconds);
    const FileHandle file(::open(folder.trace().c_str(), O_RDONLY | O_CLOEXEC));
    if (file.isOpen())
        return readAll(file.fd(), kMostTraceBytes);
    if (errno != ENOENT)
        return fileError("read", folder.trace(), errno);
    return Error(Message("Run %1 has no trace.", {folder.id()}), {},
                 Message("It is kept from the first step on, and written when the run ends. Runs "
                         "of an earlier version have none; neither have those whose supervisor "
                         "was killed."));
}

Result<RunTrace> traceOf(const RunFolder& folder) {
    const Result<std::string> bytes = traceFileOf(folder);
    if (!bytes)
        return bytes.error();
    return decodeTrace(*bytes);
}

Result<Answer> writeTrace(const RunTrace& trace, const std::string& path) {
    if (const Result<void> written = writeFileAtomically(path, chromeTrace(trace), kAsUmaskSays);
        !written)
        return written.error();
    std::size_t instructions = 0;
    for (const RankTrace& rank : trace.ranks)
        for (const auto& lane : rank.lanes)
            instructions += lane.size();
    return Answer{
        {"answer", "traced"}, {"ranks", trace.ranks.size()}, {"instructions", instructions}};
}

} // namespace

VerbExit traceVerb(const std::string& rootPath, const std::string& run,
                   const std::string& outPath) {
    const std::optional<AgentRoot> root = AgentRoot::find(rootPath);
    if (!root || !root->run(run).exists()) {
        print(refusal(Error(Message("There is no run %1 in %2.", {run, rootPath}))));
        return VerbExit::Usage;
    }
    const Result<RunTrace> trace = traceOf(root->run(run));
    if (trace && outPath.empty())
        return writeAll(STDOUT_FILENO, chromeTrace(*trace)) ? VerbExit::Ok : VerbExit::Refused;
    const Result<Answer> answer =
        trace ? writeTrace(*trace, outPath) : Result<Answer>(trace.error());
    print(answer ? *answer : refusal(answer.error()));
    return answer ? VerbExit::Ok : VerbExit::Refused;
}

} // namespace trainyard::engine
