// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

struct flock wholeFile(short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

std::optional<std::string> canonicalFolder(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    struct stat status {};
    if (!real || ::stat(real.get(), &status) != 0 || !S_ISDIR(status.st_mode))
        return std::nullopt;
    return std::string(real.get());
}

} // namespace

bool isRunId(std::string_view id) {
    if (id.empty() || id.size() > 64 || id.front() == '.' || id.front() == '-')
        return false;
    return std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    });
}

bool RunFolder::exists() const {
    struct stat status {};
    return ::stat(path().c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<AgentRoot> AgentRoot::create(const std::string& path) {
    if (const Result<void> made = makeFolders(path + "/runs"); !made)
        return made.error();
    const std::optional<std::string> real = canonicalFolder(path);
    if (!real)
        return fileError("open the folder", path, errno);
    return AgentRoot(*real);
}

std::optional<AgentRoot> AgentRoot::find(const std::string& path) {
    const std::optional<std::string> real = canonicalFolder(path);
    return real ? std::optional<AgentRoot>(AgentRoot(*real)) : std::nullopt;
}

Result<std::string> AgentRoot::defaultPath() {
    const char* root = std::getenv("TRAINYARD_ROOT");
    if (root && *root)
        return std::string(root);
    const char* home = std::getenv("HOME");
    if (home && *home)
        return std::string(home) + "/.trainyard";
    return Error(Message("Neither TRAINYARD_ROOT nor HOME is set."), {},
                 Message("Name a folder for runs with --root."));
}

std::vector<std::string> AgentRoot::runIds() const {
    std::vector<std::string> ids;
    for (std::string& name : namesIn(m_path + "/runs"))
        if (isRunId(name))
            ids.push_back(std::move(name));
    std::sort(ids.begin(), ids.end());
    return ids;
}

Result<std::optional<RunLock>> RunLock::tryTake(const RunFolder& folder) {
    FileHandle file(::open(folder.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.isOpen())
        return fileError("open", folder.lock(), errno);
    struct flock lock = wholeFile(F_WRLCK);
    if (::fcntl(file.fd(), F_OFD_SETLK, &lock) != 0) {
        if (errno == EAGAIN || errno == EACCES)
            return std::optional<RunLock>();
        return fileError("lock", folder.lock(), errno);
    }
    return std::optional<RunLock>(RunLock(std::move(file)));
}

bool RunLock::isHeld(const RunFolder& folder) {
    const FileHandle file(::open(folder.lock().c_str(), O_RDONLY | O_CLOEXEC));
    struct flock lock = wholeFile(F_WRLCK);
    return file.isOpen() && ::fcntl(file.fd(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

pid_t RunLock::holder(const RunFolder& folder) {
    const std::string text = readSmallFile(folder.lock());
    pid_t pid = 0;
    std::from_chars(text.data(), text.data() + text.size(), pid);
    return pid;
}

Result<void> RunLock::writeHolder(pid_t pid, const RunFolder& folder) {
    const std::string text = std::to_string(pid) + "\n";
    if (::ftruncate(m_file.fd(), 0) != 0 || ::lseek(m_file.fd(), 0, SEEK_SET) != 0 ||
        !writeAll(m_file.fd(), text))
        return fileError("write", folder.lock(), errno);
    return {};
}

} // namespace trainyard::engine
