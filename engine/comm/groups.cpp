// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/groups.h"

#include "engine/base/check.h"

#include <algorithm>
#include <utility>

namespace trainyard::engine {

namespace {

std::uint32_t folded(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

bool isRank(int rank, const CommunicatorOptions& options) {
    return rank >= 0 && rank < options.worldSize;
}

} // namespace

GroupPlace placeIn(const Groups& groups, const CommunicatorOptions& options) {
    GroupPlace place{-1, options};
    place.options.rank = 0;
    place.options.worldSize = 1;
    place.options.names = {options.nameOf(options.rank)};
    for (std::size_t group = 0; group < groups.size(); ++group) {
        const auto found = std::ranges::find(groups[group], options.rank);
        if (found == groups[group].end())
            continue;
        place.group = static_cast<int>(group);
        place.options.rank = static_cast<int>(found - groups[group].begin());
        place.options.worldSize = static_cast<int>(groups[group].size());
        place.options.names.clear();
        for (const int rank : groups[group])
            place.options.names.push_back(options.nameOf(rank));
    }
    return place;
}

CollectiveCall splitCall(const Groups& groups, const std::string& name,
                         const CommunicatorOptions& options, std::set<std::string>& usedNames) {
    const auto isLetter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    TRAINYARD_CHECK_MSG(!name.empty() && std::ranges::all_of(name, isLetter), name);
    TRAINYARD_CHECK_MSG(usedNames.insert(name).second, name + " has been split before");
    std::set<int> members;
    std::uint64_t hash = 0;
    for (const std::vector<int>& group : groups) {
        hash = mixHash(hash, group.size());
        for (const int rank : group) {
            TRAINYARD_CHECK_MSG(isRank(rank, options), describePair(rank, options.worldSize));
            TRAINYARD_CHECK_MSG(members.insert(rank).second, std::to_string(rank) + " twice");
            hash = mixHash(hash, static_cast<std::uint64_t>(rank));
        }
    }
    for (const char c : name)
        hash = mixHash(hash, static_cast<std::uint64_t>(c));
    return {CollectiveKind::Split, folded(hash), DType::Fp32, 0, groups.size()};
}

CollectiveCall openingCall(std::span<const Channel> channels, const CommunicatorOptions& options) {
    std::set<std::pair<int, int>> directions;
    std::uint64_t hash = 0;
    for (const Channel& channel : channels) {
        TRAINYARD_CHECK_MSG(isRank(channel.from, options) && isRank(channel.to, options) &&
                                channel.from != channel.to,
                            describePair(channel.from, channel.to));
        TRAINYARD_CHECK_MSG(channel.depth >= 1, std::to_string(channel.depth));
        TRAINYARD_CHECK_MSG(directions.insert({channel.from, channel.to}).second,
                            describePair(channel.from, channel.to) + " twice");
        for (const int number : {channel.from, channel.to, channel.depth})
            hash = mixHash(hash, static_cast<std::uint64_t>(number));
        hash = mixHash(hash, channel.bytes);
    }
    return {CollectiveKind::OpenChannels, folded(hash), DType::Fp32, 0, channels.size()};
}

} // namespace trainyard::engine
