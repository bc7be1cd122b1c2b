// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What there is on this node: cores, memory, instruction sets, room. Read anew each time; nothing
// is ever guessed, what can not be read is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trainyard::engine {

std::string hostName();
/// Of this build.
std::string engineVersion();

struct CpuFacts {
    std::string model;
    int onlineCores = 1;              ///< of the machine
    int allowedCores = 1;             ///< by the affinity of this process
    std::optional<double> quotaCores; ///< by its control group
    std::string simd;                 ///< widest: "avx512", "avx2", "avx", "sse4.2", "neon", "none"
    bool avx512Bf16 = false;
    bool amxBf16 = false; ///< by the processor and allowed by the kernel

    /// Cores that can be busy at the same time, at least 1.
    int usableCores() const;
};
CpuFacts readCpuFacts();

struct MemoryFacts {
    std::int64_t totalBytes = 0; ///< of the machine or of the control group, whichever is less
    std::int64_t availableBytes = 0;
};
std::optional<MemoryFacts> readMemoryFacts();

struct SystemFacts {
    std::string os;     ///< "Debian GNU/Linux 12 (bookworm)"
    std::string kernel; ///< "6.1.0-18-amd64"
    std::string architecture;
    std::string glibc;
};
SystemFacts readSystemFacts();

struct FolderFacts {
    std::optional<std::int64_t> freeBytes;
    bool writable = false;
};
/// Of the folder, or of the nearest one above it that is there.
FolderFacts readFolderFacts(const std::string& path);

} // namespace trainyard::engine
