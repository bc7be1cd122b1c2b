// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/idx_file.h"

#include "engine/base/number_text.h"
#include "engine/data/input_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace trainyard::engine {

namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kMagicBytes = 4;
/// Enough of a file to tell what it really is.
constexpr std::size_t kStartBytes = 64;

std::string elementTypeName(std::uint8_t code) {
    switch (code) {
    case 0x08:
        return "unsigned byte";
    case 0x09:
        return "signed byte";
    case 0x0B:
        return "16-bit integer";
    case 0x0C:
        return "32-bit integer";
    case 0x0D:
        return "32-bit float";
    case 0x0E:
        return "64-bit float";
    default:
        return {};
    }
}

std::string hexadecimal(std::uint32_t value) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4)
        text += kDigits[value >> shift & 0xF];
    return text;
}

std::uint32_t bigEndian(const std::uint8_t* bytes) {
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
           std::uint32_t{bytes[2]} << 8 | bytes[3];
}

// ---- What a file is that is not IDX -----------------------------------------------------------

struct Signature {
    std::string_view start; ///< lower case where letters are compared
    const char* what;
};
constexpr std::array<Signature, 14> kSignatures = {{
    {"<!doctype", "a web page"},
    {"<html", "a web page"},
    {"<?xml", "an XML document"},
    {"version https://git-lfs", "a Git LFS pointer, not the data itself"},
    {"\x1F\x8B", "gzip inside gzip"},
    {"pk\x03\x04", "a ZIP archive"},
    {"bzh", "a bzip2 file"},
    {"\xFD"
     "7zxz",
     "an xz file"},
    {"\x28\xB5\x2F\xFD", "a Zstandard file"},
    {"\x93numpy", "a NumPy array"},
    {"\x89png", "a PNG picture"},
    {"\xFF\xD8\xFF", "a JPEG picture"},
    {"\x89hdf", "an HDF5 file"},
    {"%pdf", "a PDF document"},
}};

std::string printableStart(std::string_view bytes) {
    std::string text;
    for (const char c : bytes.substr(0, 16)) {
        if (c == '\n' || c == '\r' || (c == '>' && !text.empty()))
            break;
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E)
            return {};
        text += c;
    }
    return text;
}

std::string hexadecimalStart(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes.substr(0, 8)) {
        const auto value = static_cast<unsigned char>(c);
        text += text.empty() ? "" : " ";
        text += kDigits[value >> 4];
        text += kDigits[value & 0xF];
    }
    return text;
}

/// Why `start`, the first bytes of the (unpacked) content, is no IDX file.
Error notIdx(const std::string& path, const std::string& where, bool compressed,
             std::string_view start) {
    std::string lower(start);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) {
        return static_cast<char>(c < 0x80 ? std::tolower(c) : c);
    });
    const Message cure("Choose an IDX file, or fetch it again if this should be one.");
    const bool namedGzip = path.ends_with(".gz") && !compressed;
    const std::string found = printableStart(start);
    const std::string begins = found.empty() ? hexadecimalStart(start) : '"' + found + '"';
    const auto known = std::ranges::find_if(
        kSignatures, [&](const Signature& entry) { return lower.starts_with(entry.start); });
    if (known != kSignatures.end()) {
        if (namedGzip)
            return {Message("\"%1\" is not gzip and not IDX: it begins with %2 and looks like %3.",
                            {path, begins, known->what}),
                    where, cure};
        return {Message("\"%1\" is not an IDX file: it begins with %2 and looks like %3.",
                        {path, begins, known->what}),
                where, cure};
    }
    if (namedGzip)
        return {Message("\"%1\" is not gzip and not IDX: it begins with %2.", {path, begins}),
                where, cure};
    return {
        Message("\"%1\" is not an IDX file: it begins with %2; IDX begins with two zero bytes, the "
                "element type and the number of dimensions.",
                {path, begins}),
        where, cure};
}

// ---- Header ----------------------------------------------------------------------------------

Result<void> checkMagic(const std::string& path, IdxRole role, const std::string& where,
                        std::uint32_t magic) {
    const auto type = static_cast<std::uint8_t>(magic >> 8);
    const auto dimensions = static_cast<int>(magic & 0xFF);
    if (role == IdxRole::Labels && dimensions != 1)
        return Error(
            Message("\"%1\" is a %2-D file (%3); labels must be 1-D: its magic number is %4, "
                    "expected 0x00000801.",
                    {path, std::to_string(dimensions), dimensions >= 3 ? "images" : "not labels",
                     hexadecimal(magic)}),
            where, Message("Choose the labels file."));
    if (role == IdxRole::Images && (dimensions < 2 || dimensions > 4))
        return Error(
            Message("\"%1\" has the magic number %2, which means %3-D data%4; images are 3-D "
                    "and have 0x00000803.",
                    {path, hexadecimal(magic), std::to_string(dimensions),
                     dimensions == 1 ? " (labels)" : ""}),
            where, Message("Choose the images file."));
    if (type != kUnsignedByte)
        return Error(
            Message("The elements of \"%1\" are of type %2 (%3); only unsigned bytes can be read "
                    "so far.",
                    {path, elementTypeName(type), hexadecimal(magic)}),
            where, Message("Convert the file to unsigned bytes, 0 to 255."));
    return {};
}

