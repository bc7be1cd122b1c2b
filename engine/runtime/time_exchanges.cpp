// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/time_exchanges.h"

#include "engine/comm/communicator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace trainyard::engine {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRanks = 2;
constexpr std::array<std::size_t, 6> kSizes = {64, 4 << 10, 64 << 10, 512 << 10, 2 << 20, 8 << 20};
constexpr std::size_t kLargest = kSizes.back();
constexpr std::chrono::seconds kDeadline{20};

/// A rank's side of everything that is timed over one transport.
class Side {
public:
    Side(Communicator& group, std::chrono::milliseconds each)
        : m_group(group), m_each(std::chrono::duration<double>(each).count()) {}

    Result<void> run() {
        Result<std::span<std::byte>> memory = m_group.allocateReducible(kLargest);
        if (!memory)
            return memory.error();
        const std::array<Channel, 2> channels{Channel{0, 1, kLargest, 2},
                                              Channel{1, 0, kLargest, 2}};
        if (Result<void> opened = m_group.openChannels(channels); !opened)
            return opened;
        std::vector<std::byte> elsewhere(kLargest);
        for (const std::size_t bytes : kSizes)
            if (Result<void> done = timeSize(memory->data(), elsewhere.data(), bytes); !done)
                return done;
        return {};
    }

    std::map<std::string, plan::CalibrationTable>& tables() { return m_tables; }

private:
    using Once = std::function<Result<void>()>;

    Result<void> timeSize(std::byte* shared, std::byte* elsewhere, std::size_t bytes) {
        const std::size_t count = bytes / sizeof(float);
        const std::array<std::pair<const char*, Once>, 5> all{{
            {"all_reduce",
             [&] {
                 return m_group.allReduceSum(shared, count, DType::Fp32, 1);
             }},
            {"all_reduce_elsewhere",
             [&] {
                 return m_group.allReduceSum(elsewhere, count, DType::Fp32, 2);
             }},
            {"reduce_scatter",
             [&] {
                 return m_group.reduceScatterSum(shared, count, DType::Fp32, 3);
             }},
            {"all_gather",
             [&] {
                 return m_group.allGather(shared, bytes, 4);
             }},
            {"message",
             [&] {
                 return passOn(elsewhere, bytes);
             }},
        }};
        for (const auto& [name, once] : all)
            if (Result<void> done = time(name, bytes, once); !done)
                return done;
        return {};
    }

    /// One message: ranks take turns, so that each waits for the other as stages do.
    Result<void> passOn(std::byte* data, std::size_t bytes) {
        const int from = m_turn++ % 2;
        if (m_group.rank() == from)
            return m_group.send(data, bytes, 1 - from, 5);
        return m_group.receive(data, bytes, from, 5);
    }

    /// Both ranks repeat it equally often: the first decides how often, and tells. The lower
    /// quartile of several rounds: whatever else the machine does can only make them slower.
    Result<void> time(const char* name, std::size_t bytes, const Once& once) {
        constexpr int kRounds = 8;
        std::vector<double> rounds;
        std::int64_t repeats = 2; // the first round warms up and tells how long it takes
        for (int round = 0; round <= kRounds; ++round) {
            if (Result<void> met = m_group.barrier(6); !met)
                return met;
            const Clock::time_point start = Clock::now();
            for (std::int64_t i = 0; i < repeats; ++i)
                if (Result<void> done = once(); !done)
                    return done;
            const double seconds = std::chrono::duration<double>(Clock::now() - start).count() /
                                   static_cast<double>(repeats);
            if (round > 0) {
                rounds.push_back(seconds);
                continue;
            }
            repeats =
                2 * std::clamp<std::int64_t>(std::llround(m_each / kRounds / seconds / 2), 1, 2000);
            if (Result<void> told = m_group.broadcast(&repeats, sizeof repeats, 0, 7); !told)
                return told;
        }
        std::ranges::sort(rounds);
        m_tables[name].push_back({{std::log2(static_cast<double>(bytes))},
                                  static_cast<double>(bytes),
                                  rounds[rounds.size() / 4]});
        return {};
    }

    Communicator& m_group;
    const double m_each;
    int m_turn = 0;
    std::map<std::string, plan::CalibrationTable> m_tables;
};

using Connect = std::function<Result<std::unique_ptr<Communicator>>(const CommunicatorOptions&)>;

Result<void> timeTransport(const std::string& transport, const Connect& connect,
                           std::chrono::milliseconds each, plan::Calibration& calibration) {
    std::array<Result<void>, kRanks> outcomes;
    std::map<std::string, plan::CalibrationTable> tables;
    const auto side = [&](int rank) -> Result<void> {
        Result<std::unique_ptr<Communicator>> group =
            connect({.rank = rank, .worldSize = kRanks, .deadline = kDeadline});
        if (!group)
            return group.error();
        Side mine(**group, each);
        Result<void> done = mine.run();
        if (rank == 0)
            tables = std::move(mine.tables());
        return done;
    };
    std::thread other([&] { outcomes[1] = side(1); });
    outcomes[0] = side(0);
    other.join();
    for (const Result<void>& outcome : outcomes)
        if (!outcome)
            return outcome;
    for (auto& [name, table] : tables)
        calibration.exchanges[transport + "/" + name] = std::move(table);
    return {};
}

Result<void> timeSharedMemory(std::chrono::milliseconds each, plan::Calibration& calibration) {
    const int segment = ::memfd_create("trainyard-calibrate", MFD_CLOEXEC);
    if (segment < 0)
        return Error({"There is no memory to share for timing exchanges between ranks."});
    Result<void> timed = timeTransport(
        "shared_memory",
        [segment](const CommunicatorOptions& options) {
            return makeSharedMemoryCommunicator(options, segment);
        },
        each, calibration);
    ::close(segment);
    return timed;
}

Result<void> timeGloo(std::chrono::milliseconds each, plan::Calibration& calibration) {
    namespace fs = std::filesystem;
    std::error_code failed;
    std::string folder = (fs::temp_directory_path(failed) / "trainyard-calibrate-XXXXXX").string();
    if (!::mkdtemp(folder.data()))
        return Error({"There is no temporary folder for ranks to meet in."});
    Result<void> timed = timeTransport(
        "gloo",
        [&folder](const CommunicatorOptions& options) {
            return makeGlooCommunicator(options, folder, "127.0.0.1");
        },
        each, calibration);
    fs::remove_all(folder, failed);
    return timed;
}

} // namespace

Result<void> timeExchanges(std::chrono::milliseconds each, plan::Calibration& calibration) {
    if (Result<void> timed = timeSharedMemory(each, calibration); !timed)
        return timed;
    return timeGloo(each, calibration);
}

} // namespace trainyard::engine
