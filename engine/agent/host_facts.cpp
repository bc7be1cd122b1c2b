// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/host_facts.h"

#include "engine/agent/posix_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <gnu/libc-version.h>
#include <sched.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace trainyard::engine {
namespace {

/// The text after `key` on the line that starts with it, without blanks, tabs and colons around it.
std::optional<std::string> valueOf(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.substr(0, key.size()) != key)
            continue;
        std::string_view value = line.substr(key.size());
        value.remove_prefix(std::min(value.size(), value.find_first_not_of(" \t:=")));
        return std::string(value.substr(0, value.find_last_not_of(" \t\"") + 1));
    }
    return std::nullopt;
}

std::optional<std::int64_t> leadingNumber(std::string_view text) {
    std::int64_t value = 0;
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
        return std::nullopt;
    return value;
}

/// Calls `read` with the folders of this process's control groups, from its own to the top.
template <class Read>
void forEachControlGroup(const std::string& controller, Read read) {
    const std::string groups = readSmallFile("/proc/self/cgroup");
    const std::optional<std::string> unified = valueOf(groups, "0::");
    std::string mount = "/sys/fs/cgroup";
    std::string group = unified.value_or("/");
    if (readSmallFile(mount + "/cgroup.controllers").empty()) { // version 1
        mount += "/" + controller;
        const std::size_t at = groups.find(":" + controller);
        const std::size_t path = at == std::string::npos ? at : groups.find(":/", at);
        group = path == std::string::npos
                    ? "/"
                    : groups.substr(path + 1, groups.find('\n', path) - path - 1);
    }
    for (;;) {
        read(group == "/" ? mount : mount + group);
        if (group.size() <= 1)
            return;
        group.resize(std::max<std::size_t>(1, group.rfind('/')));
    }
}

std::optional<double> quotaOf(const std::string& folder) {
    std::string quotaText = readSmallFile(folder + "/cpu.max"); // "max 100000" or "150000 100000"
    std::string periodText;
    if (const std::size_t space = quotaText.find(' '); space != std::string::npos) {
        periodText = quotaText.substr(space);
    } else { // version 1
        quotaText = readSmallFile(folder + "/cpu.cfs_quota_us");
        periodText = readSmallFile(folder + "/cpu.cfs_period_us");
    }
    const std::int64_t quota = leadingNumber(quotaText).value_or(0);
    const std::int64_t period = leadingNumber(periodText).value_or(0);
    if (quota <= 0 || period <= 0)
        return std::nullopt;
    return static_cast<double>(quota) / static_cast<double>(period);
}

#if defined(__x86_64__)
bool kernelAllowsAmx() {
    constexpr long kRequestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;
    return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

void readInstructionSets(CpuFacts& facts) {
    __builtin_cpu_init();
    facts.simd = __builtin_cpu_supports("avx512f")  ? "avx512"
                 : __builtin_cpu_supports("avx2")   ? "avx2"
                 : __builtin_cpu_supports("avx")    ? "avx"
                 : __builtin_cpu_supports("sse4.2") ? "sse4.2"
                                                    : "none";
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        facts.amxBf16 = (d & kAmxBf16) && (d & kAmxTile) && kernelAllowsAmx();
    constexpr unsigned kAvx512Bf16 = 1u << 5;
    if (facts.simd == "avx512" && __get_cpuid_count(7, 1, &a, &b, &c, &d))
        facts.avx512Bf16 = (a & kAvx512Bf16) != 0;
}
#else
void readInstructionSets(CpuFacts& facts) {
#if defined(__aarch64__)
    facts.simd = "neon";
#else
    facts.simd = "none";
#endif
}
#endif

int allowedCores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        return std::max(1, CPU_COUNT(&set));
    return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

} // namespace

std::string hostName() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string engineVersion() {
    return TRAINYARD_VERSION;
}

int CpuFacts::usableCores() const {
    const int byQuota = quotaCores ? static_cast<int>(std::floor(*quotaCores)) : allowedCores;
    return std::max(1, std::min(allowedCores, byQuota));
}

CpuFacts readCpuFacts() {
    CpuFacts facts;
    facts.onlineCores = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
    facts.allowedCores = allowedCores();
    const std::string text = readSmallFile("/proc/cpuinfo");
    facts.model = valueOf(text, "model name").value_or(valueOf(text, "Hardware").value_or(""));
    forEachControlGroup("cpu", [&](const std::string& folder) {
        if (const std::optional<double> quota = quotaOf(folder))
            facts.quotaCores = std::min(*quota, facts.quotaCores.value_or(*quota));
    });
    readInstructionSets(facts);
    return facts;
}

std::optional<MemoryFacts> readMemoryFacts() {
    const std::string text = readSmallFile("/proc/meminfo");
    const auto kilobytes = [&](const char* key) {
        return leadingNumber(valueOf(text, key).value_or(""));
    };
    const std::optional<std::int64_t> total = kilobytes("MemTotal:");
    const std::optional<std::int64_t> available = kilobytes("MemAvailable:");
    if (!total || !available)
        return std::nullopt;
    MemoryFacts facts{*total * 1024, *available * 1024};
    forEachControlGroup("memory", [&](const std::string& folder) {
        std::optional<std::int64_t> limit = leadingNumber(readSmallFile(folder + "/memory.max"));
        std::optional<std::int64_t> used = leadingNumber(readSmallFile(folder + "/memory.current"));
        if (!limit) {
            limit = leadingNumber(readSmallFile(folder + "/memory.limit_in_bytes"));
            used = leadingNumber(readSmallFile(folder + "/memory.usage_in_bytes"));
        }
        if (!limit || *limit >= facts.totalBytes)
            return;
        facts.totalBytes = *limit;
        if (used)
            facts.availableBytes =
                std::clamp<std::int64_t>(*limit - *used, 0, facts.availableBytes);
    });
    facts.availableBytes = std::min(facts.availableBytes, facts.totalBytes);
    return facts;
}

SystemFacts readSystemFacts() {
    SystemFacts facts;
    utsname names{};
    if (::uname(&names) == 0) {
        facts.kernel = names.release;
        facts.architecture = names.machine;
        facts.os = names.sysname;
    }
    if (const auto name = valueOf(readSmallFile("/etc/os-release"), "PRETTY_NAME=\""))
        facts.os = *name;
    facts.glibc = ::gnu_get_libc_version();
    return facts;
}

FolderFacts readFolderFacts(const std::string& path) {
    std::string folder = path;
    struct stat status {};
    while (folder.size() > 1 && ::stat(folder.c_str(), &status) != 0) {
        const std::size_t slash = folder.rfind('/');
        folder =
            slash == std::string::npos ? "." : folder.substr(0, std::max<std::size_t>(slash, 1));
    }
    FolderFacts facts;
    struct statvfs room {};
    if (::statvfs(folder.c_str(), &room) == 0)
        facts.freeBytes =
            static_cast<std::int64_t>(room.f_bavail) * static_cast<std::int64_t>(room.f_frsize);
    facts.writable = S_ISDIR(status.st_mode) && ::access(folder.c_str(), W_OK | X_OK) == 0;
    return facts;
}

} // namespace trainyard::engine
