// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/collective_call.h"

#include "engine/base/number_text.h"

namespace trainyard::engine {

std::size_t CollectiveCall::bytes() const {
    switch (kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter:
        return count * bytesOf(type);
    case CollectiveKind::Broadcast:
    case CollectiveKind::AllGather:
        return count;
    case CollectiveKind::Barrier:
    case CollectiveKind::Leave:
    case CollectiveKind::Split:
    case CollectiveKind::OpenChannels:
        return 0;
    }
    return 0;
}

std::string CollectiveCall::text() const {
    const std::string amount = grouped(static_cast<std::int64_t>(count));
    const std::string tagText = " (tag " + std::to_string(tag) + ')';
    const std::string place =
        position == kElsewhere ? "" : " at byte " + grouped(static_cast<std::int64_t>(position));
    const std::string elements = amount + ' ' + std::string(name(type)) + tagText + place;
    switch (kind) {
    case CollectiveKind::AllReduce:
        return "all-reduce of " + elements;
    case CollectiveKind::ReduceScatter:
        return "reduce-scatter of " + elements;
    case CollectiveKind::AllGather:
        return "all-gather of " + amount + " bytes" + tagText + place;
    case CollectiveKind::Broadcast:
        return "broadcast of " + amount + " bytes from rank " + std::to_string(root) + tagText;
    case CollectiveKind::Barrier:
        return "barrier" + tagText;
    case CollectiveKind::Leave:
        return "the end of the group";
    case CollectiveKind::Split:
        return "split into " + amount + (count == 1 ? " group" : " groups") + tagText;
    case CollectiveKind::OpenChannels:
        return "opening of " + amount + (count == 1 ? " channel" : " channels") + tagText;
    }
    return "unknown collective" + tagText;
}

std::uint64_t mixHash(std::uint64_t hash, std::uint64_t word) {
    // One step of FNV-1a on whole words is enough to tell different layouts apart.
    return ((hash ^ word) + 1) * 0x100000001B3u;
}

Error callsDiffer(int rank, const CollectiveCall& call, int otherRank,
                  const CollectiveCall& other) {
    if (call.memoryHash != other.memoryHash)
        return {Message(
            "Rank %1 and rank %2 asked for reducible memory of different sizes; found at %3.",
            {std::to_string(rank), std::to_string(otherRank), call.text()})};
    return {Message("The ranks are not at the same collective: rank %1 calls %2, rank %3 calls %4.",
                    {std::to_string(rank), call.text(), std::to_string(otherRank), other.text()})};
}

Fault Fault::told(int culprit, std::int64_t pid, const std::string& said) {
    Fault fault{FaultKind::Told, culprit, pid, {}};
    said.copy(fault.said.data(), fault.said.size() - 1);
    return fault;
}

Error endedBy(int culprit, const std::string& said) {
    return {Message("Rank %1 has ended the group: %2", {std::to_string(culprit), said})};
}

std::string reasonOf(const Error& error) {
    return error.what.format == endedBy(0, "").what.format ? error.what.arguments.back()
                                                           : error.sentence();
}

Error faultError(const Fault& fault, const std::string& during,
                 std::chrono::milliseconds deadline) {
    const std::string rank = std::to_string(fault.culprit);
    const std::string process = std::to_string(fault.pid);
    const std::string seconds = rounded(std::chrono::duration<double>(deadline).count(), 4);
    switch (fault.kind) {
    case FaultKind::NeverJoined:
        return {Message("Rank %1 did not join the group within %2 s.", {rank, seconds})};
    case FaultKind::Died:
        return {Message("Rank %1 (process %2) has died; the others were waiting for it at %3.",
                        {rank, process, during})};
    case FaultKind::Stopped:
        return {Message(
            "Rank %1 (process %2) is stopped by a signal and did not come to %3 within %4 s.",
            {rank, process, during, seconds})};
    case FaultKind::Missing:
        return {Message("Rank %1 (process %2) did not come to %3 within %4 s.",
                        {rank, process, during, seconds})};
    case FaultKind::Left:
        return {Message(
            "Rank %1 (process %2) has left the group; the others were waiting for it at %3.",
            {rank, process, during})};
    case FaultKind::Aborted:
        return {Message("The run is being aborted; this rank has left %1.", {during})};
    case FaultKind::Differs:
        return {Message("The ranks are not at the same collective; this one is at %1.", {during})};
    case FaultKind::Told:
        return endedBy(fault.culprit, fault.said.data());
    }
    return {};
}

std::string MessageHead::text(int from, int to) const {
    return "the transfer of " + grouped(static_cast<std::int64_t>(bytes)) + " bytes from rank " +
           std::to_string(from) + " to rank " + std::to_string(to) + " (tag " +
           std::to_string(tag) + ')';
}

Error messagesDiffer(int to, const MessageHead& expected, int from, const MessageHead& found) {
    return {Message("Rank %1 expects a message of %2 bytes (tag %3), but the oldest one of rank %4 "
                    "has %5 bytes (tag %6).",
                    {std::to_string(to), grouped(static_cast<std::int64_t>(expected.bytes)),
                     std::to_string(expected.tag), std::to_string(from),
                     grouped(static_cast<std::int64_t>(found.bytes)), std::to_string(found.tag)})};
}

} // namespace trainyard::engine
