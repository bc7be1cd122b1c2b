// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// CommunicationLane: runs the communication instructions of a program in a thread of its own, while
// the compute lane goes on in the caller's. Each lane runs its instructions in the program's order;
// where one needs what the other has done it waits for that instruction, as the program says.
//
//   idle --begin()--> running --the last instruction--> idle
//                        \--an instruction failed--> failed (for good)
#pragma once

#include "engine/base/result.h"
#include "engine/program/program.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

namespace trainyard::engine {

class CommunicationLane {
public:
    /// Runs an instruction; called in the lane's thread.
    using Run = std::function<Result<void>(const plan::Program& program, std::size_t index)>;

    explicit CommunicationLane(Run run);
    /// Waits for an instruction that is running; those end by their deadline at the latest.
    ~CommunicationLane();
    CommunicationLane(const CommunicationLane&) = delete;
    CommunicationLane& operator=(const CommunicationLane&) = delete;

    /// What follows is called by the thread of the compute lane. `program` must live until
    /// finish().
    void begin(const plan::Program& program);
    /// The compute lane has done this instruction and all of its before it.
    void computed(std::size_t index);
    /// Until the communication instructions among these are done. Throws what one of them threw.
    Result<void> waitFor(std::span<const int> instructions);
    /// Until all are done.
    Result<void> finish();
    /// The instruction that runs or is waited for; -1: none.
    int current() const { return m_current.load(std::memory_order_relaxed); }

private:
    void loop();
    bool runPass(const plan::Program& program);
    bool waitForCompute(const plan::Instruction& instruction);
    Result<void> waitUntil(int instruction);

    const Run m_run;
    int m_last = -1; ///< the last communication instruction of the program
    std::atomic<int> m_current{-1};

    // Sleeping at once is right here: who waits waits for a network, or for much computing.
    std::mutex m_mutex;
    std::condition_variable m_laneMayGoOn;
    std::condition_variable m_computeMayGoOn;
    const plan::Program* m_program = nullptr; ///< null: nothing to do
    int m_computed = -1;                      ///< last instruction the compute lane has done
    int m_done = -1;                          ///< likewise this lane
    bool m_ends = false;
    std::optional<Error> m_error;
    std::exception_ptr m_failure; ///< what is not a matter of several ranks: no memory, a bug
    std::thread m_thread;
};

} // namespace trainyard::engine
