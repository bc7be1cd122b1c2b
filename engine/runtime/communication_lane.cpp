// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/communication_lane.h"

#include <algorithm>
#include <utility>

#include <omp.h>

namespace trainyard::engine {

CommunicationLane::CommunicationLane(Run run)
    : m_run(std::move(run)), m_thread([this] { loop(); }) {}

CommunicationLane::~CommunicationLane() {
    {
        const std::lock_guard lock(m_mutex);
        m_ends = true;
    }
    m_laneMayGoOn.notify_one();
    m_thread.join();
}

void CommunicationLane::begin(const plan::Program& program) {
    m_last = -1;
    for (std::size_t i = 0; i < program.instructions.size(); ++i)
        if (program.instructions[i].lane == plan::Lane::Communication)
            m_last = static_cast<int>(i);
    {
        const std::lock_guard lock(m_mutex);
        m_computed = -1;
        m_done = -1;
        m_program = m_last < 0 ? nullptr : &program;
    }
    m_laneMayGoOn.notify_one();
}

void CommunicationLane::computed(std::size_t index) {
    {
        const std::lock_guard lock(m_mutex);
        m_computed = static_cast<int>(index);
    }
    m_laneMayGoOn.notify_one();
}

Result<void> CommunicationLane::waitFor(std::span<const int> instructions) {
    return instructions.empty() ? Result<void>() : waitUntil(std::ranges::max(instructions));
}

Result<void> CommunicationLane::finish() {
    return m_last < 0 ? Result<void>() : waitUntil(m_last);
}

Result<void> CommunicationLane::waitUntil(int instruction) {
    std::unique_lock lock(m_mutex);
    m_computeMayGoOn.wait(lock, [&] { return m_error || m_failure || m_done >= instruction; });
    if (m_failure)
        std::rethrow_exception(m_failure);
    if (m_error)
        return *m_error;
    return {};
}

/// Sums and products of the lane stay on its thread: the others of the machine compute.
void CommunicationLane::loop() {
    omp_set_num_threads(1);
    while (true) {
        const plan::Program* program = nullptr;
        {
            std::unique_lock lock(m_mutex);
            m_laneMayGoOn.wait(lock, [&] { return m_ends || m_program; });
            if (m_ends)
                return;
            program = std::exchange(m_program, nullptr);
        }
        if (!runPass(*program))
            return;
    }
}

/// False: the lane is over.
bool CommunicationLane::runPass(const plan::Program& program) {
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        const plan::Instruction& instruction = program.instructions[i];
        if (instruction.lane != plan::Lane::Communication)
            continue;
        m_current.store(static_cast<int>(i), std::memory_order_relaxed);
        if (!waitForCompute(instruction))
            return false;
        Result<void> done;
        try {
            done = m_run(program, i);
        } catch (...) { // would end the process; who waits for the lane says why
            {
                const std::lock_guard lock(m_mutex);
                m_failure = std::current_exception();
            }
            m_computeMayGoOn.notify_one();
            return false;
        }
        {
            const std::lock_guard lock(m_mutex);
            m_done = static_cast<int>(i);
            if (!done)
                m_error = done.error();
        }
        m_computeMayGoOn.notify_one();
        if (!done)
            return false;
    }
    m_current.store(-1, std::memory_order_relaxed);
    return true;
}

bool CommunicationLane::waitForCompute(const plan::Instruction& instruction) {
    std::unique_lock lock(m_mutex);
    m_laneMayGoOn.wait(lock, [&] {
        return m_ends || std::ranges::all_of(instruction.waitsFor,
                                             [this](int needed) { return m_computed >= needed; });
    });
    return !m_ends;
}

} // namespace trainyard::engine
