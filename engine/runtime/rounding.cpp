// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/rounding.h"

#include "engine/base/check.h"
#include "engine/base/parallel.h"

namespace trainyard::engine {

void roundToBf16(const float* from, Bf16* to, std::size_t count) {
    parallelFor(static_cast<std::int64_t>(count), 1 << 15, 32,
                [&](std::int64_t first, std::int64_t last) {
                    narrow(from + first, to + first, last - first);
                });
}

void roundLoaded(const graph::Graph& graph, const plan::Places& places, std::byte* activations) {
    if (places.loaded.bytes == 0)
        return;
    const auto input = static_cast<std::size_t>(graph.input);
    TRAINYARD_CHECK(graph.values[input].layout == Layout::Plain);
    roundToBf16(reinterpret_cast<const float*>(activations + places.loaded.offset),
                reinterpret_cast<Bf16*>(activations + places.values[input].offset),
                places.loaded.bytes / sizeof(float));
}

} // namespace trainyard::engine
