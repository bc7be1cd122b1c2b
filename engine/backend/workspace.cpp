// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/workspace.h"

#include <new>

namespace trainyard::engine {

void Workspace::Free::operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t{kAlignment});
}

void Workspace::reserve(std::size_t bytes) {
    if (bytes <= m_bytes)
        return;
    // The old memory goes first: both together would be more than the plan counts.
    m_memory.reset();
    m_bytes = 0;
    m_memory.reset(new (std::align_val_t{kAlignment}) std::byte[bytes]);
    m_bytes = bytes;
}

} // namespace trainyard::engine
