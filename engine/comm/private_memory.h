// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Zeroed, 64-byte aligned memory of this process, for transports that copy anyway.
#pragma once

#include "engine/base/large_memory.h"
#include "engine/base/number_text.h"
#include "engine/base/result.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace trainyard::engine {

class PrivateMemory {
public:
    Result<std::span<std::byte>> allocate(std::size_t bytes) {
        LargeMemory block = takeLargeMemory(bytes);
        if (!block)
            return outOfMemory(bytes);
        std::memset(block.get(), 0, bytes);
        m_blocks.push_back(std::move(block));
        return std::span<std::byte>(m_blocks.back().get(), bytes);
    }

private:
    static Error outOfMemory(std::size_t bytes) {
        return Error(Message("Not enough memory for %1 bytes to exchange with the other ranks.",
                             {grouped(static_cast<std::int64_t>(bytes))}),
                     {}, Message("Use a smaller batch or model, or fewer ranks on this machine."))
            .own();
    }
    std::vector<LargeMemory> m_blocks;
};

} // namespace trainyard::engine
