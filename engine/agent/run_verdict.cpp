// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/run_verdict.h"

#include "engine/agent/log_lines.h"
#include "engine/base/number_text.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string_view>
#include <sys/wait.h>
#include <tuple>

namespace trainyard::engine {
namespace {

using spec::Failure;
using spec::RunState;

std::optional<int> exitCode(const RankRecord& rank) {
    if (!rank.ended || !WIFEXITED(rank.waitStatus))
        return std::nullopt;
    return WEXITSTATUS(rank.waitStatus);
}

bool exitedWith(const RankRecord& rank, RankExit exit) {
    return exitCode(rank) == static_cast<int>(exit);
}

bool isSignalled(const RankRecord& rank) {
    return rank.ended && WIFSIGNALED(rank.waitStatus);
}

/// A rank whose end has a reason of its own.
bool isCause(const RankRecord& rank) {
    if (rank.endedBySupervisor)
        return rank.failure.has_value();
    return isLost(rank) && !exitedWith(rank, RankExit::PeerLost);
}

const RankRecord* firstCause(const std::vector<RankRecord>& ranks) {
    const RankRecord* first = nullptr;
    const auto key = [](const RankRecord& rank) {
        return std::tuple(rank.endOrder, !isSignalled(rank), rank.rank);
    };
    for (const RankRecord& rank : ranks)
        if (isCause(rank) && (!first || key(rank) < key(*first)))
            first = &rank;
    // All ranks leave a diverged run alike; the one that says why may be seen a moment later.
    if (first && !first->failure && exitedWith(*first, RankExit::Diverged))
        for (const RankRecord& rank : ranks)
            if (rank.failure && exitedWith(rank, RankExit::Diverged))
                return &rank;
    return first;
}

/// Of the ranks that `admits`: one whose process was halted, else the one that was furthest behind
/// and silent for longest.
template <class Predicate>
const RankRecord* furthestBehind(const std::vector<RankRecord>& ranks, Predicate admits) {
    const RankRecord* last = nullptr;
    const auto key = [](const RankRecord& rank) {
        return std::tuple(!rank.stopped, rank.point.step, rank.point.instruction,
                          rank.point.timeNs);
    };
    for (const RankRecord& rank : ranks)
        if (admits(rank) && (!last || key(rank) < key(*last)))
            last = &rank;
    return last;
}

std::vector<std::string> nameOf(const RankRecord& rank) {
    return {std::to_string(rank.rank), std::to_string(rank.pid)};
}

std::string signalName(int number) {
    const char* abbreviation = ::sigabbrev_np(number);
    return abbreviation ? std::string("SIG") + abbreviation : std::string("unknown");
}

Message cureForSignal(int number) {
    switch (number) {
    case SIGKILL:
        return Message("Often this is the system when memory runs out: look into its log, or use a "
                       "smaller batch or fewer ranks.");
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
        return Message("Somebody or the system ended this process; start the run again.");
    case SIGXCPU:
        return Message("A limit of processor time (ulimit -t) was reached; raise it.");
    default:
        return Message(
            "This is a fault in Trainyard or in a library it uses; please report it with "
            "the log of this run.");
    }
}

Failure signalFailure(const RankRecord& rank) {
    const int number = WTERMSIG(rank.waitStatus);
    std::vector<std::string> arguments = nameOf(rank);
    arguments.push_back(std::to_string(number));
    arguments.push_back(signalName(number));
    Failure failure;
    failure.what = withPlace("Rank %1 (process %2) was killed by signal %3 (%4)",
                             std::move(arguments), rank.point);
    failure.cure = cureForSignal(number);
    return failure;
}

Failure exitFailure(const RankRecord& rank) {
    std::vector<std::string> arguments = nameOf(rank);
    Failure failure;
    if (exitedWith(rank, RankExit::Diverged)) {
        failure.what =
            withPlace("Rank %1 (process %2) found a loss or gradients that are not finite",
                      std::move(arguments), rank.point);
        failure.cure = Message("Use a smaller learning rate, or clip the gradients.");
        return failure;
    }
    if (exitedWith(rank, RankExit::NoMemory)) {
        failure.what = withPlace("Rank %1 (process %2) got no memory in a thread of a library",
                                 std::move(arguments), rank.point);
        failure.cure = Message("Use a smaller batch or more micro-batches, a smaller model, ZeRO, "
                               "recomputation or fewer ranks on this machine.");
        return failure;
    }
    arguments.push_back(std::to_string(exitCode(rank).value_or(-1)));
    failure.what = withPlace("Rank %1 (process %2) ended with exit code %3 without saying why",
                             std::move(arguments), rank.point);
    failure.cure = Message("The last lines of its output are in the log of this run.");
    return failure;
}

/// The end that was asked for, by force: what was computed since the last step is lost.
Verdict endedByForce(const RankRecord& rank, double graceSeconds) {
    std::vector<std::string> arguments = nameOf(rank);
    arguments.push_back(shortest(graceSeconds));
    Verdict verdict;
    verdict.state = RunState::Stopped;
    verdict.reason =
        withPlace("Rank %1 (process %2) did not end within %3 s after the stop was asked for and "
                  "was killed",
                  std::move(arguments), rank.point);
    return verdict;
}

Failure peerFailure(const RankRecord& rank, const char* format) {
    Failure failure;
    failure.what = withPlace(format, nameOf(rank), rank.point);
    failure.cure =
        Message("Look at the load of this rank's device and at the log around this time.");
    return failure;
}

Failure silentFailure(const RankRecord& rank) {
    if (!rank.stopped)
        return peerFailure(rank, "Rank %1 (process %2) stopped answering the other ranks");
    Failure failure = peerFailure(
        rank, "Rank %1 (process %2) was halted (SIGSTOP) and did not answer the other ranks");
    failure.cure = Message("Start the run again. A halted process goes on with kill -CONT; the "
                           "other ranks wait a limited time for it.");
    return failure;
}

/// Fills what the rank did not say itself.
Failure completed(Failure failure, const RankRecord& rank, const Circumstances& circumstances) {
    if (failure.rank < 0)
        failure.rank = rank.rank;
    if (failure.pid <= 0)
        failure.pid = rank.pid;
    if (failure.host.empty())
        failure.host = circumstances.host;
    if (failure.device.empty())
        failure.device = rank.device;
    if (failure.step < 0)
        failure.step = rank.point.step;
    if (failure.instruction < 0)
        failure.instruction = rank.point.instruction;
    if (failure.layer.empty())
        failure.layer = rank.point.layer;
    return failure;
}

Verdict failedBecause(const RankRecord& rank, Failure failure, const Circumstances& circumstances) {
    Verdict verdict;
    verdict.state = exitedWith(rank, RankExit::Diverged) ? RunState::Diverged : RunState::Failed;
    verdict.failure = completed(std::move(failure), rank, circumstances);
    verdict.reason = verdict.failure->what;
    verdict.culprit = rank.rank;
    return verdict;
}

Verdict failedOnSupervisor(const Circumstances& circumstances) {
    Failure failure;
    failure.host = circumstances.host;
    failure.what = circumstances.supervisorError->what;
    failure.cure = circumstances.supervisorError->cure;
    return {RunState::Failed, failure.what, failure, -1};
}

} // namespace

RankPoint pointOf(const RankStatus& status) {
    RankPoint point;
    point.step = status.step.load(std::memory_order_relaxed);
    point.instruction = status.instruction.load(std::memory_order_relaxed);
    point.opcode = status.opcode.load(std::memory_order_relaxed);
    point.timeNs = status.timeNs.load(std::memory_order_relaxed);
    point.phase = static_cast<RankPhase>(status.phase.load(std::memory_order_relaxed));
    // The rank may be writing it just now, or may have died in the middle.
    const std::string_view layer(status.layer, ::strnlen(status.layer, sizeof status.layer));
    point.layer = cleanText(layer);
    return point;
}

Message withPlace(std::string format, std::vector<std::string> arguments, const RankPoint& point) {
    const auto placeholder = [&](std::string value) {
        arguments.push_back(std::move(value));
        return "%" + std::to_string(arguments.size());
    };
    if (point.step < 0) {
        format += " before its first step.";
    } else {
        format += " at step " + placeholder(std::to_string(point.step));
        if (!point.layer.empty())
            format += ", in layer " + placeholder(point.layer);
        format += ".";
    }
    return Message(std::move(format), std::move(arguments));
}

bool isLost(const RankRecord& rank) {
    return rank.ended && !exitedWith(rank, RankExit::Done);
}

Verdict judge(const std::vector<RankRecord>& ranks, const Circumstances& circumstances) {
    if (circumstances.supervisorError)
        return failedOnSupervisor(circumstances);
    if (const RankRecord* cause = firstCause(ranks)) {
        Failure failure = cause->failure        ? *cause->failure
                          : isSignalled(*cause) ? signalFailure(*cause)
                                                : exitFailure(*cause);
        return failedBecause(*cause, std::move(failure), circumstances);
    }
    const auto wasKilled = [](const RankRecord& rank) {
        return rank.endedBySupervisor;
    };
    if (const RankRecord* killed = furthestBehind(ranks, wasKilled)) {
        if (circumstances.overrunGraceSeconds)
            return endedByForce(*killed, *circumstances.overrunGraceSeconds);
        return failedBecause(*killed, silentFailure(*killed), circumstances);
    }
    const auto lostPeer = [](const RankRecord& rank) {
        return isLost(rank);
    };
    if (const RankRecord* behind = furthestBehind(ranks, lostPeer))
        return failedBecause(*behind,
                             peerFailure(*behind, "The ranks lost each other; rank %1 (process %2) "
                                                  "was the furthest behind,"),
                             circumstances);
    Verdict verdict;
    verdict.state = circumstances.stopRequested ? RunState::Stopped : RunState::Finished;
    return verdict;
}

} // namespace trainyard::engine
