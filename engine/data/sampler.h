// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Which sample stands at which position of an epoch: a pure function. The order depends on seed and
// epoch only, never on the number of ranks, so a resumed run or one on other ranks sees the same
// batches, and its cursor is one integer.
#pragma once

#include "engine/base/random.h"

#include <cstdint>

namespace trainyard::engine {

/// Sample at `position` of `epoch`; over all positions each of `count` samples comes exactly once.
inline std::int64_t sampleAt(std::uint64_t seed, std::int64_t epoch, std::int64_t position,
                             std::int64_t count) {
    return permuted(seed, RandomStream::Shuffle, static_cast<std::uint64_t>(epoch), position,
                    count);
}

} // namespace trainyard::engine
