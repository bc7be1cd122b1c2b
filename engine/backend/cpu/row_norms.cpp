// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Layer norm (Ba, Kiros and Hinton, 2016) and RMS norm (Zhang and Sennrich, 2019): each row by
// itself. The gradients of weight and bias are sums over rows, in order; threads share columns.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/cpu/row_parts.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <cmath>

namespace trainyard::engine::cpu {

namespace {

struct Moments {
    double first, second;
};

/// Sums of x - pivot and of its squares.
template <class T>
[[gnu::always_inline]] inline Moments momentsOfLoop(const T* __restrict x, std::int64_t count,
                                                    float pivot) {
    Lanes sum{}, square{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l) {
            const float v = load(x[i + static_cast<std::int64_t>(l)]) - pivot;
            sum[l] += v;
            square[l] += v * v;
        }
    for (; i < count; ++i) {
        const auto l = static_cast<std::size_t>(i % kLanes);
        sum[l] += load(x[i]) - pivot;
        square[l] += (load(x[i]) - pivot) * (load(x[i]) - pivot);
    }
    return {laneSum(sum), laneSum(square)};
}

TRAINYARD_MULTIVERSION
Moments momentsOf(const float* __restrict x, std::int64_t count, float pivot) {
    return momentsOfLoop(x, count, pivot);
}

TRAINYARD_MULTIVERSION
Moments momentsOf(const Bf16* __restrict x, std::int64_t count, float pivot) {
    return momentsOfLoop(x, count, pivot);
}

/// y = (x - mean) * inverse * weight + bias; bias null: none.
template <class T>
[[gnu::always_inline]] inline void
normalizeRowLoop(const T* __restrict x, T* __restrict y, std::int64_t count, float mean,
                 float inverse, const float* __restrict weight, const float* __restrict bias) {
    if (bias)
        for (std::int64_t i = 0; i < count; ++i)
            store(y[i], (load(x[i]) - mean) * inverse * weight[i] + bias[i]);
    else
        for (std::int64_t i = 0; i < count; ++i)
            store(y[i], (load(x[i]) - mean) * inverse * weight[i]);
}

TRAINYARD_MULTIVERSION
void normalizeRow(const float* __restrict x, float* __restrict y, std::int64_t count, float mean,
                  float inverse, const float* __restrict weight, const float* __restrict bias) {
    normalizeRowLoop(x, y, count, mean, inverse, weight, bias);
}

TRAINYARD_MULTIVERSION
void normalizeRow(const Bf16* __restrict x, Bf16* __restrict y, std::int64_t count, float mean,
                  float inverse, const float* __restrict weight, const float* __restrict bias) {
    normalizeRowLoop(x, y, count, mean, inverse, weight, bias);
}

/// Sums of dy * weight and of dy * weight * x̂.
template <class T>
[[gnu::always_inline]] inline Moments
gradientMomentsLoop(const T* __restrict x, const T* __restrict dy, const float* __restrict weight,
                    std::int64_t count, float mean, float inverse) {
    Lanes sum{}, product{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l) {
            const std::int64_t k = i + static_cast<std::int64_t>(l);
            const float g = load(dy[k]) * weight[k];
            sum[l] += g;
            product[l] += g * ((load(x[k]) - mean) * inverse);
        }
    for (; i < count; ++i) {
        const auto l = static_cast<std::size_t>(i % kLanes);
        const float g = load(dy[i]) * weight[i];
        sum[l] += g;
        product[l] += g * ((load(x[i]) - mean) * inverse);
    }
    return {laneSum(sum), laneSum(product)};
}

TRAINYARD_MULTIVERSION
Moments gradientMoments(const float* __restrict x, const float* __restrict dy,
                        const float* __restrict weight, std::int64_t count, float mean,
                        float inverse) {
    return gradientMomentsLoop(x, dy, weight, count, mean, inverse);
}

TRAINYARD_MULTIVERSION
Moments gradientMoments(const Bf16* __restrict x, const Bf16* __restrict dy,
                        const float* __restrict weight, std::int64_t count, float mean,
                        float inverse) {
    return gradientMomentsLoop(x, dy, weight, count, mean, inverse);
}

struct RowGradient {
    float mean, inverse;
    float shift; ///< mean of dy * weight
    float slope; ///< mean of dy * weight * x̂
};

/// dx = inverse * (dy * weight - shift - x̂ * slope), or += it.
template <class T>
[[gnu::always_inline]] inline void writeRowLoop(const T* __restrict x, const T* __restrict dy,
                                                const float* __restrict weight, T* __restrict dx,
                                                std::int64_t count, RowGradient g, bool add) {
    for (std::int64_t i = 0; i < count; ++i) {
        const float hat = (load(x[i]) - g.mean) * g.inverse;
        const float value = g.inverse * ((load(dy[i]) * weight[i] - g.shift) - hat * g.slope);
        store(dx[i], add ? load(dx[i]) + value : value);
    }
}

TRAINYARD_MULTIVERSION
void writeRow(const float* __restrict x, const float* __restrict dy, const float* __restrict weight,
              float* __restrict dx, std::int64_t count, RowGradient g, bool add) {
    writeRowLoop(x, dy, weight, dx, count, g, add);
}

TRAINYARD_MULTIVERSION
void writeRow(const Bf16* __restrict x, const Bf16* __restrict dy, const float* __restrict weight,
              Bf16* __restrict dx, std::int64_t count, RowGradient g, bool add) {
    writeRowLoop(x, dy, weight, dx, count, g, add);
}

struct Columns {
    std::int64_t rows, width; ///< of the matrix
    std::int64_t first, last; ///< columns to add up
};

/// weightSum += sum of dy * x̂, biasSum += sum of dy, over rows in order; either may be null.
template <class T>
[[gnu::always_inline]] inline void
addColumnGradientsLoop(const T* __restrict x, const T* __restrict dy, const Columns& c,
                       const float* __restrict mean, const float* __restrict inverse,
                       float* __restrict weightSum, float* __restrict biasSum) {
    for (std::int64_t row = 0; row < c.rows; ++row) {
        const T* xRow = x + row * c.width;
        const T* dyRow = dy + row * c.width;
        const float m = mean ? mean[row] : 0.0F;
        const float s = inverse[row];
        for (std::int64_t i = c.first; weightSum && i < c.last; ++i)
            weightSum[i] += load(dyRow[i]) * ((load(xRow[i]) - m) * s);
        for (std::int64_t i = c.first; biasSum && i < c.last; ++i)
            biasSum[i] += load(dyRow[i]);
    }
}

TRAINYARD_MULTIVERSION
void addColumnGradients(const float* __restrict x, const float* __restrict dy, const Columns& c,
                        const float* __restrict mean, const float* __restrict inverse,
                        float* __restrict weightSum, float* __restrict biasSum) {
    addColumnGradientsLoop(x, dy, c, mean, inverse, weightSum, biasSum);
}

TRAINYARD_MULTIVERSION
void addColumnGradients(const Bf16* __restrict x, const Bf16* __restrict dy, const Columns& c,
                        const float* __restrict mean, const float* __restrict inverse,
                        float* __restrict weightSum, float* __restrict biasSum) {
    addColumnGradientsLoop(x, dy, c, mean, inverse, weightSum, biasSum);
}

template <class T>
class RowNorm : public Kernel {
public:
    explicit RowNorm(const KernelRequest& request)
        : m_request(request), m_centered(request.kind == graph::OperationKind::LayerNorm),
          m_epsilon(std::get<graph::NormAttributes>(request.attributes).epsilon),
          m_rows(featureRows(request)), m_width(request.inputs[0].shape.back()),
          m_x(dataOf<T>(request.inputs[0])), m_weight(dataOf<float>(request.parameters[0])) {
        // Saved: means (layer norm only), then inverse deviations.
        auto* saved = static_cast<float*>(request.saved);
        m_mean = m_centered ? saved : nullptr;
        m_inverse = saved && m_centered ? saved + m_rows : saved;
    }

protected:
    template <class Function>
    void forEachRow(const Function& f) const {
        parallelFor(m_rows, m_rows * m_width < kGrain / 4 ? m_rows + 1 : 0, 1,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t row = first; row < last; ++row)
                            f(row);
                    });
    }

