// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Norms over the last extent, with x̂ = (x - mean) / sqrt(variance + epsilon) (layer, the variance
// divided by the number of elements) or x / sqrt(mean of x^2 + epsilon) (RMS): y = x̂ w + b. With
// g = dy w: dx = (g - mean of g - x̂ (mean of g x̂)) / deviation; RMS without the mean of g.
// dw = sum over rows of dy x̂, db = sum over rows of dy. Sums are in fp64.
// Forward leaves 1 / deviation of each row and, for layer norm, the means before them.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard::engine::reference {

namespace {

/// Of one row; mean 0 for an RMS norm.
struct RowStatistics {
    double mean = 0;
    double inverse = 0;
};

template <class T>
class RowNorm : public Kernel {
public:
    explicit RowNorm(const KernelRequest& request)
        : m_request(request), m_centred(request.kind == graph::OperationKind::LayerNorm),
          m_epsilon(std::get<graph::NormAttributes>(request.attributes).epsilon),
          m_extent(request.inputs[0].shape.back()), m_rows(featureRows(request)),
          m_sums(static_cast<std::size_t>(m_extent)) {}

    void run(const StepContext&) override {
        if (m_request.direction == Direction::Backward)
            backward();
        else
            forward(m_request.direction == Direction::Forward);
    }

private:
    T* saved() const { return static_cast<T*>(m_request.saved); }
    const T* row(const Operand& operand, std::int64_t row) const {
        return dataOf<T>(operand) + row * m_extent;
    }

    RowStatistics statisticsOf(const T* x) const {
        const auto count = static_cast<double>(m_extent);
        RowStatistics s;
        for (std::int64_t i = 0; i < m_extent && m_centred; ++i)
            s.mean += static_cast<double>(x[i]) / count;
        double squares = 0;
        for (std::int64_t i = 0; i < m_extent; ++i) {
            const double difference = static_cast<double>(x[i]) - s.mean;
            squares += difference * difference;
        }
        s.inverse = 1 / std::sqrt(squares / count + m_epsilon);
        return s;
    }

    void save(std::int64_t row, const RowStatistics& s) {
        if (m_centred)
            saved()[row] = static_cast<T>(s.mean);
        saved()[m_centred ? m_rows + row : row] = static_cast<T>(s.inverse);
    }

    RowStatistics load(std::int64_t row) const {
        return {m_centred ? static_cast<double>(saved()[row]) : 0.0,
                static_cast<double>(saved()[m_centred ? m_rows + row : row])};
    }

    void forward(bool leave) {
        const T* weight = dataOf<T>(m_request.parameters[0]);
        const T* bias = m_centred ? dataOf<T>(m_request.parameters[1]) : nullptr;
        for (std::int64_t r = 0; r < m_rows; ++r) {
            const T* x = row(m_request.inputs[0], r);
            T* y = dataOf<T>(m_request.outputs[0]) + r * m_extent;
            const RowStatistics s = statisticsOf(x);
            if (leave)
                save(r, s);
            for (std::int64_t i = 0; i < m_extent; ++i)
                y[i] = normalized(x[i], s) * weight[i] + (bias ? bias[i] : T{0});
        }
    }

    static T normalized(T x, const RowStatistics& s) {
        return static_cast<T>((static_cast<double>(x) - s.mean) * s.inverse);
    }

    void backward() {
        addParameterGradients();
        if (!wantsInputGradient(m_request))
            return;
        for (std::int64_t r = 0; r < m_rows; ++r)
            writeInputGradient(r);
    }

    void addParameterGradients() {
        for (std::size_t p = 0; p < m_request.parameters.size(); ++p) {
            if (!wantsParameterGradient(m_request, p))
                continue;
            sumOverRows(p == 0);
            write(dataOf<T>(m_request.parameterGradients[p]), m_extent,
                  addsToParameterGradient(m_request, p), [&](std::int64_t i) {
                      return static_cast<T>(m_sums[static_cast<std::size_t>(i)]);
                  });
        }
    }

    /// Of dy x̂ or of dy, for each feature.
    void sumOverRows(bool timesNormalized) {
        std::fill(m_sums.begin(), m_sums.end(), 0.0);
        for (std::int64_t r = 0; r < m_rows; ++r) {
            const T* x = row(m_request.inputs[0], r);
            const T* dy = row(m_request.outputGradients[0], r);
            const RowStatistics s = load(r);
            write(m_sums.data(), m_extent, true, [&](std::int64_t i) {
                return static_cast<double>(dy[i]) *
                       (timesNormalized ? static_cast<double>(normalized(x[i], s)) : 1.0);
            });
        }
    }

    void writeInputGradient(std::int64_t r) {
        const T* weight = dataOf<T>(m_request.parameters[0]);
        const T* x = row(m_request.inputs[0], r);
        const T* dy = row(m_request.outputGradients[0], r);
        const RowStatistics s = load(r);
        const auto g = [&](std::int64_t i) {
            return static_cast<double>(dy[i]) * static_cast<double>(weight[i]);
        };
        double mean = 0, meanTimes = 0;
        for (std::int64_t i = 0; i < m_extent; ++i) {
            mean += m_centred ? g(i) / static_cast<double>(m_extent) : 0.0;
            meanTimes +=
                g(i) * static_cast<double>(normalized(x[i], s)) / static_cast<double>(m_extent);
        }
        write(dataOf<T>(m_request.inputGradients[0]) + r * m_extent, m_extent,
              addsToInputGradient(m_request), [&](std::int64_t i) {
                  const auto own = static_cast<double>(normalized(x[i], s));
                  return static_cast<T>((g(i) - mean - own * meanTimes) * s.inverse);
              });
    }

    KernelRequest m_request;
    bool m_centred;
    double m_epsilon;
    std::int64_t m_extent, m_rows;
    std::vector<double> m_sums; ///< by feature
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeLayerNorm(const KernelRequest& request) {
    return std::make_unique<RowNorm<T>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeRmsNorm(const KernelRequest& request) {
    return std::make_unique<RowNorm<T>>(request);
}

template std::unique_ptr<Kernel> makeLayerNorm<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeLayerNorm<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeRmsNorm<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeRmsNorm<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
