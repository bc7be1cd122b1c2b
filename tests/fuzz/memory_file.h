// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a file with a path, without a disk.
#pragma once

#include "engine/base/check.h"

#include <span>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace trainyard::test {

inline std::string_view textOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class MemoryFile {
public:
    explicit MemoryFile(std::string_view content)
        : m_descriptor(::memfd_create("fuzz", MFD_CLOEXEC)) {
        TRAINYARD_CHECK(m_descriptor >= 0);
        for (std::size_t done = 0; done < content.size();) {
            const ssize_t put = ::write(m_descriptor, content.data() + done, content.size() - done);
            TRAINYARD_CHECK(put > 0);
            done += static_cast<std::size_t>(put);
        }
    }
    ~MemoryFile() { ::close(m_descriptor); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(m_descriptor); }

private:
    int m_descriptor;
};

} // namespace trainyard::test
