// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Two ranks with a thread each against one rank with a thread and against PyTorch's
// DistributedDataParallel with Gloo, in turns: the same model, the batch of one rank shared by both
// and a batch of that size each. Then strategies that cut the model, a rank slowed to half its
// speed with equal, fitting and measured shares, and sizes of buckets over TCP with the
// communication that no computation hides. Scaling is speed over twice that of one rank. Ranks are
// processes, as in a run.
#include "engine/base/check.h"
#include "tests/bench/bench.h"
#include "tests/bench/torch_peer.h"
#include "tests/bench/train_case.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace trainyard::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSeconds = 1.0; ///< of a round

/// TRAINYARD_BENCH_ROUNDS, an odd number.
int rounds() {
    const char* asked = std::getenv("TRAINYARD_BENCH_ROUNDS");
    return asked ? std::max(1, std::atoi(asked)) : 5;
}

struct Setup {
    std::string name;
    int ranks = 1;
    CaseSettings settings = {};
    bool overGloo = false;
    /// The second rank shares its core with a process that only computes.
    bool slowed = false;
    /// Communication that is not hidden is a row of its own.
    bool exposed = false;
    /// Batches of one rank that all ranks together compute in a step.
    int batches = 1;
};

void pinTo(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    ::sched_setaffinity(0, sizeof set, &set);
}

/// Ranks as processes that step when they are told to.
class RankGroup {
public:
    RankGroup(const TrainCase& trained, const Setup& setup) : m_case(trained), m_setup(setup) {
        m_case.rows *= setup.batches;
        m_segment = ::memfd_create("bench-ranks", 0);
        m_folder = std::filesystem::temp_directory_path() /
                   ("trainyard-bench-" + std::to_string(::getpid()) + "-" + setup.name);
        std::filesystem::create_directories(m_folder);
        for (int rank = 0; rank < setup.ranks; ++rank)
            start(rank);
        if (setup.slowed)
            m_others.push_back(fork([] {
                pinTo(1);
                std::atomic<unsigned> counter = 0;
                while (true)
                    counter.fetch_add(1, std::memory_order_relaxed);
            }));
        m_secondsOfStep = run(2) / 2;
    }
    ~RankGroup() {
        for (const pid_t process : m_others) { // first: they have the pipes open, too
            ::kill(process, SIGKILL);
            ::waitpid(process, nullptr, 0);
        }
        for (const Rank& rank : m_ranks) {
            ::close(rank.to);
            ::waitpid(rank.process, nullptr, 0);
            ::close(rank.from);
        }
        ::close(m_segment);
        std::filesystem::remove_all(m_folder);
    }
    RankGroup(const RankGroup&) = delete;
    RankGroup& operator=(const RankGroup&) = delete;

    int stepsIn(double seconds) const {
        return std::max(1, static_cast<int>(seconds / m_secondsOfStep));
    }

    /// Of a step of the last run, of the rank that waits most.
    double secondsExposed() const { return m_exposed; }

    double samplesPerSecond(double seconds) {
        const int steps = stepsIn(seconds);
        const double passed = run(steps);
        m_secondsOfStep = passed / steps;
        m_exposed /= steps;
        return static_cast<double>(steps * m_case.rows) / passed;
    }

private:
    struct Rank {
        pid_t process = -1;
        int to = -1;
        int from = -1;
    };

    /// Of the steps that were ordered.
    struct Answer {
        double seconds = 0;
        double exposed = 0;
    };

    template <class Body>
    static pid_t fork(Body body) {
        const pid_t process = ::fork();
        if (process != 0)
            return process;
        body();
        ::_exit(0);
    }

    void start(int rank) {
        std::array<int, 2> orders{}, answers{};
        TRAINYARD_CHECK(::pipe(orders.data()) == 0 && ::pipe(answers.data()) == 0);
        const pid_t process = fork([&] {
            ::close(orders[1]);
            for (const Rank& other : m_ranks)
                ::close(other.to); // or they would not see the end
            work(rank, orders[0], answers[1]);
        });
        ::close(orders[0]);
        ::close(answers[1]);
        m_ranks.push_back({process, orders[1], answers[0]});
    }

