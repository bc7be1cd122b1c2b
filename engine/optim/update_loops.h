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

template <class T>
struct LionStep {
    T learningRate, beta1, oneMinusBeta1, beta2, oneMinusBeta2;
    T keep; ///< 1 - rate * decay
    T gradientScale;
};

/// p = keep * p - rate * sign(b1 m + (1 - b1) g);  m = b2 m + (1 - b2) g
void lionUpdate(const LionStep<float>& step, std::int64_t count, float* parameters,
                const float* gradients, float* momentum);
void lionUpdate(const LionStep<double>& step, std::int64_t count, double* parameters,
                const double* gradients, double* momentum);

/// v = momentum * v + rate * (scale * gradient + decay * p);  p -= v
/// The velocity carries the rate, which differs from tensor to tensor and from step to step.
void larsUpdate(const SgdStep<float>& step, std::int64_t count, float* parameters,
                const float* gradients, float* velocity);
void larsUpdate(const SgdStep<double>& step, std::int64_t count, double* parameters,
                const double* gradients, double* velocity);

template <class T>
struct LambStep {
    T correction1; ///< 1 / (1 - beta1^t)
    T inverseRoot; ///< 1 / sqrt(1 - beta2^t)
    T beta1, oneMinusBeta1, beta2, oneMinusBeta2, epsilon, weightDecay, gradientScale;
};

/// m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g. Gives the sum of squares of
/// u = correction1 * m / (sqrt(v) * inverseRoot + epsilon) + decay * p.
double lambMoments(const LambStep<float>& step, std::int64_t count, const float* parameters,
                   const float* gradients, float* first, float* second);
double lambMoments(const LambStep<double>& step, std::int64_t count, const double* parameters,
                   const double* gradients, double* first, double* second);
/// p -= rate * u
void lambApply(const LambStep<float>& step, float rate, std::int64_t count, float* parameters,
               const float* first, const float* second);
void lambApply(const LambStep<double>& step, double rate, std::int64_t count, double* parameters,
               const double* first, const double* second);

/// average = decay * average + (1 - decay) * p
void averageUpdate(double decay, std::int64_t count, const float* parameters, float* average);
void averageUpdate(double decay, std::int64_t count, const double* parameters, double* average);

/// Added in fp64 in fixed lanes, which are added in order.
double sumOfSquares(const float* values, std::int64_t count);
double sumOfSquares(const double* values, std::int64_t count);

} // namespace trainyard::engine
