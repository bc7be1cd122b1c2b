// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the optimizers are put together from. Internal to engine/optim.
#pragma once

#include "engine/base/parallel.h"
#include "engine/optim/optimizer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace trainyard::engine {

/// Elements below which a second thread costs more than it brings.
inline constexpr std::int64_t kGrain = 1 << 15;
/// Elements of a cache line in fp32: parts of two threads do not share one.
inline constexpr std::int64_t kUnit = 16;

/// Calls f(first, count, decays) for the pieces of `ranges`, spread over the threads.
template <class Function>
void forEachPiece(std::size_t elements, const std::vector<ParameterRange>& ranges,
                  const Function& f) {
    parallelFor(static_cast<std::int64_t>(elements), kGrain, kUnit,
                [&](std::int64_t first, std::int64_t last) {
                    for (const ParameterRange& range : ranges) {
                        if (!range.trained)
                            continue;
                        const auto from = std::max(static_cast<std::int64_t>(range.first), first);
                        const auto to =
                            std::min(static_cast<std::int64_t>(range.first + range.count), last);
                        if (from < to)
                            f(from, to - from, range.decays);
                    }
                });
}

/// Elements of an update whose parameters are still in the cache when they are rounded.
inline constexpr std::int64_t kRoundedAtOnce = 1 << 12;

/// f(first, count) for a piece of parameters that it updates; rounds them where that is wanted.
template <class T, class Function>
void updatePiece(const UpdateContext& context, const T* parameters, std::int64_t first,
                 std::int64_t count, const Function& f) {
    if constexpr (std::is_same_v<T, float>)
        if (context.rounded) {
            for (std::int64_t done = 0; done < count; done += kRoundedAtOnce) {
                const std::int64_t part = std::min(kRoundedAtOnce, count - done);
                f(first + done, part);
                narrow(parameters + first + done, context.rounded + first + done, part);
            }
            return;
        }
    f(first, count);
}

/// Buffers of one type.
template <class T>
struct Buffers {
    T* parameters;
    const T* gradients;
    std::vector<T*> state;
};

template <class T>
Buffers<T> typed(void* parameters, const void* gradients, const std::vector<void*>& state) {
    Buffers<T> buffers{static_cast<T*>(parameters), static_cast<const T*>(gradients), {}};
    for (void* slot : state)
        buffers.state.push_back(static_cast<T*>(slot));
    return buffers;
}

struct LarsSettings {
    double momentum, trust, weightDecay;
};
struct LambSettings {
    double beta1, beta2, epsilon, weightDecay;
};
std::unique_ptr<Optimizer> makeLars(const LarsSettings& settings);
std::unique_ptr<Optimizer> makeLamb(const LambSettings& settings);

} // namespace trainyard::engine
