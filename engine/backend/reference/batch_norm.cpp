// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Batch norm (Ioffe and Szegedy, 2015), for each channel over all n elements of the batch:
// x̂ = (x - mean) / sqrt(variance + epsilon), the variance divided by n; y = x̂ w + b.
// db = sum of dy, dw = sum of dy x̂, dx = w (dy - db / n - x̂ dw / n) / deviation, where the sums in
// dx are over the rows of all ranks and dw and db are of the rank's own.
// Inference: x̂ with the running mean and variance.
// Forward leaves the mean and 1 / deviation of each channel. Backward hands the batch's mean and
// its variance divided by n - 1 to where the gradients of the running ones would be, times the
// rank's share of the global rows: then the sum over the ranks is the mean over them.
// Whole is Collect and Apply at once on statistics of its own. Sums are in fp64.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"
#include "engine/base/check.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard::engine::reference {

namespace {

enum Parameter : std::size_t { kWeight, kBias, kRunningMean, kRunningVariance };

/// What both directions share: {rows, channels, plane} and the statistics.
template <class T>
class BatchNorm : public Kernel {
public:
    explicit BatchNorm(const KernelRequest& request)
        : m_request(request),
          m_epsilon(std::get<graph::NormAttributes>(request.attributes).epsilon),
          m_channels(request.inputs[0].shape[0]),
          m_plane(elementCount(request.inputs[0].shape) / m_channels),
          m_own(2 * static_cast<std::size_t>(m_channels) + 1) {
        const bool whole = request.phase == plan::Phase::Whole;
        TRAINYARD_CHECK_MSG(whole || request.statistics != nullptr, "phases without statistics");
        m_statistics = whole ? m_own.data() : request.statistics;
    }

    void run(const StepContext& context) override {
        if (m_request.direction != Direction::Inference) {
            if (m_request.phase != plan::Phase::Apply)
                collect();
            if (m_request.phase == plan::Phase::Collect)
                return;
        }
        apply(context);
    }

protected:
    virtual void collect() = 0;
    virtual void apply(const StepContext& context) = 0;

    /// Calls f(index of an element) for the elements of a channel.
    template <class Function>
    void forEach(std::int64_t channel, const Function& f) const {
        for (std::int64_t row = 0; row < m_request.rows; ++row) {
            const std::int64_t first = (row * m_channels + channel) * m_plane;
            for (std::int64_t i = first; i < first + m_plane; ++i)
                f(i);
        }
    }

    /// The first and the second of the two sums of each channel.
    double& firstSum(std::int64_t channel) const { return m_statistics[channel]; }
    double& secondSum(std::int64_t channel) const { return m_statistics[m_channels + channel]; }
    double& elements() const { return m_statistics[2 * m_channels]; }
    void countElements() { elements() = static_cast<double>(m_request.rows * m_plane); }

    T parameter(Parameter which, std::int64_t channel) const {
        return dataOf<T>(m_request.parameters[which])[channel];
    }

    KernelRequest m_request;
    double m_epsilon;
    std::int64_t m_channels, m_plane;

private:
    std::vector<double> m_own;
    double* m_statistics;
};

template <class T>
class BatchNormForward : public BatchNorm<T> {
public:
    using BatchNorm<T>::BatchNorm;

protected:
    void collect() override {
        const T* x = dataOf<T>(this->m_request.inputs[0]);
        this->countElements();
        for (std::int64_t c = 0; c < this->m_channels; ++c) {
            double sum = 0, squares = 0;
            this->forEach(c, [&](std::int64_t i) {
                const auto value = static_cast<double>(x[i]);
                sum += value;
                squares += value * value;
            });
            this->firstSum(c) = sum;
            this->secondSum(c) = squares;
        }
    }

