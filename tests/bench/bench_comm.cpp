// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// All-reduce between two ranks of this host: shared memory (data in reducible memory, and
// elsewhere) and our sum over Gloo's messages, against Gloo's own ring all-reduce, interleaved in
// the same processes.
#include "tests/bench/bench_comm_hosts.h"
#include "tests/bench/comm_ranks.h"

#include "engine/comm/communicator.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace trainyard::bench {

namespace {

constexpr int kRanks = 2;
constexpr int kRounds = 9;
constexpr std::array<std::size_t, 6> kSizes = {1 << 10, 16 << 10, 128 << 10,
                                               1 << 20, 4 << 20,  16 << 20};
enum Way { InPlace, Elsewhere, OurGloo, GloosRing, Memcpy, kWays };

/// Seconds of one all-reduce, [size][way][round]. In memory that the ranks share with the parent.
using Samples = double[kSizes.size()][kWays][kRounds];

/// The other side of the comparison: Gloo as its own users call it.
class GloosOwn {
public:
    GloosOwn(int rank, const std::string& folder)
        : m_device(gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"))),
          m_context(std::make_shared<gloo::rendezvous::Context>(rank, kRanks)) {
        gloo::rendezvous::FileStore store(folder);
        m_context->connectFullMesh(store, m_device);
    }
    void allReduceSum(float* data, std::size_t count) {
        gloo::AllreduceOptions options(m_context);
        options.setOutput(data, count);
        options.setReduceFunction([](void* c, const void* a, const void* b, std::size_t n) {
            gloo::sum<float>(c, a, b, n);
        });
        options.setTag(m_tag++);
        gloo::allreduce(options);
    }

private:
    std::shared_ptr<gloo::transport::Device> m_device;
    std::shared_ptr<gloo::rendezvous::Context> m_context;
    std::uint32_t m_tag = 1;
};

void runRank(int rank, int segment, const std::string& folder, Samples& samples) {
    const engine::CommunicatorOptions options{rank, kRanks, std::chrono::seconds(60), nullptr};
    const auto shared = must(engine::makeSharedMemoryCommunicator(options, segment));
    const auto overTcp = must(engine::makeGlooCommunicator(options, folder + "/ours", "127.0.0.1"));
    GloosOwn gloosOwn(rank, folder + "/gloo");
    const std::span<std::byte> arena = must(shared->allocateReducible(kSizes.back()));
    std::vector<float> elsewhere(kSizes.back() / sizeof(float));
    std::vector<float> copy(elsewhere.size());
    for (int round = 0; round < kRounds; ++round)
        for (std::size_t i = 0; i < kSizes.size(); ++i) {
            const std::size_t count = kSizes[i] / sizeof(float);
            const auto sample = [&](Way way, const std::function<void()>& once) {
                const double seconds = secondsOf(*shared, once);
                if (rank == 0)
                    samples[i][way][round] = seconds;
            };
            sample(InPlace,
                   [&] { must(shared->allReduceSum(arena.data(), count, DType::Fp32, 2)); });
            sample(Elsewhere,
                   [&] { must(shared->allReduceSum(elsewhere.data(), count, DType::Fp32, 3)); });
            sample(OurGloo,
                   [&] { must(overTcp->allReduceSum(elsewhere.data(), count, DType::Fp32, 4)); });
            sample(GloosRing, [&] { gloosOwn.allReduceSum(elsewhere.data(), count); });
            sample(Memcpy, [&] { std::memcpy(copy.data(), elsewhere.data(), kSizes[i]); });
        }
}

std::vector<Row> rowsOf(const Samples& samples) {
    std::vector<Row> rows;
    const std::array<const char*, 4> names = {"shared memory, in place", "shared memory, elsewhere",
                                              "our sum over Gloo", "Gloo's ring"};
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
        std::array<std::vector<double>, kWays> of;
        for (std::size_t way = 0; way < kWays; ++way)
            of[way].assign(samples[i][way], samples[i][way] + kRounds);
        const double peer = quantile(of[GloosRing], 0.5);
        for (std::size_t way = InPlace; way <= GloosRing; ++way) {
            const double median = quantile(of[way], 0.5);
            Row row;
            row.name = "all-reduce " + sizeText(kSizes[i]) + ", 2 ranks, " + names[way];
            row.value = median * 1e6;
            row.unit = "us";
            row.spread = (quantile(of[way], 0.9) - quantile(of[way], 0.1)) / median;
            if (way != GloosRing) {
                row.peer = "Gloo's ring all-reduce";
                row.ratio = peer / median;
            }
            rows.push_back(row);
        }
        Row copy;
        copy.name = "memcpy " + sizeText(kSizes[i]) + " on each rank";
        copy.value = quantile(of[Memcpy], 0.5) * 1e6;
        copy.unit = "us";
        rows.push_back(copy);
    }
    return rows;
}

} // namespace

std::vector<Row> benchComm() {
    const RankFolder folder({"ours", "gloo"});
    const int segment = ::memfd_create("trainyard-bench", MFD_CLOEXEC);
    auto& samples = *static_cast<Samples*>(sharedMemory(sizeof(Samples)));
    runRanks(kRanks, [&](int rank) { runRank(rank, segment, folder.path(), samples); });
    ::close(segment);
    std::vector<Row> rows = rowsOf(samples);
    const std::vector<Row> hosts = benchHosts();
    rows.insert(rows.end(), hosts.begin(), hosts.end());
    return rows;
}

} // namespace trainyard::bench
