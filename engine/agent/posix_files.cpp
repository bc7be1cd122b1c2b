// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/posix_files.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

std::string folderOf(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::int64_t nanoseconds(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

} // namespace

void FileHandle::close() {
    if (m_fd >= 0)
        ::close(m_fd);
    m_fd = -1;
}

Result<Pipe> makePipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return Error(Message("Cannot make a pipe: %1.", {std::strerror(errno)}), {},
                     Message("Raise the limit of open files (ulimit -n)."));
    return Pipe{FileHandle(ends[0]), FileHandle(ends[1])};
}

Error fileError(std::string_view verb, const std::string& path, int errorNumber) {
    if (errorNumber == ENOSPC || errorNumber == EDQUOT)
        return Error(Message("disk full: %1", {path}), {},
                     Message("Free some space there and start the run again."));
    Message cure("Check the folder and its permissions.");
    if (errorNumber == EROFS)
        cure = Message("The file system is mounted read-only: choose another folder with --root.");
    else if (errorNumber == EACCES || errorNumber == EPERM)
        cure = Message("Allow this user to write there, or choose another folder with --root.");
    return Error(Message("Cannot %1 %2: %3.",
                         {std::string(verb), path, std::string(std::strerror(errorNumber))}),
                 {}, cure);
}

bool writeAll(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

std::string readAll(int fd, std::size_t limit) {
    std::string out;
    char buffer[65536];
    while (out.size() <= limit) {
        const ssize_t count = ::read(fd, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        out.append(buffer, static_cast<std::size_t>(count));
    }
    if (out.size() > limit + 1)
        out.resize(limit + 1);
    return out;
}

std::string readSmallFile(const std::string& path) {
    const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return file.isOpen() ? readAll(file.fd(), 16u << 20) : std::string();
}

Result<void> writeFileAtomically(const std::string& path, std::string_view content, unsigned mode) {
    const std::string temporary = path + ".new";
    const auto fail = [&]() {
        const int error = errno;
        ::unlink(temporary.c_str());
        return fileError("write", path, error);
    };
    FileHandle file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (!file.isOpen() || !writeAll(file.fd(), content) || ::fsync(file.fd()) != 0)
        return fail();
    file.close();
    if (::rename(temporary.c_str(), path.c_str()) != 0)
        return fail();
    const FileHandle folder(::open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.isOpen())
        ::fsync(folder.fd());
    return {};
}

Result<void> makeFolders(const std::string& path) {
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const std::string part = path.substr(0, slash);
        struct stat status {};
        // A folder above ours may be one that we must not write to but that is there.
        if (::mkdir(part.c_str(), S_IRWXU) != 0) {
            const int error = errno;
            if (::stat(part.c_str(), &status) != 0)
                return fileError("make the folder", part, error);
            if (!S_ISDIR(status.st_mode))
                return fileError("make the folder", part, ENOTDIR);
        }
        if (slash == std::string::npos)
            return {};
    }
}

std::vector<std::string> namesIn(const std::string& folder) {
    std::vector<std::string> names;
    DIR* directory = ::opendir(folder.c_str());
    if (!directory)
        return names;
    while (const dirent* entry = ::readdir(directory)) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            names.emplace_back(name);
    }
    ::closedir(directory);
    return names;
}

std::int64_t wallClockNs() {
    return nanoseconds(CLOCK_REALTIME);
}
std::int64_t monotonicNs() {
    return nanoseconds(CLOCK_MONOTONIC);
}

} // namespace trainyard::engine