    void apply(const StepContext&) override {
        if (this->m_request.rows == 0)
            return;
        for (std::int64_t c = 0; c < this->m_channels; ++c) {
            double mean = static_cast<double>(this->parameter(kRunningMean, c));
            double variance = static_cast<double>(this->parameter(kRunningVariance, c));
            if (this->m_request.direction == Direction::Forward) {
                mean = this->firstSum(c) / this->elements();
                variance = std::max(this->secondSum(c) / this->elements() - mean * mean, 0.0);
            }
            normalize(c, mean, 1 / std::sqrt(variance + this->m_epsilon));
        }
    }

private:
    void normalize(std::int64_t c, double mean, double inverse) {
        if (this->m_request.direction == Direction::Forward) {
            T* saved = static_cast<T*>(this->m_request.saved);
            saved[c] = static_cast<T>(mean);
            saved[this->m_channels + c] = static_cast<T>(inverse);
        }
        const T* x = dataOf<T>(this->m_request.inputs[0]);
        T* y = dataOf<T>(this->m_request.outputs[0]);
        const auto weight = static_cast<double>(this->parameter(kWeight, c));
        const auto bias = static_cast<double>(this->parameter(kBias, c));
        this->forEach(c, [&](std::int64_t i) {
            y[i] = static_cast<T>((static_cast<double>(x[i]) - mean) * inverse * weight + bias);
        });
    }
};

template <class T>
class BatchNormBackward : public BatchNorm<T> {
public:
    using BatchNorm<T>::BatchNorm;

protected:
    void collect() override {
        this->countElements();
        for (std::int64_t c = 0; c < this->m_channels; ++c) {
            const T* dy = dataOf<T>(this->m_request.outputGradients[0]);
            double sum = 0, product = 0;
            this->forEach(c, [&](std::int64_t i) {
                sum += static_cast<double>(dy[i]);
                product += static_cast<double>(dy[i]) * normalized(c, i);
            });
            this->firstSum(c) = sum;
            this->secondSum(c) = product;
            writeParameter(kBias, c, sum);
            writeParameter(kWeight, c, product);
        }
    }

    void apply(const StepContext& context) override {
        for (std::int64_t c = 0; c < this->m_channels; ++c) {
            handOverStatistics(context, c);
            if (this->m_request.rows > 0 && wantsInputGradient(this->m_request))
                writeInputGradient(c);
        }
    }

private:
    const T* saved() const { return static_cast<const T*>(this->m_request.saved); }
    double mean(std::int64_t c) const { return static_cast<double>(saved()[c]); }
    double inverse(std::int64_t c) const {
        return static_cast<double>(saved()[this->m_channels + c]);
    }
    double normalized(std::int64_t c, std::int64_t i) const {
        const auto x = static_cast<double>(dataOf<T>(this->m_request.inputs[0])[i]);
        return (x - mean(c)) * inverse(c);
    }

    void writeParameter(Parameter which, std::int64_t c, double value) {
        if (wantsParameterGradient(this->m_request, which))
            write(dataOf<T>(this->m_request.parameterGradients[which]) + c, 1,
                  addsToParameterGradient(this->m_request, which),
                  [&](std::int64_t) { return static_cast<T>(value); });
    }

    void handOverStatistics(const StepContext& context, std::int64_t c) {
        double batchMean = 0, variance = 0;
        if (this->m_request.rows > 0) {
            TRAINYARD_CHECK_MSG(context.globalRows > 0, describePair(context.globalRows, 0));
            const double share =
                static_cast<double>(this->m_request.rows) / static_cast<double>(context.globalRows);
            const double n = this->elements();
            const double deviation = 1 / inverse(c);
            variance = std::max(deviation * deviation - this->m_epsilon, 0.0);
            variance *= share * (n > 1 ? n / (n - 1) : 1.0);
            batchMean = share * mean(c);
        }
        writeParameter(kRunningMean, c, batchMean);
        writeParameter(kRunningVariance, c, variance);
    }

    void writeInputGradient(std::int64_t c) {
        const T* dy = dataOf<T>(this->m_request.outputGradients[0]);
        T* dx = dataOf<T>(this->m_request.inputGradients[0]);
        const double n = this->elements();
        const double scale = static_cast<double>(this->parameter(kWeight, c)) * inverse(c);
        this->forEach(c, [&](std::int64_t i) {
            const double centred = static_cast<double>(dy[i]) - this->firstSum(c) / n -
                                   normalized(c, i) * this->secondSum(c) / n;
            const T value = static_cast<T>(scale * centred);
            dx[i] = addsToInputGradient(this->m_request) ? dx[i] + value : value;
        });
    }
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeBatchNorm(const KernelRequest& request) {
    if (request.direction == Direction::Backward)
        return std::make_unique<BatchNormBackward<T>>(request);
    return std::make_unique<BatchNormForward<T>>(request);
}

template std::unique_ptr<Kernel> makeBatchNorm<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeBatchNorm<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
