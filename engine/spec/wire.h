// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers as little-endian bytes, whatever the machine's own order is. Used by the event
// codec and the frames; nothing else should need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace trainyard::spec {

template <class Integer>
void appendLittleEndian(std::string& out, Integer value) {
    using Unsigned = std::make_unsigned_t<Integer>;
    auto bits = static_cast<std::uint64_t>(static_cast<Unsigned>(value));
    for (std::size_t i = 0; i < sizeof(Integer); ++i, bits >>= 8)
        out += static_cast<char>(bits & 0xff);
}

/// Reads sizeof(Integer) bytes; the caller has made sure that they are there.
template <class Integer>
Integer readLittleEndian(const char* bytes) {
    std::uint64_t bits = 0;
    for (std::size_t i = sizeof(Integer); i-- > 0;)
        bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<Integer>(static_cast<std::make_unsigned_t<Integer>>(bits));
}

} // namespace trainyard::spec
