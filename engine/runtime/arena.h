// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One block of zeroed, 64-byte aligned memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace trainyard::engine {

class Arena {
public:
    Arena() = default;
    /// Throws std::bad_alloc.
    explicit Arena(std::size_t bytes) : m_bytes((bytes + 63) / 64 * 64) {
        if (m_bytes == 0)
            return;
        m_memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, m_bytes)));
        if (!m_memory)
            throw std::bad_alloc();
        std::memset(m_memory.get(), 0, m_bytes);
    }
    std::byte* data() const { return m_memory.get(); }
    std::size_t bytes() const { return m_bytes; }

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    std::size_t m_bytes = 0;
    std::unique_ptr<std::byte, Free> m_memory;
};

} // namespace trainyard::engine
