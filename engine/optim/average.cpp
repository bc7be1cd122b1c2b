// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The moving average of the weights. Its decay rises with the updates as in
// tf.train.ExponentialMovingAverage: without that, a short run would still be made of first
// weights.
#include "engine/optim/optimizer_parts.h"
#include "engine/optim/update_loops.h"

#include <algorithm>

namespace trainyard::engine {

void averageWeights(DType type, double decay, std::int64_t update, std::size_t elements,
                    const void* parameters, void* average) {
    const double t = static_cast<double>(update);
    const double now = std::min(decay, (1 + t) / (10 + t));
    const auto add = [&]<class T>(const T* from, T* to) {
        parallelFor(static_cast<std::int64_t>(elements), kGrain, kUnit,
                    [&](std::int64_t first, std::int64_t last) {
                        averageUpdate(now, last - first, from + first, to + first);
                    });
    };
    if (type == DType::Fp64)
        add(static_cast<const double*>(parameters), static_cast<double*>(average));
    else
        add(static_cast<const float*>(parameters), static_cast<float*>(average));
}

} // namespace trainyard::engine
