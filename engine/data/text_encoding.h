// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Text files as UTF-8. Marks at the begin of a file decide (byte order marks of UTF-8 and UTF-16);
// any other encoding must be named, because guessing one would silently train on wrong letters.
#pragma once

#include "engine/data/byte_source.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::engine {

/// A text of UTF-8 bytes from `begin` on. A file in UTF-8 stays where it is and has not been looked
/// through; others have been converted in memory.
struct TextSource {
    std::shared_ptr<const ByteSource> bytes;
    std::int64_t begin = 0;
    std::vector<Message> notes;
    std::int64_t size() const { return bytes->size() - begin; }
};
/// `encoding`: "auto", or a name that iconv knows.
Result<TextSource> openTextSource(const std::string& path, const std::string& where,
                                  const std::string& encoding);

constexpr char32_t kNoCharacter = 0xFFFFFFFF;
constexpr char32_t kCharacterEnd = 0x110000; ///< code points are below it

/// The code point at `position`, which moves behind it. kNoCharacter (and no move) where the bytes
/// are not UTF-8 or end within a code point.
char32_t decodeCharacter(std::string_view text, std::size_t& position);
void appendCharacter(std::string& text, char32_t character);
/// Bytes at the end of `text` that may be the begin of a longer code point.
std::size_t unfinishedBytes(std::string_view text);

/// "not UTF-8 at byte N": what to say of a text in which decodeCharacter() failed.
Error notUtf8(const TextSource& text, const std::string& where, std::int64_t offset);

} // namespace trainyard::engine
