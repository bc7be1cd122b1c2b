// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One block of zeroed, 64-byte aligned memory.
#pragma once

#include "engine/base/large_memory.h"
#include "engine/base/out_of_memory.h"

#include <cstddef>
#include <cstring>

namespace trainyard::engine {

class Arena {
public:
    Arena() = default;
    /// Throws OutOfMemory.
    explicit Arena(std::size_t bytes) : m_bytes((bytes + 63) / 64 * 64) {
        if (m_bytes == 0)
            return;
        m_memory = takeLargeMemory(m_bytes);
        if (!m_memory)
            throw OutOfMemory(m_bytes);
        std::memset(m_memory.get(), 0, m_bytes);
    }
    std::byte* data() const { return m_memory.get(); }
    std::size_t bytes() const { return m_bytes; }

private:
    std::size_t m_bytes = 0;
    LargeMemory m_memory;
};

} // namespace trainyard::engine
