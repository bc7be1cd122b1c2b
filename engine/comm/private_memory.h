// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Zeroed, 64-byte aligned memory of this process, for transports that copy anyway.
#pragma once

#include "engine/base/number_text.h"
#include "engine/base/result.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace trainyard::engine {

class PrivateMemory {
public:
    Result<std::span<std::byte>> allocate(std::size_t bytes) {
        constexpr std::size_t kAlignment = 64;
        const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
        if (rounded < bytes)
            return outOfMemory(bytes);
        std::unique_ptr<std::byte, Free> block(static_cast<std::byte*>(
            std::aligned_alloc(kAlignment, rounded ? rounded : kAlignment)));
        if (!block)
            return outOfMemory(bytes);
        std::memset(block.get(), 0, rounded);
        m_blocks.push_back(std::move(block));
        return std::span<std::byte>(m_blocks.back().get(), bytes);
    }

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    static Error outOfMemory(std::size_t bytes) {
        return {Message("Not enough memory for %1 bytes of gradients.",
                        {grouped(static_cast<std::int64_t>(bytes))})};
    }
    std::vector<std::unique_ptr<std::byte, Free>> m_blocks;
};

} // namespace trainyard::engine
