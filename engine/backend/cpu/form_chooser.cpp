// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/cpu/form_chooser.h"

#include <dnnl.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

namespace trainyard::engine::cpu {

namespace {

/// Another process may be timing a few large forms; longer means it hangs.
constexpr std::chrono::seconds kLockPatience{10};

/// An exclusive lock on the file, held while this lives. Not locked when the file cannot be written
/// or the lock is not to be had in time.
class LockedFile {
public:
    explicit LockedFile(const std::filesystem::path& path) {
        std::error_code ignored;
        std::filesystem::create_directories(path.parent_path(), ignored);
        m_descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (m_descriptor < 0)
            return;
        const auto deadline = std::chrono::steady_clock::now() + kLockPatience;
        while (flock(m_descriptor, LOCK_EX | LOCK_NB) != 0) {
            if ((errno != EWOULDBLOCK && errno != EINTR) ||
                std::chrono::steady_clock::now() > deadline)
                return;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        m_locked = true;
    }
    ~LockedFile() {
        if (m_descriptor >= 0)
            close(m_descriptor); // releases the lock
    }
    LockedFile(const LockedFile&) = delete;
    LockedFile& operator=(const LockedFile&) = delete;

    bool locked() const { return m_locked; }

    /// In one write, so that a line is whole or missing; a line break first ends a torn line.
    bool append(const std::string& line) const {
        const std::string text = (endsInLineBreak() ? "" : "\n") + line + "\n";
        return write(m_descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    }

private:
    bool endsInLineBreak() const {
        const off_t size = lseek(m_descriptor, 0, SEEK_END);
        char last = '\n';
        return size <= 0 || (pread(m_descriptor, &last, 1, size - 1) == 1 && last == '\n');
    }

    int m_descriptor = -1;
    bool m_locked = false;
};

/// The value of the first line of /proc/cpuinfo that starts with `name`.
std::string processorField(const std::string& name) {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.compare(0, name.size(), name) == 0) {
            const std::size_t colon = line.find(':');
            if (colon != std::string::npos)
                return line.substr(std::min(colon + 2, line.size()));
        }
    return "?";
}

} // namespace

RememberingChooser::RememberingChooser(std::filesystem::path file, std::string machine)
    : m_file(std::move(file)), m_machine(std::move(machine)) {
    load();
}

void RememberingChooser::load() {
    if (m_file.empty())
        return;
    std::ifstream in(m_file, std::ios::binary);
    for (std::string line; std::getline(in, line) && !in.eof();) {
        const std::size_t first = line.find('\t');
        const std::size_t second = line.find('\t', first + 1);
        if (first == std::string::npos || second == std::string::npos ||
            line.compare(0, first, m_machine) != 0)
            continue;
        // The first line about a key stays true: a later one would change results.
        m_choices.emplace(line.substr(first + 1, second - first - 1), line.substr(second + 1));
    }
}

bool RememberingChooser::known(const std::string& key, const std::vector<std::string>& names,
                               std::size_t& index) const {
    const auto found = m_choices.find(key);
    if (found == m_choices.end())
        return false;
    // A form that this version does not have any more: the first one, without timing again.
    const auto name = std::find(names.begin(), names.end(), found->second);
    index = name == names.end() ? 0 : static_cast<std::size_t>(name - names.begin());
    return true;
}

std::size_t RememberingChooser::choose(const std::string& key,
                                       const std::vector<std::string>& names,
                                       const std::function<std::size_t()>& fastest) {
    std::size_t index = 0;
    if (names.size() < 2 || m_file.empty() || known(key, names, index))
        return index;
    const LockedFile file(m_file);
    if (file.locked()) {
        load();
        if (known(key, names, index))
            return index;
        const std::size_t best = fastest();
        if (file.append(m_machine + "\t" + key + "\t" + names[best])) {
            m_choices[key] = names[best];
            return best;
        }
    }
    m_file.clear(); // do not try (and wait) again for every kernel
    return 0;
}

std::filesystem::path defaultChoicesFile() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache && *cache == '/')
        return std::filesystem::path(cache) / "trainyard" / "cpu-kernels.txt";
    const char* home = std::getenv("HOME");
    if (home && *home == '/')
        return std::filesystem::path(home) / ".cache" / "trainyard" / "cpu-kernels.txt";
    return {};
}

std::string describeMachine() {
    const dnnl_version_t* version = dnnl_version();
    std::ostringstream out;
    out << processorField("model name") << ", family " << processorField("cpu family") << ", model "
        << processorField("model\t") << ", instruction set "
        << static_cast<int>(dnnl::get_effective_cpu_isa()) << ", oneDNN " << version->major << "."
        << version->minor << "."
        << version->patch
        // Which form is fastest depends on these, too: choices of before are not asked.
        << ", large pages, columns";
    std::string machine = out.str();
    std::replace(machine.begin(), machine.end(), '\t', ' ');
    return machine;
}

} // namespace trainyard::engine::cpu
