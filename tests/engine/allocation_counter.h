// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Counts what is allocated in a stretch of a test, in all threads and libraries: the executable
// that links allocation_counter.cpp has its own malloc in front of the C library's.
#pragma once

#include <cstddef>

namespace trainyard::test {

struct Allocations {
    std::size_t count = 0;
    std::size_t largest = 0; ///< bytes
};

/// False under sanitizers, which bring their own malloc.
bool canCountAllocations();
void startCountingAllocations();
Allocations stopCountingAllocations();

} // namespace trainyard::test
