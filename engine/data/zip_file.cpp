// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of ZIP that .npz files use: entries stored as they are or deflated, large files
// included. Layout: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification".
#include "engine/data/npy_file.h"

#include "engine/base/number_text.h"

#include <algorithm>
#include <new>
#include <utility>

#include <unistd.h>
#include <zlib.h>

namespace trainyard::engine {

namespace {

constexpr std::int64_t kEndBytes = 22;
constexpr std::int64_t kLongestComment = 65535;
constexpr std::int64_t kLocatorBytes = 20;
constexpr std::int64_t kEntryBytes = 46;
constexpr std::int64_t kLocalBytes = 30;
constexpr std::uint64_t kInLarge = 0xFFFFFFFF; ///< the number stands in the fields of large files

class ZipReader {
public:
    ZipReader(const std::shared_ptr<const ByteSource>& archive, const std::string& where)
        : m_archive(archive), m_where(where) {}

    Result<std::vector<ZipEntry>> read() {
        if (const Result<void> found = findDirectory(); !found)
            return found.error();
        std::vector<ZipEntry> entries;
        for (std::int64_t at = 0; at + kEntryBytes <= size(m_directory);) {
            if (number(m_directory, at, 4) != 0x02014B50)
                return damaged("its list of files is wrong");
            const auto nameBytes = static_cast<std::int64_t>(number(m_directory, at + 28, 2));
            const auto extraBytes = static_cast<std::int64_t>(number(m_directory, at + 30, 2));
            const auto commentBytes = static_cast<std::int64_t>(number(m_directory, at + 32, 2));
            const std::int64_t next = at + kEntryBytes + nameBytes + extraBytes + commentBytes;
            if (next > size(m_directory))
                return damaged("its list of files is cut");
            Result<ZipEntry> entry = readEntry(at, nameBytes, extraBytes);
            if (!entry)
                return entry.error();
            entries.push_back(std::move(*entry));
            at = next;
        }
        return entries;
    }

private:
    static std::int64_t size(const std::string& bytes) {
        return static_cast<std::int64_t>(bytes.size());
    }
    static std::uint64_t number(const std::string& bytes, std::int64_t at, int width) {
        std::uint64_t value = 0;
        for (int i = 0; i < width && at + i < size(bytes); ++i)
            value |=
                std::uint64_t{static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(at + i)])}
                << 8 * i;
        return value;
    }
    /// Empty where it is not within the archive.
    std::string bytesAt(std::uint64_t offset, std::uint64_t count) const {
        const auto whole = static_cast<std::uint64_t>(m_archive->size());
        if (offset > whole || count > whole - offset)
            return {};
        std::string bytes(count, '\0');
        m_archive->read(static_cast<std::int64_t>(offset), std::span<char>(bytes));
        return bytes;
    }
    Error damaged(const char* why) const {
        return {Message("The archive \"%1\" is damaged: %2.", {m_archive->path(), why}), m_where,
                Message("Save or fetch it again.")};
    }

    Result<void> findDirectory() {
        const std::int64_t tailBytes = std::min(m_archive->size(), kEndBytes + kLongestComment);
        const std::int64_t tailBegin = m_archive->size() - tailBytes;
        const std::string tail =
            bytesAt(static_cast<std::uint64_t>(tailBegin), static_cast<std::uint64_t>(tailBytes));
        const std::size_t end = tail.rfind("PK\x05\x06");
        if (end == std::string::npos || size(tail) - static_cast<std::int64_t>(end) < kEndBytes)
            return damaged("it ends in the middle");
        const auto at = static_cast<std::int64_t>(end);
        std::uint64_t bytes = number(tail, at + 12, 4);
        std::uint64_t offset = number(tail, at + 16, 4);
        if (offset == kInLarge || bytes == kInLarge) {
            const std::int64_t locator = tailBegin + at - kLocatorBytes;
            const std::string large =
                locator < 0
                    ? std::string()
                    : bytesAt(
                          number(bytesAt(static_cast<std::uint64_t>(locator), kLocatorBytes), 8, 8),
                          56);
            if (number(large, 0, 4) != 0x06064B50)
                return damaged("the end of its list of files is wrong");
            bytes = number(large, 40, 8);
            offset = number(large, 48, 8);
        }
        m_directory = bytesAt(offset, bytes);
        return m_directory.empty() ? Result<void>(damaged("its list of files is missing"))
                                   : Result<void>();
    }

