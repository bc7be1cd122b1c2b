// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole training steps on one rank, in fp32 and, where the machine has it, in bf16 (against
// PyTorch's autocast), against PyTorch on the same shapes and threads. Both take turns in short
// rounds, so that whatever else the machine does hits both. The peer is a Python with PyTorch,
// named by TRAINYARD_TORCH_PYTHON (else python3); without one only our numbers are printed.
#include "tests/bench/bench.h"
#include "tests/bench/torch_peer.h"
#include "tests/bench/train_case.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace trainyard::bench {

namespace {

constexpr int kRounds = 7;
constexpr double kSeconds = 1.5; ///< of a round

Row measure(const TrainCase& c, int threads, TorchPeer& peer) {
    std::vector<double> ours;
    const std::vector<std::string> variants = peer.variants(c.name);
    std::vector<std::vector<double>> theirs(variants.size());
    CaseTrainer trainer(c, {.threads = threads}, engine::makeSingleCommunicator());
    for (int round = 0; round < kRounds; ++round) {
        ours.push_back(trainer.samplesPerSecond(kSeconds));
        for (std::size_t i = 0; i < variants.size(); ++i)
            theirs[i].push_back(peer.samplesPerSecond(c.name, threads, variants[i], kSeconds));
    }
    const Median mine = medianOf(ours);
    Row row{.name =
                c.name + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"),
            .value = mine.value,
            .unit = "samples/s",
            .peer = {},
            .ratio = {},
            .scaling = {},
            .spread = mine.spread};
    double best = 0;
    for (const std::vector<double>& values : theirs)
        best = std::max(best, medianOf(values).value);
    if (best > 0) {
        row.peer = peer.name();
        row.ratio = mine.value / best;
    }
    return row;
}

/// TRAINYARD_BENCH_ONLY="gpt 1": this case with so many threads only.
bool wanted(const std::string& name) {
    const char* only = std::getenv("TRAINYARD_BENCH_ONLY");
    return only == nullptr || name.starts_with(only);
}

} // namespace

std::vector<Row> benchTrainStep() {
    TorchPeer peer;
    std::vector<Row> rows;
    for (const TrainCase& c : trainCases())
        for (const int threads : {1, 2}) {
            if (!wanted(c.name + " " + std::to_string(threads)))
                continue;
            // A thread of its own: the compute team belongs to the thread that makes the backend.
            std::thread thread([&] { rows.push_back(measure(c, threads, peer)); });
            thread.join();
        }
    return rows;
}

} // namespace trainyard::bench
