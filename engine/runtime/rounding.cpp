// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/rounding.h"

#include "engine/base/check.h"
#include "engine/base/parallel.h"

namespace trainyard::engine {

namespace {

/// In parts that are worth a thread.
template <class Function>
void forParts(std::size_t count, const Function& f) {
    parallelFor(static_cast<std::int64_t>(count), 1 << 15, 32, f);
}

template <class Half>
void roundTo(const float* from, Half* to, std::size_t count) {
    forParts(count, [&](std::int64_t first, std::int64_t last) {
        narrow(from + first, to + first, last - first);
    });
}

template <class Half>
void widenFrom(const Half* from, float* to, std::size_t count) {
    forParts(count, [&](std::int64_t first, std::int64_t last) {
        widen(from + first, to + first, last - first);
    });
}

} // namespace

void roundToBf16(const float* from, Bf16* to, std::size_t count) {
    roundTo(from, to, count);
}

void roundToHalf(const float* from, void* to, DType half, std::size_t count) {
    if (half == DType::Fp16)
        roundTo(from, static_cast<Fp16*>(to), count);
    else
        roundTo(from, static_cast<Bf16*>(to), count);
}

void widenHalf(const void* from, DType half, float* to, std::size_t count) {
    if (half == DType::Fp16)
        widenFrom(static_cast<const Fp16*>(from), to, count);
    else
        widenFrom(static_cast<const Bf16*>(from), to, count);
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