    Result<ZipEntry> readEntry(std::int64_t at, std::int64_t nameBytes, std::int64_t extraBytes) {
        ZipEntry entry;
        entry.name = m_directory.substr(static_cast<std::size_t>(at + kEntryBytes),
                                        static_cast<std::size_t>(nameBytes));
        std::uint64_t packed = number(m_directory, at + 20, 4);
        std::uint64_t unpacked = number(m_directory, at + 24, 4);
        std::uint64_t offset = number(m_directory, at + 42, 4);
        readLarge(at + kEntryBytes + nameBytes, extraBytes, {&unpacked, &packed, &offset});
        const std::string local = bytesAt(offset, kLocalBytes);
        if (number(local, 0, 4) != 0x04034B50)
            return damaged("a file in it does not begin where it should");
        const std::uint64_t begin =
            offset + kLocalBytes + number(local, 26, 2) + number(local, 28, 2);
        const auto whole = static_cast<std::uint64_t>(m_archive->size());
        if (begin > whole || packed > whole - begin)
            return damaged("a file in it is cut");
        // Files that share their bytes would unpack to any size.
        m_packedBytes += packed;
        if (m_packedBytes > whole)
            return damaged("files in it overlap");
        if ((number(m_directory, at + 8, 2) & 1) != 0)
            return damaged("it is encrypted");
        const std::uint64_t method = number(m_directory, at + 10, 2);
        if (method == 0) {
            entry.source = m_archive;
            entry.begin = static_cast<std::int64_t>(begin);
            entry.end = static_cast<std::int64_t>(begin + packed);
            return entry;
        }
        if (method != 8)
            return damaged("it is packed in a way that is not known");
        return unpack(std::move(entry), begin, packed, unpacked, number(m_directory, at + 16, 4));
    }

    /// Numbers that do not fit into four bytes stand in an extra field, those that are needed.
    void readLarge(std::int64_t at, std::int64_t bytes,
                   std::initializer_list<std::uint64_t*> numbers) const {
        for (const std::int64_t end = at + bytes; at + 4 <= end;) {
            const std::uint64_t kind = number(m_directory, at, 2);
            const auto length = static_cast<std::int64_t>(number(m_directory, at + 2, 2));
            std::int64_t place = at + 4;
            for (std::uint64_t* value : numbers)
                if (kind == 1 && *value == kInLarge && place + 8 <= at + 4 + length) {
                    *value = number(m_directory, place, 8);
                    place += 8;
                }
            at += 4 + length;
        }
    }

    Result<ZipEntry> unpack(ZipEntry entry, std::uint64_t begin, std::uint64_t packed,
                            std::uint64_t unpacked, std::uint64_t checksum) const {
        constexpr std::uint64_t kLargestRatio = 1032;
        const auto memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                            static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
        if (unpacked / kLargestRatio > packed)
            return damaged("a file in it cannot be as large as it says");
        if (unpacked > memory / 2)
            return Error(Message("\"%1\" in \"%2\" is too large to be unpacked into memory.",
                                 {entry.name, m_archive->path()}),
                         m_where, Message("Save it with numpy.savez, which does not pack."));
        std::string from = bytesAt(begin, packed);
        std::string to(unpacked, '\0');
        z_stream stream = {};
        const int begun = inflateInit2(&stream, -MAX_WBITS);
        if (begun == Z_MEM_ERROR)
            throw std::bad_alloc();
        if (begun != Z_OK)
            return damaged("it cannot be unpacked");
        int result = Z_OK;
        std::size_t read = 0;
        std::size_t written = 0;
        constexpr std::size_t kPiece = std::size_t{1} << 30; // zlib counts in 32 bits
        while (result == Z_OK) {
            stream.next_in = reinterpret_cast<Bytef*>(from.data() + read);
            stream.avail_in = static_cast<uInt>(std::min(kPiece, from.size() - read));
            stream.next_out = reinterpret_cast<Bytef*>(to.data() + written);
            stream.avail_out = static_cast<uInt>(std::min(kPiece, to.size() - written));
            const uInt in = stream.avail_in;
            const uInt out = stream.avail_out;
            result = inflate(&stream, Z_NO_FLUSH);
            read += in - stream.avail_in;
            written += out - stream.avail_out;
        }
        inflateEnd(&stream);
        if (result != Z_STREAM_END || written != to.size() ||
            crc32_z(0, reinterpret_cast<const Bytef*>(to.data()), to.size()) != checksum)
            return damaged("a file in it does not have its checksum");
        entry.end = static_cast<std::int64_t>(to.size());
        entry.source = ByteSource::ofMemory(std::move(to), m_archive->path());
        return entry;
    }

    const std::shared_ptr<const ByteSource> m_archive;
    const std::string m_where;
    std::string m_directory;
    std::uint64_t m_packedBytes = 0; ///< of the entries read so far
};

} // namespace

Result<std::vector<ZipEntry>> readZip(const std::shared_ptr<const ByteSource>& archive,
                                      const std::string& where) {
    return ZipReader(archive, where).read();
}

} // namespace trainyard::engine
