// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/byte_source.h"

#include "engine/base/number_text.h"
#include "engine/data/input_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace trainyard::engine {

namespace {

constexpr std::int64_t kStreamPiece = std::int64_t{1} << 20;

std::int64_t halfOfMemory() {
    return std::int64_t{sysconf(_SC_PHYS_PAGES)} * std::int64_t{sysconf(_SC_PAGESIZE)} / 2;
}

Result<std::string> unpack(InputFile& file, const std::string& path, const std::string& where) {
    std::string bytes;
    for (;;) {
        const std::size_t filled = bytes.size();
        bytes.resize(filled + static_cast<std::size_t>(kStreamPiece));
        const Result<std::size_t> got =
            file.read({reinterpret_cast<std::uint8_t*>(bytes.data()) + filled,
                       static_cast<std::size_t>(kStreamPiece)});
        if (!got)
            return got.error();
        bytes.resize(filled + *got);
        if (*got < static_cast<std::size_t>(kStreamPiece))
            return bytes;
        if (static_cast<std::int64_t>(bytes.size()) > halfOfMemory())
            return Error(Message("\"%1\" is too large to be unpacked into memory.", {path}), where,
                         Message("Unpack it first (gunzip): a plain file is read piece by piece."));
    }
}

} // namespace

Result<std::shared_ptr<const ByteSource>> ByteSource::open(const std::string& path,
                                                           const std::string& where) {
    Result<InputFile> file = InputFile::open(path, where);
    if (!file)
        return file.error();
    if (file->compressed()) {
        Result<std::string> bytes = unpack(*file, path, where);
        if (!bytes)
            return bytes.error();
        if (bytes->empty())
            return Error(Message("The file \"%1\" is empty.", {path}), where);
        return ofMemory(std::move(*bytes), path);
    }
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return Error(Message("The file \"%1\" cannot be opened: %2.",
                             {path, std::generic_category().message(errno)}),
                     where);
    return ofDescriptor(descriptor, file->bytesOnDisk(), path);
}

std::shared_ptr<const ByteSource> ByteSource::ofMemory(std::string bytes, std::string path) {
    std::shared_ptr<ByteSource> source(new ByteSource);
    source->m_path = std::move(path);
    source->m_size = static_cast<std::int64_t>(bytes.size());
    source->m_memory = std::move(bytes);
    return source;
}

std::shared_ptr<const ByteSource> ByteSource::ofDescriptor(int descriptor, std::int64_t size,
                                                           std::string path) {
    std::shared_ptr<ByteSource> source(new ByteSource);
    source->m_path = std::move(path);
    source->m_size = size;
    source->m_descriptor = descriptor;
    return source;
}

ByteSource::~ByteSource() {
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

void ByteSource::read(std::int64_t offset, std::span<char> target) const {
    TRAINYARD_CHECK_MSG(offset >= 0 && offset + static_cast<std::int64_t>(target.size()) <= m_size,
                        describePair(offset, m_size));
    if (m_descriptor < 0) {
        std::memcpy(target.data(), m_memory.data() + offset, target.size());
        return;
    }
    std::size_t filled = 0;
    while (filled < target.size()) {
        const ssize_t got = ::pread(m_descriptor, target.data() + filled, target.size() - filled,
                                    static_cast<off_t>(offset) + static_cast<off_t>(filled));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            throw std::runtime_error("The file \"" + m_path + "\" cannot be read any more: " +
                                     std::generic_category().message(errno) + '.');
        if (got == 0)
            throw std::runtime_error("The file \"" + m_path + "\" had " + grouped(m_size) +
                                     " bytes when it was opened and has become shorter.");
        filled += static_cast<std::size_t>(got);
    }
}

void ByteSource::read(std::int64_t offset, std::span<std::uint8_t> target) const {
    read(offset, std::span<char>(reinterpret_cast<char*>(target.data()), target.size()));
}

std::string ByteSource::readAll() const {
    std::string bytes(static_cast<std::size_t>(m_size), '\0');
    read(0, std::span<char>(bytes));
    return bytes;
}

bool ByteStream::appendTo(std::string& text) {
    const std::int64_t count = std::min(kStreamPiece, m_source.size() - m_offset);
    if (count <= 0)
        return false;
    const std::size_t before = text.size();
    text.resize(before + static_cast<std::size_t>(count));
    m_source.read(m_offset, std::span<char>(text.data() + before, static_cast<std::size_t>(count)));
    m_offset += count;
    return true;
}

} // namespace trainyard::engine