Error tooShort(const std::string& path, const std::string& where, std::int64_t expected,
               std::int64_t found) {
    return {Message("\"%1\" is cut short: its header asks for %2 bytes, found %3.",
                    {path, grouped(expected), grouped(found)}),
            where, Message("Fetch it again.")};
}

Error tooLong(const std::string& path, const std::string& where, std::int64_t expected,
              const std::string& found) {
    return {Message("\"%1\" is longer than its header says: expected %2 bytes, found %3.",
                    {path, grouped(expected), found}),
            where, Message("The file is damaged or not what its header says: fetch it again.")};
}

std::int64_t physicalMemory() {
    return std::int64_t{sysconf(_SC_PHYS_PAGES)} * std::int64_t{sysconf(_SC_PAGESIZE)};
}

/// The file must be able to hold what its header promises. By arithmetic only.
Result<void> checkSize(const std::string& path, const std::string& where, const InputFile& file,
                       const Shape& extents, std::int64_t headerBytes) {
    for (const std::int64_t extent : extents)
        if (extent == 0)
            return Error(
                Message("\"%1\" holds no samples: its header says %2.", {path, describe(extents)}),
                where);
    constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
    const std::int64_t elements = elementCount(extents);
    const std::int64_t expected =
        elements > kLargest - headerBytes ? kLargest : elements + headerBytes;
    if (!file.compressed() && expected > file.bytesOnDisk())
        return tooShort(path, where, expected, file.bytesOnDisk());
    if (!file.compressed() && expected < file.bytesOnDisk())
        return tooLong(path, where, expected, grouped(file.bytesOnDisk()));
    if (expected > file.largestContent())
        return Error(
            Message("\"%1\" cannot be right: its header says %2, which is %3 bytes, but a gzip "
                    "file of %4 bytes can hold %5 at most.",
                    {path, describe(extents), grouped(expected), grouped(file.bytesOnDisk()),
                     grouped(file.largestContent())}),
            where, Message("Fetch it again."));
    if (expected > physicalMemory())
        return Error(Message("\"%1\" needs %2 bytes of memory; this machine has %3.",
                             {path, grouped(expected), grouped(physicalMemory())}),
                     where);
    return {};
}

Result<Shape> readHeader(const std::string& path, IdxRole role, const std::string& where,
                         InputFile& file) {
    std::array<std::uint8_t, kMagicBytes> magic = {};
    Result<std::size_t> got = file.read(magic);
    if (!got)
        return got.error();
    std::string start(reinterpret_cast<const char*>(magic.data()), *got);
    if (*got < kMagicBytes || magic[0] != 0 || magic[1] != 0 || magic[3] == 0 ||
        elementTypeName(magic[2]).empty()) {
        std::array<std::uint8_t, kStartBytes> more = {};
        if (const Result<std::size_t> rest = file.read(more))
            start.append(reinterpret_cast<const char*>(more.data()), *rest);
        return notIdx(path, where, file.compressed(), start);
    }
    if (const Result<void> right = checkMagic(path, role, where, bigEndian(magic.data())); !right)
        return right.error();

    std::vector<std::uint8_t> words(4 * std::size_t{magic[3]});
    got = file.read(words);
    if (!got)
        return got.error();
    if (*got < words.size())
        return tooShort(path, where, static_cast<std::int64_t>(kMagicBytes + words.size()),
                        static_cast<std::int64_t>(kMagicBytes + *got));
    Shape extents;
    for (std::size_t i = 0; i < words.size(); i += 4)
        extents.push_back(bigEndian(words.data() + i));
    return extents;
}

} // namespace

Result<IdxArray> readIdx(const std::string& path, IdxRole role, const std::string& where) {
    Result<InputFile> file = InputFile::open(path, where);
    if (!file)
        return file.error();
    Result<Shape> extents = readHeader(path, role, where, *file);
    if (!extents)
        return extents.error();
    const auto headerBytes = static_cast<std::int64_t>(kMagicBytes + 4 * extents->size());
    if (const Result<void> fits = checkSize(path, where, *file, *extents, headerBytes); !fits)
        return fits.error();
    // Channels last is the other way to store colours; read as channels first it would train on
    // noise.
    if (extents->size() == 4 && extents->at(3) <= 4 && extents->at(1) > 4)
        return Error(
            Message("The pictures of \"%1\" (%2) seem to have their channels last; they must be "
                    "{samples, channels, height, width}.",
                    {path, describe(*extents)}),
            where, Message("Move the channels before height and width."));

    IdxArray array;
    const auto elements = static_cast<std::size_t>(elementCount(*extents));
    try {
        array.elements = std::make_unique_for_overwrite<std::uint8_t[]>(elements);
    } catch (const std::bad_alloc&) {
        return Error(Message("Not enough memory for the %2 bytes of \"%1\".",
                             {path, grouped(static_cast<std::int64_t>(elements))}),
                     where);
    }
    Result<std::size_t> got = file->read({array.elements.get(), elements});
    if (!got)
        return got.error();
    const std::int64_t expected = headerBytes + static_cast<std::int64_t>(elements);
    if (*got < elements)
        return tooShort(path, where, expected, headerBytes + static_cast<std::int64_t>(*got));
    // Reading on to the end also makes zlib compare the checksum.
    std::array<std::uint8_t, 1> beyond = {};
    got = file->read(beyond);
    if (!got)
        return got.error();
    if (*got > 0)
        return tooLong(path, where, expected, "more");
    array.extents = std::move(*extents);
    return array;
}

} // namespace trainyard::engine