    void work(int rank, int orders, int answers) const {
        if (m_setup.slowed)
            pinTo(rank);
        CaseTrainer trainer(m_case,
                            {.settings = m_setup.settings,
                             .rank = rank,
                             .overlaps = m_setup.overGloo,
                             .recorded = m_setup.exposed},
                            world(rank));
        int steps = 0;
        while (::read(orders, &steps, sizeof steps) == sizeof steps) {
            const auto begin = Clock::now();
            const double before = trainer.secondsExposed();
            for (int i = 0; i < steps; ++i)
                trainer.step();
            const Answer answer{std::chrono::duration<double>(Clock::now() - begin).count(),
                                trainer.secondsExposed() - before};
            if (::write(answers, &answer, sizeof answer) != sizeof answer)
                return;
        }
    }

    std::unique_ptr<engine::Communicator> world(int rank) const {
        if (m_setup.ranks == 1)
            return engine::makeSingleCommunicator();
        engine::CommunicatorOptions options;
        options.rank = rank;
        options.worldSize = m_setup.ranks;
        return m_setup.overGloo
                   ? engine::makeGlooCommunicator(options, m_folder.string(), "127.0.0.1").value()
                   : engine::makeSharedMemoryCommunicator(options, m_segment).value();
    }

    /// Seconds of the slowest rank.
    double run(int steps) {
        for (const Rank& rank : m_ranks)
            TRAINYARD_CHECK(::write(rank.to, &steps, sizeof steps) == sizeof steps);
        double longest = 0;
        m_exposed = 0;
        for (const Rank& rank : m_ranks) {
            Answer answer;
            TRAINYARD_CHECK(::read(rank.from, &answer, sizeof answer) == sizeof answer);
            longest = std::max(longest, answer.seconds);
            m_exposed = std::max(m_exposed, answer.exposed);
        }
        return longest;
    }

    TrainCase m_case;
    const Setup m_setup;
    int m_segment = -1;
    std::filesystem::path m_folder;
    std::vector<Rank> m_ranks;
    std::vector<pid_t> m_others;
    double m_secondsOfStep = 1;
    double m_exposed = 0; ///< seconds
};

/// Two ranks of PyTorch.
class TorchDdp {
public:
    TorchDdp() {
        const std::string port = std::to_string(20000 + ::getpid() % 20000);
        for (const char* rank : {"0", "1"})
            m_ranks.push_back(std::make_unique<TorchPeer>(
                TRAINYARD_TORCH_DDP, std::vector<std::string>{rank, "2", port}));
    }
    bool isThere() const { return m_ranks[0]->isThere() && m_ranks[1]->isThere(); }
    const std::string& name() const { return m_ranks[0]->name(); }

    /// `rows` of each rank.
    double samplesPerSecond(const TrainCase& trained, int steps, std::int64_t rows) {
        for (const auto& rank : m_ranks)
            rank->tell(trained.name + " " + std::to_string(steps) + " " + std::to_string(rows));
        double longest = 0;
        for (const auto& rank : m_ranks)
            longest = std::max(longest, std::atof(rank->readLine().c_str()));
        return longest > 0 ? static_cast<double>(2 * steps * rows) / longest : 0;
    }

private:
    std::vector<std::unique_ptr<TorchPeer>> m_ranks;
};

std::vector<Setup> setups() {
    const CaseSettings two = {{"parallel.data", "2"}};
    const auto with = [](CaseSettings settings, const char* path, const char* value) {
        settings.emplace_back(path, value);
        return settings;
    };
    std::vector<Setup> all = {
        {"1 rank", 1},
        {"2 ranks", 2, two},
        {.name = "2 ranks, a batch each", .ranks = 2, .settings = two, .batches = 2},
        {.name = "2 ranks over TCP, a batch each",
         .ranks = 2,
         .settings = two,
         .overGloo = true,
         .batches = 2},
        {"2 ranks over TCP", 2, two, true},
        {"2 ranks, ZeRO 1", 2, with(two, "parallel.zero", "1")},
        {"2 ranks, ZeRO 3", 2, with(two, "parallel.zero", "3")},
        {"tensor 2", 2, {{"parallel.tensor", "2"}}},
        {"pipeline 2, 4 micro-batches",
         2,
         {{"parallel.pipeline", "2"}, {"parallel.micro_batches", "4"}}},
        {"2 ranks, one slowed", 2, two, false, true},
        {"2 ranks, one slowed, shares 2 to 1", 2, with(two, "parallel.shares", "[2, 1]"), false,
         true},
        {"2 ranks, one slowed, measured shares", 2, with(two, "parallel.balance", "measured"),
         false, true}};
    for (const auto& [name, bytes] : {std::pair{"64 KiB", "65536"}, std::pair{"1 MiB", "1048576"},
                                      std::pair{"25 MiB", "26214400"}})
        all.push_back({.name = std::string("2 ranks over TCP, buckets of ") + name,
                       .ranks = 2,
                       .settings = with(two, "parallel.bucket_bytes", bytes),
                       .overGloo = true,
                       .exposed = true});
    return all;
}

