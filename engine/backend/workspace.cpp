// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/workspace.h"

#include "engine/base/out_of_memory.h"

namespace trainyard::engine {

void Workspace::reserve(std::size_t bytes) {
    if (bytes <= m_bytes)
        return;
    // The old memory goes first: both together would be more than the plan counts.
    m_memory.reset();
    m_bytes = 0;
    m_memory = takeLargeMemory(bytes);
    if (!m_memory)
        throw OutOfMemory(bytes);
    m_bytes = bytes;
}

} // namespace trainyard::engine
