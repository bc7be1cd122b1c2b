// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// SharedCounter: a number in shared memory that some ranks raise and others wait for: they spin for
// a moment and then sleep on it (futex). All zero is a valid beginning.
// Internal to engine/comm.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace trainyard::engine {

/// A sleeping rank looks this often at the status page and the other ranks' slots ...
inline constexpr std::chrono::milliseconds kNap{10};
/// ... and, every so many naps, at their processes.
inline constexpr int kNapsBetweenProcessChecks = 5;

/// Sleeps until woken, at most one nap, and only while `word` is `expected`. Between processes.
void futexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected);
void futexWakeAll(std::atomic<std::uint32_t>& word);

class SharedCounter {
public:
    /// Only one rank at a time raises it.
    void raiseTo(std::uint32_t value) {
        // Sequentially consistent with the sleeper's increment and the kernel's look at the value:
        // either the sleeper is seen here, or it sees the new value and does not sleep.
        m_value.store(value);
        if (m_sleepers.load() != 0)
            wake();
    }
    bool hasReached(std::uint32_t target) const {
        // Never far apart, so the difference survives wrapping.
        return static_cast<std::int32_t>(m_value.load(std::memory_order_acquire) - target) >= 0;
    }
    void wake() { futexWakeAll(m_value); }

    /// Until the counter has come to `target`, or `look(nap)`, called after each nap, returns a
    /// fault. What is reached by then counts more than a fault.
    template <class Look>
    auto waitFor(std::uint32_t target, bool oversubscribed, Look look) -> decltype(look(0)) {
        spin(target, oversubscribed);
        for (int nap = 0; !hasReached(target); ++nap) {
            const std::uint32_t seen = m_value.load();
            if (hasReached(target))
                break;
            m_sleepers.fetch_add(1);
            futexWait(m_value, seen);
            m_sleepers.fetch_sub(1);
            if (hasReached(target))
                break;
            if (auto fault = look(nap); fault && !hasReached(target))
                return fault;
        }
        return {};
    }

private:
    void spin(std::uint32_t target, bool oversubscribed) const;

    std::atomic<std::uint32_t> m_value;
    std::atomic<std::uint32_t> m_sleepers;
};

} // namespace trainyard::engine
