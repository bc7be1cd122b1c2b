// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Files the way a supervisor needs them: descriptors that close themselves and never leak into a
// child, writes that are whole or not there, and errors that name the file and what to do.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard::engine {

/// Owns a file descriptor.
class FileHandle {
public:
    FileHandle() = default;
    explicit FileHandle(int fd) : m_fd(fd) {}
    FileHandle(FileHandle&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}
    FileHandle& operator=(FileHandle&& other) noexcept {
        close();
        m_fd = std::exchange(other.m_fd, -1);
        return *this;
    }
    ~FileHandle() { close(); }

    int fd() const { return m_fd; }
    bool isOpen() const { return m_fd >= 0; }
    void close();

private:
    int m_fd = -1;
};

struct Pipe {
    FileHandle readEnd;
    FileHandle writeEnd;
};

/// Both ends are closed by exec.
Result<Pipe> makePipe();

/// "disk full: PATH" for ENOSPC and EDQUOT, else "Cannot %verb PATH: reason."
Error fileError(std::string_view verb, const std::string& path, int errorNumber);

/// Access rights of files.
inline constexpr unsigned kOwnerOnly = 0600;
inline constexpr unsigned kAsUmaskSays = 0666;

/// All bytes or false with errno set. Interrupted writes go on.
bool writeAll(int fd, std::string_view bytes);
/// Up to end of file or `limit` + 1 bytes, so that the caller sees when there was more than
/// `limit`.
std::string readAll(int fd, std::size_t limit);
/// The whole file; empty when it can not be read. For /proc and the like.
std::string readSmallFile(const std::string& path);
/// A reader sees the old file or the new one, also after a crash of the machine.
Result<void> writeFileAtomically(const std::string& path, std::string_view content,
                                 unsigned mode = kOwnerOnly);
/// Makes the folder and those above it, for this user only.
Result<void> makeFolders(const std::string& path);

/// Names in the folder, without "." and ".."; none when it can not be read.
std::vector<std::string> namesIn(const std::string& folder);

/// Nanoseconds since 1970 UTC, and on a clock that never jumps.
std::int64_t wallClockNs();
std::int64_t monotonicNs();

} // namespace trainyard::engine
