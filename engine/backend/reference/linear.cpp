// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// y = x W' + b with x {rows, in}, W {out, in}, b {out}.
// dx = dy W,  dW = dy' x,  db = sum over rows of dy.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"
#include "engine/backend/reference/product.h"

#include <algorithm>

namespace trainyard::engine::reference {

template <class T>
ParameterGradients<T> parameterGradients(const KernelRequest& request) {
    ParameterGradients<T> gradients;
    if (wantsParameterGradient(request, 0))
        gradients.weight = dataOf<T>(request.parameterGradients[0]);
    if (wantsParameterGradient(request, 1))
        gradients.bias = dataOf<T>(request.parameterGradients[1]);
    return gradients;
}

template ParameterGradients<double> parameterGradients<double>(const KernelRequest&);
template ParameterGradients<float> parameterGradients<float>(const KernelRequest&);

template <class T>
void startGradient(T* gradient, std::int64_t count, bool add) {
    if (gradient && !add)
        std::fill_n(gradient, count, T{0});
}

template void startGradient<double>(double*, std::int64_t, bool);
template void startGradient<float>(float*, std::int64_t, bool);

namespace {

template <class T>
class LinearForward : public Kernel {
public:
    explicit LinearForward(const KernelRequest& request)
        : m_request(request), m_attributes(std::get<graph::LinearAttributes>(request.attributes)) {}

    void run(const StepContext&) override {
        const auto [in, out, hasBias] = m_attributes;
        const std::int64_t rows = featureRows(m_request);
        const Matrix<T> x(dataOf<T>(m_request.inputs[0]), rows, in);
        const Matrix<T> weight(dataOf<T>(m_request.parameters[0]), out, in);
        const Matrix<T> y(dataOf<T>(m_request.outputs[0]), rows, out);
        assignProduct(y, x, transposed(weight));
        if (!hasBias)
            return;
        const T* bias = dataOf<T>(m_request.parameters[1]);
        for (std::int64_t row = 0; row < rows; ++row)
            write(y.row(row), out, true, [&](std::int64_t i) { return bias[i]; });
    }

private:
    KernelRequest m_request;
    graph::LinearAttributes m_attributes;
};

template <class T>
class LinearBackward : public Kernel {
public:
    explicit LinearBackward(const KernelRequest& request)
        : m_request(request), m_attributes(std::get<graph::LinearAttributes>(request.attributes)),
          m_gradients(parameterGradients<T>(request)) {}

    void run(const StepContext&) override {
        const auto [in, out, hasBias] = m_attributes;
        const std::int64_t rows = featureRows(m_request);
        const Matrix<T> dy(dataOf<T>(m_request.outputGradients[0]), rows, out);
        startGradient(m_gradients.weight, out * in, addsToParameterGradient(m_request, 0));
        startGradient(m_gradients.bias, out, addsToParameterGradient(m_request, 1));
        if (rows == 0)
            return;
        if (m_gradients.weight) {
            const Matrix<T> x(dataOf<T>(m_request.inputs[0]), rows, in);
            addProduct(Matrix<T>(m_gradients.weight, out, in), transposed(dy), x);
        }
        for (std::int64_t row = 0; row < rows && m_gradients.bias; ++row)
            write(m_gradients.bias, out, true, [&](std::int64_t i) { return dy.row(row)[i]; });
        if (!wantsInputGradient(m_request))
            return;
        T* inputGradient = dataOf<T>(m_request.inputGradients[0]);
        startGradient(inputGradient, rows * in, addsToInputGradient(m_request));
        const Matrix<T> weight(dataOf<T>(m_request.parameters[0]), out, in);
        addProduct(Matrix<T>(inputGradient, rows, in), dy, weight);
    }

private:
    KernelRequest m_request;
    graph::LinearAttributes m_attributes;
    ParameterGradients<T> m_gradients;
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeLinear(const KernelRequest& request) {
    if (request.direction == Direction::Backward)
        return std::make_unique<LinearBackward<T>>(request);
    return std::make_unique<LinearForward<T>>(request);
}

template std::unique_ptr<Kernel> makeLinear<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeLinear<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
