// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/shared_counter.h"

#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace trainyard::engine {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/// Spinning this long is cheaper than being woken, and short beside a training step.
constexpr microseconds kSpin{40};
/// With more ranks than processors the awaited one may need this very processor. Sleeping gives it
/// away for certain; sched_yield may cost whole time slices on a busy machine (measured: 20 times
/// slower).
constexpr microseconds kSpinOversubscribed{2};
constexpr int kPausesBetweenLooks = 32;

void pauseProcessor() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

} // namespace

void futexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
    timespec timeout = {};
    timeout.tv_sec = kNap.count() / 1000;
    timeout.tv_nsec = kNap.count() % 1000 * 1000000;
    ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, expected, &timeout,
              nullptr, 0);
}

void futexWakeAll(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr,
              nullptr, 0);
}

void SharedCounter::spin(std::uint32_t target, bool oversubscribed) const {
    const Clock::time_point end = Clock::now() + (oversubscribed ? kSpinOversubscribed : kSpin);
    do {
        for (int i = 0; i < kPausesBetweenLooks && !hasReached(target); ++i)
            pauseProcessor();
    } while (!hasReached(target) && Clock::now() < end);
}

} // namespace trainyard::engine
