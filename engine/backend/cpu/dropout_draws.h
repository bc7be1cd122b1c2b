// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The random words of a dropout, many at once: the same as dropoutWords() one by one, with many
// counters side by side so that registers hold one word of each.
#pragma once

#include <cstdint>

namespace trainyard::engine::cpu {

/// What the draws of a run depend on, besides row and element.
struct DropoutKey {
    std::uint64_t seed = 0;
    std::uint32_t stream = 0;
    std::int64_t step = 0;
    std::int64_t groupsPerRow = 0;
};

inline constexpr std::int64_t kDrawLanes = 32;

/// The words of `groups` (a multiple of kDrawLanes) groups from group `first` of global row `row`
/// on.
void drawDropoutWords(const DropoutKey& key, std::int64_t row, std::int64_t first,
                      std::int64_t groups, std::uint32_t* words);

} // namespace trainyard::engine::cpu
