// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Workspace: the one piece of scratch memory that all kernels of a backend share, because they run
// one after the other. It grows while kernels are made and stays where it is while they run, so a
// kernel asks for `data()` in run() and not before.
#pragma once

#include "engine/base/large_memory.h"

#include <cstddef>

namespace trainyard::engine {

class Workspace {
public:
    static constexpr std::size_t kAlignment = 64; ///< bytes: a cache line, an AVX-512 register

    /// Makes room for `bytes`; what was in it is lost.
    void reserve(std::size_t bytes);
    std::byte* data() const { return m_memory.get(); }
    std::size_t bytes() const { return m_bytes; }

private:
    LargeMemory m_memory;
    std::size_t m_bytes = 0;
};

/// `bytes` rounded up so that what comes behind them is aligned.
inline std::size_t alignedBytes(std::size_t bytes) {
    return (bytes + Workspace::kAlignment - 1) / Workspace::kAlignment * Workspace::kAlignment;
}

} // namespace trainyard::engine
