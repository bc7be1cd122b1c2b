// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What tests of faults share: the strategies, moments drawn from a seed, and a run that can be
// looked at from outside while something happens to it. Nothing sleeps: every wait is for something
// that can be seen, with a deadline.
#pragma once

#include "tests/integration/train_bench.h"

#include <functional>
#include <memory>
#include <random>

namespace trainyard::test {

inline constexpr int kPatience = 60'000; ///< ms, for a machine under load
/// From when a fault is known until nothing of the run is left.
inline constexpr int kEndsWithin = 5000; ///< ms

struct Strategy {
    const char* name;
    std::vector<const char*> settings;
};
/// Every kind of mesh, in shared memory and over TCP.
const std::vector<Strategy>& strategies();

const Strategy& strategyAt(int index);

/// TRAINYARD_FAULT_ROUNDS, else `few`.
int faultRounds(int few);
/// Of TRAINYARD_FAULT_SEED, else always the same. Prints the seed.
std::mt19937 faultDice();

/// A row for each round: which strategy, and two words of chance.
void addFaultRounds(int few);

/// One run of `trainyard train` on an experiment of its bench, and what can be seen of it.
class FaultRun {
public:
    /// `fault`: what $TRAINYARD_TEST_FAULT tells faulty_worker, which then is the worker; empty:
    /// the real worker all the way.
    FaultRun(TrainBench& bench, const QString& experiment, const Strategy& strategy,
             const QString& fault = {});

    Program& program() { return *m_program; }
    app::RunRecord record() const { return m_bench.runs().at(0); }
    std::vector<spec::RankInfo> ranks() const;
    /// One of them, by any number.
    spec::RankInfo rankOf(int victim) const;
    QString failureText() const; ///< what the run's failure says
    /// The ranks are known and `step` steps are done.
    bool reached(std::int64_t step) const;
    bool isOver() const;
    QStringList log() const;
    bool logHas(const QString& part) const { return !log().filter(part).isEmpty(); }
    QString folder() const; ///< of the run, on the node

    /// What went wrong, in full; empty: all that holds for a run that a fault ended. It failed,
    /// blames `rank` in one sentence, leaves no process, and all its files go with it.
    QString defectOfEnd(int rank, const char* status = "failed");

private:
    TrainBench& m_bench;
    std::unique_ptr<Program> m_program;
};

} // namespace trainyard::test
