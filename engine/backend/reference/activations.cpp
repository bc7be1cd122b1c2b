// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions of single elements, y = f(x) and dx = f'(x) dy, and softmax over the last extent.
// relu: max(x, 0); a NaN stays a NaN, so that divergence is seen.
// gelu: x Phi(x), or 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), Hendrycks and Gimpel, 2016.
// silu: x sigmoid(x). tanh, sigmoid: as they are called.
// softmax: y = exp(x - max x) / sum of these,  dx = y (dy - sum of y dy).
// All but softmax may run in place: element i is read before it is written, and not after.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainyard::engine::reference {

namespace {

using std::numbers::inv_sqrtpi_v;
using std::numbers::sqrt2_v;

template <class T>
T sigmoid(T x) {
    return 1 / (1 + std::exp(-x));
}

// Rules. `seen` is what the traits of the kind let backward read: the output or the input.

struct ReluRule {
    template <class T>
    static T value(T x) {
        return x <= 0 ? T{0} : x;
    }
    template <class T>
    static T gradient(T output, T dy) {
        return output <= 0 ? T{0} : dy;
    }
};

struct GeluRule {
    template <class T>
    static T below(T x) { ///< share of the normal distribution below x
        return std::erfc(-x / sqrt2_v<T>) / 2;
    }
    template <class T>
    static T value(T x) {
        return x * below(x);
    }
    template <class T>
    static T gradient(T input, T dy) {
        const T density = inv_sqrtpi_v<T> / sqrt2_v<T> * std::exp(-input * input / 2);
        return (below(input) + input * density) * dy;
    }
};

struct TanhGeluRule {
    template <class T>
    static constexpr T kCubic = static_cast<T>(0.044715);
    template <class T>
    static constexpr T kScale = inv_sqrtpi_v<T> * sqrt2_v<T>;

    template <class T>
    static T curve(T x) {
        return std::tanh(kScale<T> * (x + kCubic<T> * x * x * x));
    }
    template <class T>
    static T value(T x) {
        return x * (1 + curve(x)) / 2;
    }
    template <class T>
    static T gradient(T input, T dy) {
        const T y = curve(input);
        const T slope = kScale<T> * (1 + 3 * kCubic<T> * input * input);
        return ((1 + y) / 2 + input / 2 * (1 - y * y) * slope) * dy;
    }
};

struct SiluRule {
    template <class T>
    static T value(T x) {
        return x * sigmoid(x);
    }
    template <class T>
    static T gradient(T input, T dy) {
        const T y = sigmoid(input);
        return y * (1 + input * (1 - y)) * dy;
    }
};

struct TanhRule {
    template <class T>
    static T value(T x) {
        return std::tanh(x);
    }
    template <class T>
    static T gradient(T output, T dy) {
        return (1 - output * output) * dy;
    }
};

struct SigmoidRule {
    template <class T>
    static T value(T x) {
        return sigmoid(x);
    }
    template <class T>
    static T gradient(T output, T dy) {
        return output * (1 - output) * dy;
    }
};

template <class T, class Rule>
class Activation : public Kernel {
public:
    explicit Activation(const KernelRequest& request)
        : m_request(request), m_count(storedElements(request.inputs[0], request.rows)) {}

    void run(const StepContext&) override {
        if (m_request.direction != Direction::Backward) {
            const T* x = dataOf<T>(m_request.inputs[0]);
            write(dataOf<T>(m_request.outputs[0]), m_count, false,
                  [&](std::int64_t i) { return Rule::value(x[i]); });
        } else if (wantsInputGradient(m_request)) {
            const bool output = graph::traits(m_request.kind).readsOutput;
            const T* seen = dataOf<T>(output ? m_request.outputs[0] : m_request.inputs[0]);
            const T* dy = dataOf<T>(m_request.outputGradients[0]);
            write(dataOf<T>(m_request.inputGradients[0]), m_count, addsToInputGradient(m_request),
                  [&](std::int64_t i) { return Rule::gradient(seen[i], dy[i]); });
        }
    }

private:
    KernelRequest m_request;
    std::int64_t m_count;
};

template <class T>
class Softmax : public Kernel {
public:
    explicit Softmax(const KernelRequest& request)
        : m_request(request), m_extent(request.inputs[0].shape.back()),
          m_rows(featureRows(request)) {}

    void run(const StepContext&) override {
        if (m_request.direction != Direction::Backward)
            forward();
        else if (wantsInputGradient(m_request))
            backward();
    }

private:
    void forward() {
        const T* x = dataOf<T>(m_request.inputs[0]);
        T* y = dataOf<T>(m_request.outputs[0]);
        for (std::int64_t row = 0; row < m_rows; ++row, x += m_extent, y += m_extent) {
            const T largest = *std::max_element(x, x + m_extent);
            T sum = 0;
            for (std::int64_t i = 0; i < m_extent; ++i)
                sum += y[i] = std::exp(x[i] - largest);
            for (std::int64_t i = 0; i < m_extent; ++i)
                y[i] /= sum;
        }
    }

    void backward() {
        const T* y = dataOf<T>(m_request.outputs[0]);
        const T* dy = dataOf<T>(m_request.outputGradients[0]);
        T* dx = dataOf<T>(m_request.inputGradients[0]);
        for (std::int64_t row = 0; row < m_rows; ++row) {
            T sum = 0;
            for (std::int64_t i = 0; i < m_extent; ++i)
                sum += y[i] * dy[i];
            write(dx, m_extent, addsToInputGradient(m_request),
                  [&](std::int64_t i) { return y[i] * (dy[i] - sum); });
            y += m_extent, dy += m_extent, dx += m_extent;
        }
    }

    KernelRequest m_request;
    std::int64_t m_extent, m_rows;
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeRelu(const KernelRequest& request) {
    return std::make_unique<Activation<T, ReluRule>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeGelu(const KernelRequest& request) {
    if (std::get<graph::GeluAttributes>(request.attributes).tanh)
        return std::make_unique<Activation<T, TanhGeluRule>>(request);
    return std::make_unique<Activation<T, GeluRule>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeSilu(const KernelRequest& request) {
    return std::make_unique<Activation<T, SiluRule>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeTanh(const KernelRequest& request) {
    return std::make_unique<Activation<T, TanhRule>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeSigmoid(const KernelRequest& request) {
    return std::make_unique<Activation<T, SigmoidRule>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeSoftmax(const KernelRequest& request) {
    return std::make_unique<Softmax<T>>(request);
}

template std::unique_ptr<Kernel> makeRelu<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeRelu<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeGelu<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeGelu<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeSilu<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeSilu<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeTanh<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeTanh<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeSigmoid<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeSigmoid<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeSoftmax<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeSoftmax<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
