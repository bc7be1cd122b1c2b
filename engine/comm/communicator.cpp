// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What every transport can do with the collectives it must have: right, but with more bytes than a
// transport's own way.
#include "engine/comm/communicator.h"

#include "engine/base/check.h"

namespace trainyard::engine {

Result<void> Communicator::reduceScatterSum(void* data, std::size_t count, DType type,
                                            std::uint32_t tag) {
    TRAINYARD_CHECK(count % static_cast<std::size_t>(worldSize()) == 0);
    return allReduceSum(data, count, type, tag);
}

Result<void> Communicator::allGather(void* data, std::size_t bytes, std::uint32_t tag) {
    const auto ranks = static_cast<std::size_t>(worldSize());
    TRAINYARD_CHECK(bytes % ranks == 0);
    auto* const first = static_cast<std::byte*>(data);
    for (int root = 0; root < worldSize(); ++root) {
        std::byte* const slice = first + bytes / ranks * static_cast<std::size_t>(root);
        if (Result<void> sent = broadcast(slice, bytes / ranks, root, tag); !sent)
            return sent;
    }
    return {};
}

} // namespace trainyard::engine
