// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of the optimizers: one pass over `count` consecutive elements. Buffers do not
// overlap. `gradientScale` is applied to the gradient before anything else.
#pragma once

#include <cstdint>

namespace trainyard::engine {

template <class T>
struct SgdStep {
    T learningRate, momentum, weightDecay, gradientScale;
};

/// g = scale * gradient + decay * p;  p -= rate * g
void sgdUpdate(const SgdStep<float>& step, std::int64_t count, float* parameters,
               const float* gradients);
void sgdUpdate(const SgdStep<double>& step, std::int64_t count, double* parameters,
               const double* gradients);

/// v = momentum * v + g;  p -= rate * v
void momentumUpdate(const SgdStep<float>& step, std::int64_t count, float* parameters,
                    const float* gradients, float* velocity);
void momentumUpdate(const SgdStep<double>& step, std::int64_t count, double* parameters,
                    const double* gradients, double* velocity);

/// v = momentum * v + g;  p -= rate * (g + momentum * v)
void nesterovUpdate(const SgdStep<float>& step, std::int64_t count, float* parameters,
                    const float* gradients, float* velocity);
void nesterovUpdate(const SgdStep<double>& step, std::int64_t count, double* parameters,
                    const double* gradients, double* velocity);

template <class T>
struct AdamStep {
    T stepSize;    ///< rate / (1 - beta1^t)
    T inverseRoot; ///< 1 / sqrt(1 - beta2^t)
    T beta1, oneMinusBeta1, beta2, oneMinusBeta2, epsilon;
    T coupledDecay; ///< Adam: added to the gradient
    T keep;         ///< AdamW: the parameter is multiplied by 1 - rate * decay first
    T gradientScale;
};

/// g = scale * gradient + decay * p;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g;
/// p = keep * p - stepSize * m / (sqrt(v) * inverseRoot + epsilon)
void adamUpdate(const AdamStep<float>& step, std::int64_t count, float* parameters,
                const float* gradients, float* first, float* second);
void adamUpdate(const AdamStep<double>& step, std::int64_t count, double* parameters,
                const double* gradients, double* first, double* second);

} // namespace trainyard::engine
