// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/large_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace trainyard {

void FreeLargeMemory::operator()(std::byte* memory) const {
    std::free(memory);
}

LargeMemory takeLargeMemory(std::size_t bytes) {
    const std::size_t alignment = bytes < kLargePage ? 64 : kLargePage;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (rounded < bytes)
        return nullptr;
    LargeMemory memory(
        static_cast<std::byte*>(std::aligned_alloc(alignment, rounded ? rounded : alignment)));
    // Only a wish: without huge pages everything works, slower.
    if (memory && alignment == kLargePage)
        static_cast<void>(::madvise(memory.get(), rounded, MADV_HUGEPAGE));
    return memory;
}

} // namespace trainyard
