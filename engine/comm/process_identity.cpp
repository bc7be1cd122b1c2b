// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/process_identity.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace trainyard::engine {

namespace {

struct StatLine {
    char state = '?';
    std::uint64_t startTime = 0;
};

/// /proc/PID/stat: "pid (name) state ..." with the start time as field 22. The name may hold
/// anything, so the fields are counted from its last closing bracket.
std::optional<StatLine> readStat(std::int64_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/stat";
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return std::nullopt;
    std::array<char, 1024> buffer;
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    ::close(file);
    if (got <= 0)
        return std::nullopt;
    std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t nameEnd = text.rfind(')');
    if (nameEnd == std::string_view::npos || nameEnd + 2 >= text.size())
        return std::nullopt;
    text.remove_prefix(nameEnd + 2);
    StatLine line;
    line.state = text.front();
    constexpr int kStateField = 3;
    constexpr int kStartTimeField = 22;
    for (int field = kStateField; field < kStartTimeField; ++field) {
        const std::size_t space = text.find(' ');
        if (space == std::string_view::npos)
            return std::nullopt;
        text.remove_prefix(space + 1);
    }
    std::from_chars(text.data(), text.data() + text.size(), line.startTime);
    return line;
}

} // namespace

ProcessIdentity ProcessIdentity::self() {
    const std::int64_t pid = ::getpid();
    const std::optional<StatLine> line = readStat(pid);
    return {pid, line ? line->startTime : 0};
}

ProcessState ProcessIdentity::state() const {
    const std::optional<StatLine> line = readStat(pid);
    if (!line || line->startTime != startTime || line->state == 'Z' || line->state == 'X')
        return ProcessState::Dead;
    return line->state == 'T' || line->state == 't' ? ProcessState::Stopped : ProcessState::Running;
}

} // namespace trainyard::engine
