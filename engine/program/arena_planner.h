// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Places buffers with known lifetimes into one arena so that buffers alive at the same time never
// overlap and the arena is small: largest first, each at the lowest offset that is free during its
// life (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020,
// section 5).
#pragma once

#include <cstddef>
#include <vector>

namespace trainyard::plan {

/// Alive from the instruction that first writes it to the one that last reads it, both included.
struct Lifetime {
    std::size_t bytes = 0;
    int first = 0;
    int last = 0;
};

struct ArenaLayout {
    std::vector<std::size_t> offsets; ///< one per lifetime, multiples of kArenaAlignment
    std::size_t bytes = 0;
};

inline constexpr std::size_t kArenaAlignment = 64;

ArenaLayout layOut(const std::vector<Lifetime>& lifetimes);

} // namespace trainyard::plan
