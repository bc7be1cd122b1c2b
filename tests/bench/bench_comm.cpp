// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// All-reduce between two ranks of this host: shared memory (data in reducible memory, and
// elsewhere) and our sum over Gloo's messages, against Gloo's own ring all-reduce, interleaved in
// the same processes.
#include "tests/bench/bench.h"

#include "engine/comm/communicator.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trainyard::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRanks = 2;
constexpr int kRounds = 9;
/// Of one measurement; a round has one of each way.
constexpr double kSecondsPerSample = 0.02;
constexpr std::array<std::size_t, 6> kSizes = {1 << 10, 16 << 10, 128 << 10,
                                               1 << 20, 4 << 20,  16 << 20};
enum Way { InPlace, Elsewhere, OurGloo, GloosRing, Memcpy, kWays };

/// Seconds of one all-reduce, [size][way][round]. In memory that the ranks share with the parent.
using Samples = double[kSizes.size()][kWays][kRounds];

std::string sizeText(std::size_t bytes) {
    return bytes >= 1 << 20 ? std::to_string(bytes >> 20) + " MiB"
                            : std::to_string(bytes >> 10) + " KiB";
}

template <class Value>
Value must(Result<Value> result) {
    if (!result)
        throw std::runtime_error(result.error().sentence());
    return std::move(*result);
}

void must(const Result<void>& result) {
    if (!result)
        throw std::runtime_error(result.error().sentence());
}

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

/// Both ranks run `once` equally often: rank 0 decides how often and tells.
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

double quantile(std::vector<double> values, double at) {
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
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
    namespace fs = std::filesystem;
    std::string folder = (fs::temp_directory_path() / "trainyard-bench-XXXXXX").string();
    if (!::mkdtemp(folder.data()))
        throw std::runtime_error("no temporary folder");
    fs::create_directory(folder + "/ours");
    fs::create_directory(folder + "/gloo");
    const int segment = ::memfd_create("trainyard-bench", MFD_CLOEXEC);
    void* memory =
        ::mmap(nullptr, sizeof(Samples), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    std::array<pid_t, kRanks> ranks = {};
    for (int rank = 0; rank < kRanks; ++rank) {
        ranks[static_cast<std::size_t>(rank)] = ::fork();
        if (ranks[static_cast<std::size_t>(rank)] == 0) {
            try {
                runRank(rank, segment, folder, *static_cast<Samples*>(memory));
            } catch (const std::exception& failure) {
                const std::string text = std::string(failure.what()) + '\n';
                ::_exit(::write(STDERR_FILENO, text.data(), text.size()) < 0 ? 2 : 1);
            }
            ::_exit(0);
        }
    }
    bool fine = memory != MAP_FAILED;
    for (const pid_t rank : ranks) {
        int status = 0;
        ::waitpid(rank, &status, 0);
        fine = fine && status == 0;
    }
    const std::vector<Row> rows =
        fine ? rowsOf(*static_cast<Samples*>(memory)) : std::vector<Row>();
    ::munmap(memory, sizeof(Samples));
    ::close(segment);
    fs::remove_all(folder);
    if (!fine)
        throw std::runtime_error("a rank of the communication benchmark failed");
    return rows;
}

} // namespace trainyard::bench