/// Seconds of a step in milliseconds.
Row exposedRow(const std::string& name, std::vector<double> seconds) {
    const Median exposed = medianOf(std::move(seconds));
    return {.name = name + ", exposed communication",
            .value = exposed.value * 1e3,
            .unit = "ms/step",
            .peer = {},
            .ratio = {},
            .scaling = {},
            .spread = exposed.value > 0 ? std::optional(exposed.spread) : std::nullopt};
}

/// All setups in turns, so that whatever else the machine does hits all of them.
std::vector<Row> measure(const TrainCase& trained, TorchDdp& peer) {
    const std::vector<Setup> all = setups();
    std::vector<std::vector<double>> speeds(all.size());
    std::vector<std::vector<double>> exposed(all.size());
    std::array<std::vector<double>, 2> theirs; ///< of a batch that is shared, and of one each
    for (int round = 0; round < rounds(); ++round) {
        std::array<int, 2> steps{};
        for (std::size_t i = 0; i < all.size(); ++i) {
            RankGroup group(trained, all[i]); // one at a time: a waiting rank may spin
            speeds[i].push_back(group.samplesPerSecond(kSeconds));
            exposed[i].push_back(group.secondsExposed());
            if (i == 1 || i == 2)
                steps[i - 1] = group.stepsIn(kSeconds);
        }
        for (std::size_t each = 0; each < 2 && peer.isThere(); ++each)
            theirs[each].push_back(peer.samplesPerSecond(trained, steps[each],
                                                         each ? trained.rows : trained.rows / 2));
    }
    std::vector<Row> rows;
    const double alone = medianOf(speeds[0]).value;
    std::size_t equalShares = 0; // of the same slowed ranks
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Median speed = medianOf(speeds[i]);
        Row row{.name = trained.name + ", " + all[i].name,
                .value = speed.value,
                .unit = "samples/s",
                .peer = {},
                .ratio = {},
                .scaling = {},
                .spread = speed.spread};
        if (all[i].ranks > 1)
            row.scaling = speed.value / (alone * all[i].ranks);
        if (peer.isThere() && all[i].ranks > 1 && !all[i].slowed) {
            row.peer = peer.name();
            row.ratio = speed.value / medianOf(theirs[all[i].batches == 2 ? 1 : 0]).value;
        }
        if (all[i].slowed && equalShares > 0) {
            row.peer = "equal shares";
            row.ratio = speed.value / medianOf(speeds[equalShares]).value;
        } else if (all[i].slowed) {
            equalShares = i;
        }
        rows.push_back(std::move(row));
        if (all[i].exposed)
            rows.push_back(exposedRow(rows.back().name, exposed[i]));
    }
    return rows;
}

} // namespace

/// TRAINYARD_BENCH_ONLY="gpt": this model only.
std::vector<Row> benchParallel() {
    const char* only = std::getenv("TRAINYARD_BENCH_ONLY");
    TorchDdp peer;
    std::vector<Row> rows;
    for (const TrainCase& trained : trainCases())
        if (trained.precision == "fp32" && trained.name != "resnet18_b128" &&
            (only == nullptr || trained.name.starts_with(only))) {
            std::vector<Row> more = measure(trained, peer);
            rows.insert(rows.end(), more.begin(), more.end());
        }
    return rows;
}

} // namespace trainyard::bench
