// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/text_encoding.h"

#include "engine/base/number_text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <iconv.h>

namespace trainyard::engine {

namespace {

/// What is converted is held in memory.
constexpr std::int64_t kLargestConverted = std::int64_t{1} << 30;

class Converter {
public:
    explicit Converter(const char* encoding) : m_handle(iconv_open("UTF-8", encoding)) {}
    ~Converter() {
        if (known())
            iconv_close(m_handle);
    }
    Converter(const Converter&) = delete;
    Converter& operator=(const Converter&) = delete;

    bool known() const { return m_handle != iconv_t(-1); }

    /// The offset at which `text` is not of the encoding; its size when all is well.
    std::size_t convert(std::string& text, std::string& converted) {
        char* from = text.data();
        std::size_t left = text.size();
        std::array<char, 65536> piece = {};
        while (left > 0) {
            char* to = piece.data();
            std::size_t room = piece.size();
            const std::size_t result = iconv(m_handle, &from, &left, &to, &room);
            const int reason = errno;
            converted.append(piece.data(), piece.size() - room);
            if (result == std::size_t(-1) && reason != E2BIG)
                break;
        }
        return text.size() - left;
    }

private:
    iconv_t m_handle;
};

Result<TextSource> converted(const ByteSource& source, std::size_t markBytes,
                             const std::string& where, const std::string& encoding) {
    if (source.size() > kLargestConverted)
        return Error(Message("\"%1\" is in %2 and too large to be converted in memory.",
                             {source.path(), encoding}),
                     where,
                     Message("Convert it first: iconv -f %1 -t UTF-8 FILE > NEW", {encoding}));
    Converter converter(encoding.c_str());
    if (!converter.known())
        return Error(Message("This system cannot convert from %1.", {encoding}), where,
                     Message("Give the file in UTF-8."));
    std::string text = source.readAll().substr(markBytes);
    std::string utf8;
    const std::size_t end = converter.convert(text, utf8);
    if (end < text.size())
        return Error(
            Message("\"%1\" is not %2: the bytes at %3 have no meaning there.",
                    {source.path(), encoding, grouped(static_cast<std::int64_t>(end + markBytes))}),
            where, Message("Choose another encoding."));
    TextSource result;
    result.bytes = ByteSource::ofMemory(std::move(utf8), source.path());
    result.notes.push_back(Message("The text was converted from %1.", {encoding}));
    return result;
}

} // namespace

Result<TextSource> openTextSource(const std::string& path, const std::string& where,
                                  const std::string& encoding) {
    Result<std::shared_ptr<const ByteSource>> source = ByteSource::open(path, where);
    if (!source)
        return source.error();
    std::array<std::uint8_t, 3> start = {};
    const auto startBytes = static_cast<std::size_t>(std::min<std::int64_t>(3, (*source)->size()));
    (*source)->read(0, std::span(start).first(startBytes));
    const bool utf8Mark = start == std::array<std::uint8_t, 3>{0xEF, 0xBB, 0xBF};
    const bool littleMark = start[0] == 0xFF && start[1] == 0xFE;
    const bool bigMark = start[0] == 0xFE && start[1] == 0xFF;
    const bool automatic = encoding == "auto";
    if ((automatic && littleMark) || encoding == "UTF-16LE")
        return converted(**source, littleMark ? 2 : 0, where, "UTF-16LE");
    if ((automatic && bigMark) || encoding == "UTF-16BE")
        return converted(**source, bigMark ? 2 : 0, where, "UTF-16BE");
    if (!automatic && encoding != "UTF-8")
        return converted(**source, 0, where, encoding);
    TextSource text;
    text.bytes = std::move(*source);
    if (utf8Mark) {
        text.begin = 3;
        text.notes.push_back(Message("The byte order mark of UTF-8 is left out."));
    }
    return text;
}

char32_t decodeCharacter(std::string_view text, std::size_t& position) {
    const auto byteAt = [text](std::size_t at) {
        return static_cast<std::uint8_t>(text[at]);
    };
    const std::uint8_t first = byteAt(position);
    if (first < 0x80) {
        ++position;
        return first;
    }
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || position + length > text.size())
        return kNoCharacter;
    char32_t character = first & (0xFFu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        const std::uint8_t next = byteAt(position + i);
        if ((next & 0xC0) != 0x80)
            return kNoCharacter;
        character = character << 6 | (next & 0x3F);
    }
    constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = character >= 0xD800 && character < 0xE000;
    if (character < kLeast[length] || character >= kCharacterEnd || surrogate)
        return kNoCharacter;
    position += length;
    return character;
}

void appendCharacter(std::string& text, char32_t character) {
    const auto append = [&text](char32_t byte) {
        text += static_cast<char>(static_cast<std::uint8_t>(byte));
    };
    if (character < 0x80) {
        append(character);
    } else if (character < 0x800) {
        append(0xC0 | character >> 6);
        append(0x80 | (character & 0x3F));
    } else if (character < 0x10000) {
        append(0xE0 | character >> 12);
        append(0x80 | (character >> 6 & 0x3F));
        append(0x80 | (character & 0x3F));
    } else {
        append(0xF0 | character >> 18);
        append(0x80 | (character >> 12 & 0x3F));
        append(0x80 | (character >> 6 & 0x3F));
        append(0x80 | (character & 0x3F));
    }
}

std::size_t unfinishedBytes(std::string_view text) {
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
        const auto byte = static_cast<std::uint8_t>(text[text.size() - back]);
        if ((byte & 0xC0) == 0x80)
            continue;
        const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

Error notUtf8(const TextSource& text, const std::string& where, std::int64_t offset) {
    return {Message("\"%1\" is not UTF-8: the bytes at %2 are no character.",
                    {text.bytes->path(), grouped(offset)}),
            where,
            Message("Name its encoding, for example --set data.encoding=WINDOWS-1251 for Russian "
                    "text of Windows, or convert the file to UTF-8.")};
}

} // namespace trainyard::engine
