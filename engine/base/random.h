// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random numbers: a value is a pure function of a key and a counter, so dropout,
// shuffling and initial weights do not depend on world size, rank, thread or recompute.
// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011.
#pragma once

#include <array>
#include <cstdint>

namespace trainyard {

using Philox4 = std::array<std::uint32_t, 4>;

/// Four independent 32-bit words for (key, counter).
inline Philox4 philox4x32(std::array<std::uint32_t, 2> key, Philox4 counter) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0],
                   static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1],
                   static_cast<std::uint32_t>(a)};
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return counter;
}

/// Streams keep the uses of one seed apart.
enum class RandomStream : std::uint32_t {
    Weights = 1,
    Shuffle = 2,
    Dropout = 3,
    Split = 4,
    Augmentation = 5,
    Sampling = 8,
    LowRank = 9
};

/// Four words for element group `index` of `stream` (`substream`: parameter or operation number).
inline Philox4 randomWords(std::uint64_t seed, RandomStream stream, std::uint32_t substream,
                           std::uint64_t step, std::uint64_t index) {
    const std::array<std::uint32_t, 2> key = {
        static_cast<std::uint32_t>(seed) ^ (static_cast<std::uint32_t>(stream) * 0x85EBCA6Bu),
        static_cast<std::uint32_t>(seed >> 32) ^ (substream * 0xC2B2AE35u)};
    return philox4x32(key,
                      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                       static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32)});
}

/// [0, 1) with 24 bits, exact in fp32.
inline float unitFloat(std::uint32_t word) {
    return static_cast<float>(word >> 8) * 0x1p-24f;
}

/// [0, 1) with 53 bits.
inline double unitDouble(std::uint32_t high, std::uint32_t low) {
    const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
}

/// The `index`-th element of a pseudo-random permutation of [0, count): a bijection without a table
/// (Feistel network over the next power of four, cycle-walking back into the range).
std::int64_t permuted(std::uint64_t seed, RandomStream stream, std::uint64_t epoch,
                      std::int64_t index, std::int64_t count);

} // namespace trainyard
