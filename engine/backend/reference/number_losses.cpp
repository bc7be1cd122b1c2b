// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Losses that compare numbers z with targets t, each number for itself, with e = z - t:
// binary cross-entropy: -t log p - (1 - t) log(1 - p) with p = sigmoid(z), computed as
//   max(z, 0) - z t + log(1 + exp(-|z|)), which does not overflow;  dz = p - t.
// mean squared error: e^2, dz = 2 e.  mean absolute error: |e|, dz = sign of e.
// Huber, 1964, with delta d: e^2 / 2 up to |e| = d, then d (|e| - d / 2);  dz = e cut to [-d, d].
// dz is divided by the numbers of the global batch. Sums are in fp64, in order.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"
#include "engine/base/check.h"

#include <algorithm>
#include <cmath>

namespace trainyard::engine::reference {

namespace {

// Rules: the loss of one number, its derivative, and what else is summed up.

template <class T>
void addErrors(double* sums, T z, T t) {
    const double error = static_cast<double>(z) - static_cast<double>(t);
    const auto target = static_cast<double>(t);
    sums[kAbsoluteError] += std::abs(error);
    sums[kSquaredError] += error * error;
    sums[kTarget] += target;
    sums[kTargetSquared] += target * target;
}

template <class T>
struct BinaryCrossEntropyRule {
    explicit BinaryCrossEntropyRule(const KernelRequest&) {}
    T value(T z, T t) const {
        return std::max(z, T{0}) - z * t + std::log1p(std::exp(-std::abs(z)));
    }
    T slope(T z, T t) const { return 1 / (1 + std::exp(-z)) - t; }
    void addMetrics(double* sums, T z, T t) const {
        sums[kCorrect] += (z > 0) == (t > T{0.5}) ? 1 : 0;
    }
};

template <class T>
struct SquaredErrorRule {
    explicit SquaredErrorRule(const KernelRequest&) {}
    T value(T z, T t) const { return (z - t) * (z - t); }
    T slope(T z, T t) const { return 2 * (z - t); }
    void addMetrics(double* sums, T z, T t) const { addErrors(sums, z, t); }
};

template <class T>
struct AbsoluteErrorRule {
    explicit AbsoluteErrorRule(const KernelRequest&) {}
    T value(T z, T t) const { return std::abs(z - t); }
    T slope(T z, T t) const { return static_cast<T>((z > t) - (z < t)); }
    void addMetrics(double* sums, T z, T t) const { addErrors(sums, z, t); }
};

template <class T>
struct HuberRule {
    explicit HuberRule(const KernelRequest& request)
        : delta(static_cast<T>(std::get<graph::HuberAttributes>(request.attributes).delta)) {}
    T value(T z, T t) const {
        const T e = std::abs(z - t);
        return e <= delta ? e * e / 2 : delta * (e - delta / 2);
    }
    T slope(T z, T t) const { return std::clamp(z - t, -delta, delta); }
    void addMetrics(double* sums, T z, T t) const { addErrors(sums, z, t); }

    T delta;
};

template <class T, class Rule>
class NumberLoss : public Kernel {
public:
    explicit NumberLoss(const KernelRequest& request)
        : m_request(request), m_rule(request), m_numbers(elementCount(request.inputs[0].shape)) {}

    void run(const StepContext& context) override {
        if (m_request.direction != Direction::Backward)
            addLoss();
        else if (wantsInputGradient(m_request))
            writeGradient(context);
    }

private:
    void addLoss() {
        const T* z = dataOf<T>(m_request.inputs[0]);
        const T* t = static_cast<const T*>(m_request.targets);
        for (std::int64_t i = 0; i < m_request.rows * m_numbers; ++i) {
            m_request.lossSums[kLoss] += static_cast<double>(m_rule.value(z[i], t[i]));
            m_request.lossSums[kCounted] += 1;
            m_rule.addMetrics(m_request.lossSums, z[i], t[i]);
        }
    }

    void writeGradient(const StepContext& context) {
        TRAINYARD_CHECK_MSG(context.globalRows > 0, describePair(context.globalRows, 0));
        const T count = static_cast<T>(context.globalRows * m_numbers);
        const T* z = dataOf<T>(m_request.inputs[0]);
        const T* t = static_cast<const T*>(m_request.targets);
        write(dataOf<T>(m_request.inputGradients[0]), m_request.rows * m_numbers,
              addsToInputGradient(m_request),
              [&](std::int64_t i) { return m_rule.slope(z[i], t[i]) / count; });
    }

    KernelRequest m_request;
    Rule m_rule;
    std::int64_t m_numbers; ///< of a row
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeBinaryCrossEntropy(const KernelRequest& request) {
    return std::make_unique<NumberLoss<T, BinaryCrossEntropyRule<T>>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeMeanSquaredError(const KernelRequest& request) {
    return std::make_unique<NumberLoss<T, SquaredErrorRule<T>>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeMeanAbsoluteError(const KernelRequest& request) {
    return std::make_unique<NumberLoss<T, AbsoluteErrorRule<T>>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeHuber(const KernelRequest& request) {
    return std::make_unique<NumberLoss<T, HuberRule<T>>>(request);
}

template std::unique_ptr<Kernel> makeBinaryCrossEntropy<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeBinaryCrossEntropy<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeMeanSquaredError<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeMeanSquaredError<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeMeanAbsoluteError<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeMeanAbsoluteError<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeHuber<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeHuber<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
