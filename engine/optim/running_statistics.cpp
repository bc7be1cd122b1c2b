// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/optim/optimizer.h"

namespace trainyard::engine {

namespace {

template <class T>
void update(const std::vector<ParameterRange>& ranges, T* running, const T* batch) {
    for (const ParameterRange& range : ranges)
        if (!range.trained)
            for (std::size_t i = range.first; i < range.first + range.count; ++i)
                running[i] += static_cast<T>(range.momentum) * (batch[i] - running[i]);
}

} // namespace

void updateStatistics(DType type, const std::vector<ParameterRange>& ranges, void* parameters,
                      const void* gradients) {
    if (type == DType::Fp64)
        update(ranges, static_cast<double*>(parameters), static_cast<const double*>(gradients));
    else
        update(ranges, static_cast<float*>(parameters), static_cast<const float*>(gradients));
}

} // namespace trainyard::engine
