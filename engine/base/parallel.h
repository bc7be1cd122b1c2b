// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// parallelFor: the one way a loop is spread over the compute threads of a process. The team is the
// calling thread's OpenMP team; a loop runs on all of it or, when it is small, on the caller alone:
// teams of changing size would make the run-time end and start threads in every step.
// Sums are cut into parts that do not depend on the number of threads, and added in order.
#pragma once

#include <algorithm>
#include <cstdint>

#ifndef _OPENMP
#error "Link OpenMP::OpenMP_CXX: without it every loop would silently run on one thread."
#endif
#include <omp.h>
#ifndef __SANITIZE_THREAD__ // thread sanitizer does not see the barriers of the OpenMP run-time
#define TRAINYARD_PARALLEL 1
#endif

namespace trainyard {

/// Threads of the calling thread's team.
inline int teamSize() {
#ifdef TRAINYARD_PARALLEL
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/// Calls f(first, last) for consecutive parts of [0, count), one per thread, each beginning at a
/// multiple of `unit`. Fewer than `grain` elements stay on the calling thread. f must not throw.
template <class Function>
void parallelFor(std::int64_t count, std::int64_t grain, std::int64_t unit, const Function& f) {
    if (count <= 0)
        return;
#ifdef TRAINYARD_PARALLEL
    const std::int64_t units = (count + unit - 1) / unit;
    const std::int64_t threads = std::min<std::int64_t>(teamSize(), units);
    if (threads > 1 && count >= grain) {
#pragma omp parallel
        {
            const std::int64_t thread = omp_get_thread_num();
            const std::int64_t team = omp_get_num_threads();
            const std::int64_t first = units * thread / team * unit;
            const std::int64_t last = std::min(count, units * (thread + 1) / team * unit);
            if (first < last)
                f(first, last);
        }
        return;
    }
#else
    static_cast<void>(grain);
    static_cast<void>(unit);
#endif
    f(std::int64_t{0}, count);
}

} // namespace trainyard
