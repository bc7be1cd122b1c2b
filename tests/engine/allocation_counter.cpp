// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/allocation_counter.h"

#include <atomic>
#include <cerrno>

namespace {

std::atomic<bool> counting{false};
std::atomic<std::size_t> count{0};
std::atomic<std::size_t> largest{0};

[[maybe_unused]] void note(std::size_t bytes) {
    if (!counting.load(std::memory_order_relaxed))
        return;
    count.fetch_add(1, std::memory_order_relaxed);
    std::size_t before = largest.load(std::memory_order_relaxed);
    while (before < bytes && !largest.compare_exchange_weak(before, bytes)) {
    }
}

} // namespace

#ifndef TRAINYARD_SANITIZED

extern "C" {
// The C library's own, under the names it keeps for this purpose.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
    note(bytes);
    return __libc_malloc(bytes);
}

void* calloc(std::size_t elements, std::size_t bytes) {
    note(elements * bytes);
    return __libc_calloc(elements, bytes);
}

void* realloc(void* memory, std::size_t bytes) {
    note(bytes);
    return __libc_realloc(memory, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    note(bytes);
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
    note(bytes);
    *memory = __libc_memalign(alignment, bytes);
    return *memory ? 0 : ENOMEM;
}
}

#endif

namespace trainyard::test {

bool canCountAllocations() {
#ifdef TRAINYARD_SANITIZED
    return false;
#else
    return true;
#endif
}

void startCountingAllocations() {
    count = 0;
    largest = 0;
    counting = true;
}

Allocations stopCountingAllocations() {
    counting = false;
    return {count.load(), largest.load()};
}

} // namespace trainyard::test
