// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/cpu/dropout_draws.h"

#include "engine/base/multiversion.h"
#include "engine/base/random.h"

namespace trainyard::engine::cpu {

namespace {

using Lanes = std::uint32_t[kDrawLanes];

/// One round of Philox4x32 on all lanes; engine/base/random.h has it for one.
[[gnu::always_inline]] inline void philoxRound(Lanes& a, Lanes& b, Lanes& c, Lanes& d,
                                               std::uint32_t key0, std::uint32_t key1) {
#pragma GCC unroll 1
    for (std::int64_t i = 0; i < kDrawLanes; ++i) {
        const std::uint64_t p = std::uint64_t{0xD2511F53U} * a[i];
        const std::uint64_t q = std::uint64_t{0xCD9E8D57U} * c[i];
        a[i] = static_cast<std::uint32_t>(q >> 32) ^ b[i] ^ key0;
        b[i] = static_cast<std::uint32_t>(q);
        c[i] = static_cast<std::uint32_t>(p >> 32) ^ d[i] ^ key1;
        d[i] = static_cast<std::uint32_t>(p);
    }
}

} // namespace

TRAINYARD_MULTIVERSION
void drawDropoutWords(const DropoutKey& key, std::int64_t row, std::int64_t first,
                      std::int64_t groups, std::uint32_t* __restrict words) {
    const auto stepLow = static_cast<std::uint32_t>(key.step);
    const auto stepHigh = static_cast<std::uint32_t>(static_cast<std::uint64_t>(key.step) >> 32);
    const auto start = static_cast<std::uint64_t>(row * key.groupsPerRow + first);
    const auto stream = static_cast<std::uint32_t>(RandomStream::Dropout);
    for (std::int64_t g = 0; g < groups; g += kDrawLanes) {
        Lanes a, b, c, d;
        for (std::int64_t i = 0; i < kDrawLanes; ++i) {
            const std::uint64_t index = start + static_cast<std::uint64_t>(g + i);
            a[i] = static_cast<std::uint32_t>(index);
            b[i] = static_cast<std::uint32_t>(index >> 32);
            c[i] = stepLow;
            d[i] = stepHigh;
        }
        std::uint32_t key0 = static_cast<std::uint32_t>(key.seed) ^ (stream * 0x85EBCA6BU);
        std::uint32_t key1 =
            static_cast<std::uint32_t>(key.seed >> 32) ^ (key.stream * 0xC2B2AE35U);
        for (int round = 0; round < 10; ++round) {
            philoxRound(a, b, c, d, key0, key1);
            key0 += 0x9E3779B9U;
            key1 += 0xBB67AE85U;
        }
        for (std::int64_t i = 0; i < kDrawLanes; ++i) {
            words[(g + i) * 4] = a[i];
            words[(g + i) * 4 + 1] = b[i];
            words[(g + i) * 4 + 2] = c[i];
            words[(g + i) * 4 + 3] = d[i];
        }
    }
}

} // namespace trainyard::engine::cpu
