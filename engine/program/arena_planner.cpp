// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/program/arena_planner.h"

#include <algorithm>
#include <numeric>

namespace trainyard::plan {

namespace {

std::size_t aligned(std::size_t bytes) {
    return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

bool meet(const Lifetime& a, const Lifetime& b) {
    return a.first <= b.last && b.first <= a.last;
}

} // namespace

ArenaLayout layOut(const std::vector<Lifetime>& lifetimes) {
    std::vector<std::size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return lifetimes[a].bytes > lifetimes[b].bytes;
    });

    ArenaLayout layout;
    layout.offsets.assign(lifetimes.size(), 0);
    std::vector<std::size_t> placed; // sorted by offset
    for (const std::size_t index : order) {
        const Lifetime& life = lifetimes[index];
        if (life.bytes == 0)
            continue;
        std::size_t offset = 0;
        for (const std::size_t other : placed) {
            if (!meet(life, lifetimes[other]))
                continue;
            if (offset + aligned(life.bytes) <= layout.offsets[other])
                break;
            offset = std::max(offset, layout.offsets[other] + aligned(lifetimes[other].bytes));
        }
        layout.offsets[index] = offset;
        layout.bytes = std::max(layout.bytes, offset + aligned(life.bytes));
        const auto place = std::upper_bound(
            placed.begin(), placed.end(), offset,
            [&](std::size_t at, std::size_t other) { return at < layout.offsets[other]; });
        placed.insert(place, index);
    }
    return layout;
}

} // namespace trainyard::plan
