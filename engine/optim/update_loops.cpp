// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Each loop is written once as an inlined template; the functions around it exist so that it can be
// compiled for several instruction sets. This file is compiled with -ffp-contract=off (no fused
// multiply-adds) and -fno-math-errno (sqrt becomes one instruction).
#include "engine/optim/update_loops.h"

#include "engine/base/multiversion.h"

#include <cmath>

namespace trainyard::engine {

namespace {

template <class T>
[[gnu::always_inline]] inline void sgdLoop(const SgdStep<T>& s, std::int64_t count, T* __restrict p,
                                           const T* __restrict gradients) {
    const SgdStep<T> step = s;
    for (std::int64_t i = 0; i < count; ++i) {
        const T g = step.gradientScale * gradients[i] + step.weightDecay * p[i];
        p[i] -= step.learningRate * g;
    }
}

template <class T>
[[gnu::always_inline]] inline void momentumLoop(const SgdStep<T>& s, std::int64_t count,
                                                T* __restrict p, const T* __restrict gradients,
                                                T* __restrict v) {
    const SgdStep<T> step = s;
    for (std::int64_t i = 0; i < count; ++i) {
        const T g = step.gradientScale * gradients[i] + step.weightDecay * p[i];
        v[i] = step.momentum * v[i] + g;
        p[i] -= step.learningRate * v[i];
    }
}

template <class T>
[[gnu::always_inline]] inline void nesterovLoop(const SgdStep<T>& s, std::int64_t count,
                                                T* __restrict p, const T* __restrict gradients,
                                                T* __restrict v) {
    const SgdStep<T> step = s;
    for (std::int64_t i = 0; i < count; ++i) {
        const T g = step.gradientScale * gradients[i] + step.weightDecay * p[i];
        v[i] = step.momentum * v[i] + g;
        p[i] -= step.learningRate * (g + step.momentum * v[i]);
    }
}

template <class T>
[[gnu::always_inline]] inline void adamLoop(const AdamStep<T>& s, std::int64_t count,
                                            T* __restrict p, const T* __restrict gradients,
                                            T* __restrict first, T* __restrict second) {
    const AdamStep<T> step = s;
    for (std::int64_t i = 0; i < count; ++i) {
        const T g = step.gradientScale * gradients[i] + step.coupledDecay * p[i];
        const T m = step.beta1 * first[i] + step.oneMinusBeta1 * g;
        const T v = step.beta2 * second[i] + step.oneMinusBeta2 * (g * g);
        first[i] = m;
        second[i] = v;
        p[i] = step.keep * p[i] -
               step.stepSize * (m / (std::sqrt(v) * step.inverseRoot + step.epsilon));
    }
}

} // namespace

TRAINYARD_MULTIVERSION
void sgdUpdate(const SgdStep<float>& step, std::int64_t count, float* parameters,
               const float* gradients) {
    sgdLoop(step, count, parameters, gradients);
}

TRAINYARD_MULTIVERSION
void sgdUpdate(const SgdStep<double>& step, std::int64_t count, double* parameters,
               const double* gradients) {
    sgdLoop(step, count, parameters, gradients);
}

TRAINYARD_MULTIVERSION
void momentumUpdate(const SgdStep<float>& step, std::int64_t count, float* parameters,
                    const float* gradients, float* velocity) {
    momentumLoop(step, count, parameters, gradients, velocity);
}

TRAINYARD_MULTIVERSION
void momentumUpdate(const SgdStep<double>& step, std::int64_t count, double* parameters,
                    const double* gradients, double* velocity) {
    momentumLoop(step, count, parameters, gradients, velocity);
}

TRAINYARD_MULTIVERSION
void nesterovUpdate(const SgdStep<float>& step, std::int64_t count, float* parameters,
                    const float* gradients, float* velocity) {
    nesterovLoop(step, count, parameters, gradients, velocity);
}

TRAINYARD_MULTIVERSION
void nesterovUpdate(const SgdStep<double>& step, std::int64_t count, double* parameters,
                    const double* gradients, double* velocity) {
    nesterovLoop(step, count, parameters, gradients, velocity);
}

TRAINYARD_MULTIVERSION
void adamUpdate(const AdamStep<float>& step, std::int64_t count, float* parameters,
                const float* gradients, float* first, float* second) {
    adamLoop(step, count, parameters, gradients, first, second);
}

TRAINYARD_MULTIVERSION
void adamUpdate(const AdamStep<double>& step, std::int64_t count, double* parameters,
                const double* gradients, double* first, double* second) {
    adamLoop(step, count, parameters, gradients, first, second);
}

} // namespace trainyard::engine