    KernelRequest m_request;
    bool m_centered;
    double m_epsilon;
    std::int64_t m_rows, m_width;
    const T* m_x;
    const float* m_weight;
    float* m_mean;
    float* m_inverse;
};

template <class T>
class RowNormForward : public RowNorm<T> {
public:
    using RowNorm<T>::RowNorm;

    void run(const StepContext&) override {
        T* y = dataOf<T>(m_request.outputs[0]);
        const float* bias = m_centered ? dataOf<float>(m_request.parameters[1]) : nullptr;
        forEachRow([&](std::int64_t row) {
            const T* x = m_x + row * m_width;
            const float pivot = m_centered ? load(x[0]) : 0.0F;
            const Moments sums = momentsOf(x, m_width, pivot);
            const double n = static_cast<double>(m_width);
            const double offset = m_centered ? sums.first / n : 0;
            const double variance = std::max(sums.second / n - offset * offset, 0.0);
            const auto mean = static_cast<float>(static_cast<double>(pivot) + offset);
            const auto inverse = static_cast<float>(1 / std::sqrt(variance + m_epsilon));
            normalizeRow(x, y + row * m_width, m_width, mean, inverse, m_weight, bias);
            if (m_inverse && m_request.direction == Direction::Forward) {
                m_inverse[row] = inverse;
                if (m_mean)
                    m_mean[row] = mean;
            }
        });
    }

private:
    using RowNorm<T>::m_request;
    using RowNorm<T>::m_centered;
    using RowNorm<T>::m_epsilon;
    using RowNorm<T>::m_rows;
    using RowNorm<T>::m_width;
    using RowNorm<T>::m_x;
    using RowNorm<T>::m_weight;
    using RowNorm<T>::m_mean;
    using RowNorm<T>::m_inverse;
    using RowNorm<T>::forEachRow;
};

