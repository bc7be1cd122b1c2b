// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// All-reduce between four ranks, two on each of two hosts: on two levels against Gloo between all
// of them, interleaved in the same processes, with a copy as the limit. Both hosts are this one,
// and what lies between them is the loopback, which is faster than a network.
#include "tests/bench/bench_comm_hosts.h"

#include "tests/bench/comm_ranks.h"

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace trainyard::bench {

namespace {

constexpr int kRanksOfAllHosts = 4;
constexpr int kHostRounds = 9;
constexpr std::array<std::size_t, 5> kHostSizes = {1 << 10, 128 << 10, 1 << 20, 4 << 20, 16 << 20};
enum HostWay { LevelsInPlace, LevelsElsewhere, GlooAlone, HostCopy, kHostWays };

/// Seconds of one all-reduce, [size][way][round]. In memory that the ranks share with the parent.
using HostSamples = double[kHostSizes.size()][kHostWays][kHostRounds];

void measure(int rank, const std::array<int, 2>& segments, const std::string& folder,
             HostSamples& samples) {
    const engine::CommunicatorOptions options{rank, kRanksOfAllHosts, std::chrono::seconds(60),
                                              nullptr};
    const auto levels = must(engine::makeTwoLevelCommunicator(
        options, {0, 0, 1, 1}, segments[static_cast<std::size_t>(rank / 2)], folder + "/levels",
        "127.0.0.1"));
    const auto gloo = must(engine::makeGlooCommunicator(options, folder + "/gloo", "127.0.0.1"));
    const std::span<std::byte> arena = must(levels->allocateReducible(kHostSizes.back()));
    std::vector<float> elsewhere(kHostSizes.back() / sizeof(float));
    std::vector<float> copy(elsewhere.size());
    for (int round = 0; round < kHostRounds; ++round)
        for (std::size_t i = 0; i < kHostSizes.size(); ++i) {
            const std::size_t count = kHostSizes[i] / sizeof(float);
            const auto sample = [&](HostWay way, const std::function<void()>& once) {
                const double seconds = secondsOf(*levels, once);
                if (rank == 0)
                    samples[i][way][round] = seconds;
            };
            sample(LevelsInPlace,
                   [&] { must(levels->allReduceSum(arena.data(), count, DType::Fp32, 2)); });
            sample(LevelsElsewhere,
                   [&] { must(levels->allReduceSum(elsewhere.data(), count, DType::Fp32, 3)); });
            sample(GlooAlone,
                   [&] { must(gloo->allReduceSum(elsewhere.data(), count, DType::Fp32, 4)); });
            sample(HostCopy, [&] { std::memcpy(copy.data(), elsewhere.data(), kHostSizes[i]); });
        }
}

std::vector<Row> rowsOf(const HostSamples& samples) {
    constexpr std::array<const char*, kHostWays> kNames = {
        "two levels, in place", "two levels, elsewhere", "Gloo between all", "memcpy"};
    std::vector<Row> rows;
    for (std::size_t i = 0; i < kHostSizes.size(); ++i) {
        std::array<std::vector<double>, kHostWays> of;
        for (std::size_t way = 0; way < kHostWays; ++way)
            of[way].assign(samples[i][way], samples[i][way] + kHostRounds);
        const double peer = quantile(of[GlooAlone], 0.5);
        for (std::size_t way = 0; way < kHostWays; ++way) {
            const double median = quantile(of[way], 0.5);
            Row row;
            row.name =
                "all-reduce " + sizeText(kHostSizes[i]) + ", 2 hosts x 2 ranks, " + kNames[way];
            row.value = median * 1e6;
            row.unit = "us";
            row.spread = (quantile(of[way], 0.9) - quantile(of[way], 0.1)) / median;
            if (way == LevelsInPlace || way == LevelsElsewhere) {
                row.peer = "Gloo between all ranks";
                row.ratio = peer / median;
            }
            rows.push_back(row);
        }
    }
    return rows;
}

} // namespace

std::vector<Row> benchHosts() {
    const RankFolder folder({"levels", "gloo"});
    const std::array<int, 2> segments = {::memfd_create("trainyard-bench", MFD_CLOEXEC),
                                         ::memfd_create("trainyard-bench", MFD_CLOEXEC)};
    auto& samples = *static_cast<HostSamples*>(sharedMemory(sizeof(HostSamples)));
    runRanks(kRanksOfAllHosts, [&](int rank) { measure(rank, segments, folder.path(), samples); });
    for (const int segment : segments)
        ::close(segment);
    return rowsOf(samples);
}

} // namespace trainyard::bench
