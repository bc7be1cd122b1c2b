// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/random.h"

#include "engine/base/check.h"

namespace trainyard {

namespace {

/// Bits of each half so that 2^(2 * half) >= count.
unsigned halfBits(std::uint64_t count) {
    unsigned bits = 1;
    while (bits < 31 && (std::uint64_t{1} << (2 * bits)) < count)
        ++bits;
    return bits;
}

std::uint64_t feistel(std::uint64_t value, unsigned bits, std::uint64_t seed, RandomStream stream,
                      std::uint64_t epoch) {
    const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
    std::uint32_t left = static_cast<std::uint32_t>(value >> bits) & mask;
    std::uint32_t right = static_cast<std::uint32_t>(value) & mask;
    for (std::uint32_t round = 0; round < 4; ++round) {
        const Philox4 words = randomWords(seed, stream, round, epoch, right);
        const std::uint32_t next = left ^ (words[0] & mask);
        left = right;
        right = next;
    }
    return (std::uint64_t{left} << bits) | right;
}

} // namespace

std::int64_t permuted(std::uint64_t seed, RandomStream stream, std::uint64_t epoch,
                      std::int64_t index, std::int64_t count) {
    TRAINYARD_CHECK_MSG(index >= 0 && index < count, describePair(index, count));
    const unsigned bits = halfBits(static_cast<std::uint64_t>(count));
    std::uint64_t value = static_cast<std::uint64_t>(index);
    do
        value = feistel(value, bits, seed, stream, epoch);
    while (value >= static_cast<std::uint64_t>(count));
    return static_cast<std::int64_t>(value);
}

} // namespace trainyard