template <class T>
class RowNormBackward : public RowNorm<T> {
public:
    explicit RowNormBackward(const KernelRequest& request)
        : RowNorm<T>(request), m_dy(dataOf<T>(request.outputGradients[0])) {}

    void run(const StepContext&) override {
        // Before dx, which may take dy's place.
        writeParameterGradients();
        if (wantsInputGradient(m_request))
            writeInputGradients();
    }

private:
    float* start(std::size_t parameter) const {
        if (!wantsParameterGradient(m_request, parameter))
            return nullptr;
        float* gradient = dataOf<float>(m_request.parameterGradients[parameter]);
        if (!addsToParameterGradient(m_request, parameter))
            std::fill_n(gradient, m_width, 0.0F);
        return gradient;
    }

    void writeParameterGradients() const {
        float* weight = start(0);
        float* bias = m_centered ? start(1) : nullptr;
        if (!weight && !bias)
            return;
        const std::int64_t grain = m_rows * m_width < kGrain / 4 ? m_width + 1 : 0;
        parallelFor(m_width, grain, kLine, [&](std::int64_t first, std::int64_t last) {
            addColumnGradients(m_x, m_dy, {m_rows, m_width, first, last}, m_mean, m_inverse, weight,
                               bias);
        });
    }

    void writeInputGradients() const {
        T* dx = dataOf<T>(m_request.inputGradients[0]);
        const bool add = addsToInputGradient(m_request);
        forEachRow([&](std::int64_t row) {
            const std::int64_t at = row * m_width;
            const float mean = m_mean ? m_mean[row] : 0.0F;
            const Moments sums =
                gradientMoments(m_x + at, m_dy + at, m_weight, m_width, mean, m_inverse[row]);
            const double n = static_cast<double>(m_width);
            writeRow(m_x + at, m_dy + at, m_weight, dx + at, m_width,
                     {.mean = mean,
                      .inverse = m_inverse[row],
                      .shift = m_centered ? static_cast<float>(sums.first / n) : 0.0F,
                      .slope = static_cast<float>(sums.second / n)},
                     add);
        });
    }

    using RowNorm<T>::m_request;
    using RowNorm<T>::m_centered;
    using RowNorm<T>::m_epsilon;
    using RowNorm<T>::m_rows;
    using RowNorm<T>::m_width;
    using RowNorm<T>::m_x;
    using RowNorm<T>::m_weight;
    using RowNorm<T>::m_mean;
    using RowNorm<T>::m_inverse;
    using RowNorm<T>::forEachRow;

    const T* m_dy;
};

template <class T>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
    if (request.direction == Direction::Backward)
        return std::make_unique<RowNormBackward<T>>(request);
    return std::make_unique<RowNormForward<T>>(request);
}

} // namespace

std::unique_ptr<Kernel> makeRowNorm(const KernelRequest& request) {
    return request.type == DType::Bf16 ? make<Bf16>(request) : make<float>(request);
}

} // namespace trainyard::engine::cpu
