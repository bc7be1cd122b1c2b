// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/atomic_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace trainyard::engine {

namespace {

std::string folderOf(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

Error cannotWrite(const std::string& path, int errorNumber) {
    if (errorNumber == ENOSPC || errorNumber == EDQUOT)
        return Error(Message("disk full: %1", {path}), {}, Message("Free some space there."));
    return Error(Message("%1 cannot be written: %2.", {path, std::strerror(errorNumber)}), {},
                 Message("Check the folder and its permissions."));
}

} // namespace

Result<AtomicFile> AtomicFile::create(const std::string& path) {
    // The process number keeps two writers of one file from writing into each other.
    const std::string temporary = path + ".new-" + std::to_string(::getpid());
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                          S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
    if (fd < 0)
        return cannotWrite(path, errno);
    return AtomicFile(path, temporary, fd);
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : m_path(std::move(path)), m_temporary(std::move(temporary)), m_fd(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : m_path(std::move(other.m_path)), m_temporary(std::move(other.m_temporary)),
      m_fd(std::exchange(other.m_fd, -1)) {}

AtomicFile::~AtomicFile() {
    discard();
}

void AtomicFile::discard() {
    if (m_fd < 0)
        return;
    ::close(std::exchange(m_fd, -1));
    ::unlink(m_temporary.c_str());
}

Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
    TRAINYARD_CHECK(m_fd >= 0);
    while (!bytes.empty()) {
        const ssize_t written = ::write(m_fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            const Error error = cannotWrite(m_path, errno);
            discard();
            return error;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

Result<void> AtomicFile::commit() {
    TRAINYARD_CHECK(m_fd >= 0);
    // Renamed before its bytes are on the disk, the file could be empty after a loss of power.
    if (::fsync(m_fd) != 0 || ::rename(m_temporary.c_str(), m_path.c_str()) != 0) {
        const Error error = cannotWrite(m_path, errno);
        discard();
        return error;
    }
    ::close(std::exchange(m_fd, -1));
    const int folder = ::open(folderOf(m_path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        ::fsync(folder);
        ::close(folder);
    }
    return {};
}

} // namespace trainyard::engine
