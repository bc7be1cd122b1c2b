// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/processes.h"

#include "engine/agent/posix_files.h"
#include "engine/agent/run_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <unistd.h>
#include <utility>

namespace trainyard::engine {
namespace {

std::vector<pid_t> allProcesses() {
    std::vector<pid_t> pids;
    for (const std::string& name : namesIn("/proc")) {
        pid_t pid = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (parsed.ptr == name.data() + name.size() && pid > 0)
            pids.push_back(pid);
    }
    return pids;
}

std::string procPath(pid_t pid, const char* file) {
    return "/proc/" + std::to_string(pid) + "/" + file;
}

/// Fields of /proc/PID/stat from the third on (proc(5)); the command before them may hold anything.
class StatLine {
public:
    explicit StatLine(pid_t pid) : m_text(readSmallFile(procPath(pid, "stat"))) {
        const std::size_t end = m_text.rfind(") ");
        if (end == std::string::npos)
            return;
        std::string_view rest = std::string_view(m_text).substr(end + 2);
        for (std::string_view& field : m_fields) {
            const std::size_t space = rest.find(' ');
            field = rest.substr(0, space);
            if (space == std::string_view::npos)
                break;
            rest.remove_prefix(space + 1);
        }
    }
    StatLine(const StatLine&) = delete;
    StatLine& operator=(const StatLine&) = delete;

    bool isAlive() const {
        return !m_fields[0].empty() && m_fields[0] != "Z" && m_fields[0] != "X";
    }
    bool isStopped() const { return m_fields[0] == "T" || m_fields[0] == "t"; }
    /// `number` counts as proc(5) does: 4 is the parent.
    std::int64_t field(std::size_t number) const {
        const std::string_view text = m_fields.at(number - 3);
        std::int64_t value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        return value;
    }

private:
    std::string m_text;
    std::array<std::string_view, 22> m_fields{};
};

constexpr std::size_t kParentField = 4;
constexpr std::size_t kUserTimeField = 14;
constexpr std::size_t kSystemTimeField = 15;
constexpr std::size_t kResidentPagesField = 24;

} // namespace

std::optional<ProcessLoad> loadOf(pid_t pid) {
    const StatLine stat(pid);
    if (!stat.isAlive())
        return std::nullopt;
    return ProcessLoad{stat.field(kUserTimeField) + stat.field(kSystemTimeField),
                       stat.field(kResidentPagesField) * ::sysconf(_SC_PAGESIZE)};
}

bool isStopped(pid_t pid) {
    return StatLine(pid).isStopped();
}

std::vector<pid_t> descendantsOf(pid_t ancestor) {
    std::map<pid_t, std::vector<pid_t>> childrenOf;
    std::map<pid_t, bool> isAlive;
    for (const pid_t pid : allProcesses()) {
        const StatLine stat(pid);
        isAlive[pid] = stat.isAlive();
        childrenOf[static_cast<pid_t>(stat.field(kParentField))].push_back(pid);
    }
    std::vector<pid_t> found;
    std::vector<pid_t> open{ancestor};
    while (!open.empty()) {
        const pid_t parent = open.back();
        open.pop_back();
        // Taken out of the map: pids that were used again while we read must not make a circle.
        for (const pid_t child : std::exchange(childrenOf[parent], {})) {
            open.push_back(child);
            if (isAlive[child])
                found.push_back(child);
        }
    }
    return found;
}

std::string environmentOf(pid_t pid, std::string_view variable) {
    const std::string environment = readSmallFile(procPath(pid, "environ"));
    const std::string wanted = std::string(variable) + "=";
    std::string_view rest = environment;
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find('\0'));
        if (entry.substr(0, wanted.size()) == wanted)
            return std::string(entry.substr(wanted.size()));
        rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    }
    return {};
}

std::vector<MarkedProcess> markedProcesses(std::string_view prefix) {
    std::vector<MarkedProcess> found;
    for (const pid_t pid : allProcesses()) {
        if (pid == ::getpid())
            continue;
        std::string cookie = environmentOf(pid, kCookieName);
        if (cookie.empty() || std::string_view(cookie).substr(0, prefix.size()) != prefix)
            continue;
        std::string command = readSmallFile(procPath(pid, "comm"));
        while (!command.empty() && command.back() == '\n')
            command.pop_back();
        found.push_back({pid, std::move(cookie), std::move(command)});
    }
    return found;
}

} // namespace trainyard::engine
