// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Each loop is written once as an inlined template; the functions around it exist so that it can be
// compiled for several instruction sets. This file is compiled with -ffp-contract=off (no fused
// multiply-adds) and -fno-math-errno (sqrt becomes one instruction).
#include "engine/optim/update_loops.h"

#include "engine/base/multiversion.h"

#include <array>
#include <cmath>

namespace trainyard::engine {

namespace {

constexpr std::int64_t kLanes = 16;

[[gnu::always_inline]] inline double inOrder(const std::array<double, kLanes>& lanes) {
    double sum = 0;
    for (const double lane : lanes)
        sum += lane;
    return sum;
}

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

template <class T>
[[gnu::always_inline]] inline void lionLoop(const LionStep<T>& s, std::int64_t count,
                                            T* __restrict p, const T* __restrict gradients,
                                            T* __restrict momentum) {
    const LionStep<T> step = s;
    for (std::int64_t i = 0; i < count; ++i) {
        const T g = step.gradientScale * gradients[i];
        const T direction = step.beta1 * momentum[i] + step.oneMinusBeta1 * g;
        const T sign = static_cast<T>(direction > 0) - static_cast<T>(direction < 0);
        p[i] = step.keep * p[i] - step.learningRate * sign;
        momentum[i] = step.beta2 * momentum[i] + step.oneMinusBeta2 * g;
    }
}

template <class T>
[[gnu::always_inline]] inline void larsLoop(const SgdStep<T>& s, std::int64_t count,
                                            T* __restrict p, const T* __restrict gradients,
                                            T* __restrict v) {
    const SgdStep<T> step = s;
    for (std::int64_t i = 0; i < count; ++i) {
        const T g = step.gradientScale * gradients[i] + step.weightDecay * p[i];
        v[i] = step.momentum * v[i] + step.learningRate * g;
        p[i] -= v[i];
    }
}

/// The step of LAMB before its length is chosen.
template <class T>
[[gnu::always_inline]] inline T lambDirection(const LambStep<T>& step, T p, T first, T second) {
    return step.correction1 * first / (std::sqrt(second) * step.inverseRoot + step.epsilon) +
           step.weightDecay * p;
}

template <class T>
[[gnu::always_inline]] inline double
lambMomentsLoop(const LambStep<T>& s, std::int64_t count, const T* __restrict p,
                const T* __restrict gradients, T* __restrict first, T* __restrict second) {
    const LambStep<T> step = s;
    std::array<double, kLanes> lanes{};
    const auto square = [&](std::int64_t i) {
        const T g = step.gradientScale * gradients[i];
        const T m = step.beta1 * first[i] + step.oneMinusBeta1 * g;
        const T v = step.beta2 * second[i] + step.oneMinusBeta2 * (g * g);
        first[i] = m;
        second[i] = v;
        const double u = static_cast<double>(lambDirection(step, p[i], m, v));
        return u * u;
    };
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane)
            lanes[static_cast<std::size_t>(lane)] += square(i + lane);
    for (; i < count; ++i)
        lanes[static_cast<std::size_t>(i % kLanes)] += square(i);
    return inOrder(lanes);
}

template <class T>
[[gnu::always_inline]] inline void lambApplyLoop(const LambStep<T>& s, T rate, std::int64_t count,
                                                 T* __restrict p, const T* __restrict first,
                                                 const T* __restrict second) {
    const LambStep<T> step = s;
    for (std::int64_t i = 0; i < count; ++i)
        p[i] -= rate * lambDirection(step, p[i], first[i], second[i]);
}

template <class T>
[[gnu::always_inline]] inline void averageLoop(double decay, std::int64_t count,
                                               const T* __restrict p, T* __restrict average) {
    const T keep = static_cast<T>(decay);
    const T add = static_cast<T>(1 - decay);
    for (std::int64_t i = 0; i < count; ++i)
        average[i] = keep * average[i] + add * p[i];
}

template <class T>
[[gnu::always_inline]] inline double squaresLoop(const T* values, std::int64_t count) {
    std::array<double, kLanes> lanes{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            const double value = static_cast<double>(values[i + lane]);
            lanes[static_cast<std::size_t>(lane)] += value * value;
        }
    for (; i < count; ++i)
        lanes[static_cast<std::size_t>(i % kLanes)] +=
            static_cast<double>(values[i]) * static_cast<double>(values[i]);
    return inOrder(lanes);
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

TRAINYARD_MULTIVERSION
void lionUpdate(const LionStep<float>& step, std::int64_t count, float* parameters,
                const float* gradients, float* momentum) {
    lionLoop(step, count, parameters, gradients, momentum);
}

TRAINYARD_MULTIVERSION
void larsUpdate(const SgdStep<float>& step, std::int64_t count, float* parameters,
                const float* gradients, float* velocity) {
    larsLoop(step, count, parameters, gradients, velocity);
}

TRAINYARD_MULTIVERSION
double lambMoments(const LambStep<float>& step, std::int64_t count, const float* parameters,
                   const float* gradients, float* first, float* second) {
    return lambMomentsLoop(step, count, parameters, gradients, first, second);
}

TRAINYARD_MULTIVERSION
void lambApply(const LambStep<float>& step, float rate, std::int64_t count, float* parameters,
               const float* first, const float* second) {
    lambApplyLoop(step, rate, count, parameters, first, second);
}

TRAINYARD_MULTIVERSION
void averageUpdate(double decay, std::int64_t count, const float* parameters, float* average) {
    averageLoop(decay, count, parameters, average);
}

TRAINYARD_MULTIVERSION
double sumOfSquares(const float* values, std::int64_t count) {
    return squaresLoop(values, count);
}

TRAINYARD_MULTIVERSION
void lionUpdate(const LionStep<double>& step, std::int64_t count, double* parameters,
                const double* gradients, double* momentum) {
    lionLoop(step, count, parameters, gradients, momentum);
}

TRAINYARD_MULTIVERSION
void larsUpdate(const SgdStep<double>& step, std::int64_t count, double* parameters,
                const double* gradients, double* velocity) {
    larsLoop(step, count, parameters, gradients, velocity);
}

TRAINYARD_MULTIVERSION
double lambMoments(const LambStep<double>& step, std::int64_t count, const double* parameters,
                   const double* gradients, double* first, double* second) {
    return lambMomentsLoop(step, count, parameters, gradients, first, second);
}

TRAINYARD_MULTIVERSION
void lambApply(const LambStep<double>& step, double rate, std::int64_t count, double* parameters,
               const double* first, const double* second) {
    lambApplyLoop(step, rate, count, parameters, first, second);
}

TRAINYARD_MULTIVERSION
void averageUpdate(double decay, std::int64_t count, const double* parameters, double* average) {
    averageLoop(decay, count, parameters, average);
}

TRAINYARD_MULTIVERSION
double sumOfSquares(const double* values, std::int64_t count) {
    return squaresLoop(values, count);
}

} // namespace trainyard::engine
