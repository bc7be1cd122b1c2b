// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/comm_ranks.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trainyard::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// Of one measurement; a round has one of each way.
constexpr double kSecondsPerSample = 0.02;

} // namespace

std::string sizeText(std::size_t bytes) {
    return bytes >= 1 << 20 ? std::to_string(bytes >> 20) + " MiB"
                            : std::to_string(bytes >> 10) + " KiB";
}

void must(const Result<void>& result) {
    if (!result)
        throw std::runtime_error(result.error().sentence());
}

double secondsOf(engine::Communicator& group, const std::function<void()>& once) {
    std::int64_t repeats = 1;
    const auto measure = [&] {
        must(group.barrier(0));
        const Clock::time_point start = Clock::now();
        for (std::int64_t i = 0; i < repeats; ++i)
            once();
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    const double first = measure();
    repeats =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(kSecondsPerSample / first), 1, 20000);
    must(group.broadcast(&repeats, sizeof(repeats), 0, 1));
    return measure() / static_cast<double>(repeats);
}

double quantile(std::vector<double> values, double at) {
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
}

void* sharedMemory(std::size_t bytes) {
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error("no shared memory for the ranks' times");
    return memory;
}

void runRanks(int count, const std::function<void(int rank)>& body) {
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < count; ++rank) {
        ranks.push_back(::fork());
        if (ranks.back() == 0) {
            try {
                body(rank);
            } catch (const std::exception& failure) {
                const std::string text = std::string(failure.what()) + '\n';
                ::_exit(::write(STDERR_FILENO, text.data(), text.size()) < 0 ? 2 : 1);
            }
            ::_exit(0);
        }
    }
    bool fine = true;
    for (const pid_t rank : ranks) {
        int status = 0;
        ::waitpid(rank, &status, 0);
        fine = fine && status == 0;
    }
    if (!fine)
        throw std::runtime_error("a rank of the communication benchmark failed");
}

RankFolder::RankFolder(const std::vector<std::string>& names)
    : m_path((std::filesystem::temp_directory_path() / "trainyard-bench-XXXXXX").string()) {
    if (!::mkdtemp(m_path.data()))
        throw std::runtime_error("no temporary folder");
    for (const std::string& name : names)
        std::filesystem::create_directory(m_path + '/' + name);
}

RankFolder::~RankFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
}

} // namespace trainyard::bench
