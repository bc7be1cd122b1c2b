// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/safetensors.h"

#include "engine/base/number_text.h"
#include "engine/checkpoint/atomic_file.h"
#include "engine/checkpoint/safetensors_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace trainyard::engine {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie");

namespace {

Error cannotRead(const std::string& path, const std::string& why) {
    return Error(Message("%1 cannot be read: %2.", {path, why}), {},
                 Message("Check the path and the permissions."));
}

Error notSafetensors(const std::string& path, Message what) {
    return Error(Message("%1 is no whole safetensors file: %2.", {path, what.text()}), {},
                 Message("Get it again from where it comes from."));
}

/// Less than asked for only at the end of the file; empty with errno set.
std::optional<std::size_t> readAt(int fd, std::span<std::byte> target, std::uint64_t offset) {
    std::size_t done = 0;
    while (done < target.size()) {
        const ssize_t count = ::pread(fd, target.data() + done, target.size() - done,
                                      static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return std::nullopt;
        if (count == 0)
            break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

Result<void> fill(int fd, const std::string& path, std::span<std::byte> target,
                  std::uint64_t offset) {
    const std::optional<std::size_t> count = readAt(fd, target, offset);
    if (!count)
        return cannotRead(path, std::strerror(errno));
    if (*count < target.size())
        return notSafetensors(path, {"it became shorter while it was read"});
    return {};
}

/// The header's length, held against the file's.
Result<std::uint64_t> headerBytes(int fd, const std::string& path, std::uint64_t fileBytes) {
    if (fileBytes < kLengthBytes)
        return notSafetensors(path, {"it has %1 bytes, fewer than the 8 of the header's length",
                                     {grouped(static_cast<std::int64_t>(fileBytes))}});
    std::array<std::byte, kLengthBytes> bytes{};
    if (Result<void> read = fill(fd, path, bytes, 0); !read)
        return read.error();
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), bytes.size());
    if (length > fileBytes - kLengthBytes)
        return notSafetensors(path,
                              {"it says that its header has %1 bytes, but %2 bytes follow",
                               {std::to_string(length),
                                grouped(static_cast<std::int64_t>(fileBytes - kLengthBytes))}});
    if (length > kMaxHeaderBytes)
        return notSafetensors(path, {"its header has %1 bytes; more than %2 are not allowed",
                                     {grouped(static_cast<std::int64_t>(length)),
                                      grouped(static_cast<std::int64_t>(kMaxHeaderBytes))}});
    return length;
}

} // namespace

Result<void> writeSafetensors(const std::string& path, const std::vector<TensorToSave>& tensors,
                              const SafetensorsMetadata& metadata) {
    Result<AtomicFile> file = AtomicFile::create(path);
    if (!file)
        return file.error();
    const std::string header = safetensorsHeader(tensors, metadata);
    if (Result<void> written = file->write(std::as_bytes(std::span(header))); !written)
        return written;
    for (const TensorToSave& tensor : tensors) {
        const std::size_t bytes =
            static_cast<std::size_t>(elementCount(tensor.shape)) * bytesOf(tensor.type);
        if (Result<void> written = file->write({tensor.data, bytes}); !written)
            return written;
    }
    return file->commit();
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
    // Not blocking: a pipe under this name must be refused, not waited for.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return cannotRead(path, std::strerror(errno));
    SafetensorsFile file(path, fd);
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        return cannotRead(path, std::strerror(errno));
    if (!S_ISREG(status.st_mode))
        return cannotRead(path, S_ISDIR(status.st_mode) ? "it is a folder" : "it is no file");
    const auto fileBytes = static_cast<std::uint64_t>(status.st_size);
    const Result<std::uint64_t> length = headerBytes(fd, path, fileBytes);
    if (!length)
        return length.error();
    std::string text(*length, '\0');
    if (Result<void> read = fill(fd, path, std::as_writable_bytes(std::span(text)), kLengthBytes);
        !read)
        return read.error();
    Result<SafetensorsHeader> header =
        parseSafetensorsHeader(text, fileBytes - kLengthBytes - *length, path);
    if (!header)
        return header.error();
    file.m_header = std::move(*header);
    for (SavedTensor& tensor : file.m_header.tensors)
        tensor.offset += kLengthBytes + *length;
    return file;
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : m_path(std::move(other.m_path)), m_fd(std::exchange(other.m_fd, -1)),
      m_header(std::move(other.m_header)) {}

SafetensorsFile::~SafetensorsFile() {
    if (m_fd >= 0)
        ::close(m_fd);
}

const SavedTensor* SafetensorsFile::find(const std::string& name) const {
    const auto found = std::ranges::find(m_header.tensors, name, &SavedTensor::name);
    return found == m_header.tensors.end() ? nullptr : &*found;
}

Result<void> SafetensorsFile::read(const SavedTensor& tensor, std::span<std::byte> target) const {
    TRAINYARD_CHECK_EQ(target.size(), tensor.bytes);
    return fill(m_fd, m_path, target, tensor.offset);
}

} // namespace trainyard::engine
