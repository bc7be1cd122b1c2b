// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A file that is written whole or not at all: it grows under another name beside its place and is
// renamed when all of it is on the disk. Rule: whatever goes wrong, the file that was there before
// stays as it was, and nothing half-written is left behind.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <span>
#include <string>

namespace trainyard::engine {

class AtomicFile {
public:
    static Result<AtomicFile> create(const std::string& path);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    /// Without commit() nothing stays.
    ~AtomicFile();

    Result<void> write(std::span<const std::byte> bytes);
    /// From here on a reader sees the new content, also after a loss of power.
    Result<void> commit();

private:
    AtomicFile(std::string path, std::string temporary, int fd);
    void discard();

    std::string m_path;
    std::string m_temporary;
    int m_fd = -1;
};

} // namespace trainyard::engine
