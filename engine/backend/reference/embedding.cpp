// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// embedding: y[t] = weight[index[t]], dweight[index[t]] += dy[t]. The input is Int32 and has no
// gradient. Of a partial table only the rows from `first` on are here.
// position_embedding: y = x + weight in each row, dx = dy, dweight = sum over rows of dy. Backward
// may run in place: weights first, since dx may lie on dy.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"
#include "engine/base/check.h"

#include <algorithm>

namespace trainyard::engine::reference {

namespace {

template <class T>
class Embedding : public Kernel {
public:
    explicit Embedding(const KernelRequest& request)
        : m_request(request), m_table(std::get<graph::EmbeddingAttributes>(request.attributes)),
          m_positions(request.rows * elementCount(request.inputs[0].shape)) {}

    void run(const StepContext&) override {
        if (m_request.direction != Direction::Backward)
            forward();
        else if (wantsParameterGradient(m_request, 0))
            backward();
    }

private:
    /// Row of the weight; -1: another rank has it.
    std::int64_t rowAt(std::int64_t position) const {
        const std::int64_t row =
            dataOf<std::int32_t>(m_request.inputs[0])[position] - m_table.first;
        const bool inside = row >= 0 && row < m_table.vocabulary;
        TRAINYARD_CHECK_MSG(inside || m_table.partial, describePair(row, m_table.vocabulary));
        return inside ? row : -1;
    }

    void forward() {
        const T* weight = dataOf<T>(m_request.parameters[0]);
        T* y = dataOf<T>(m_request.outputs[0]);
        for (std::int64_t t = 0; t < m_positions; ++t, y += m_table.features) {
            if (const std::int64_t row = rowAt(t); row >= 0)
                std::copy_n(weight + row * m_table.features, m_table.features, y);
            else
                std::fill_n(y, m_table.features, T{0});
        }
    }

    void backward() {
        T* gradient = dataOf<T>(m_request.parameterGradients[0]);
        startGradient(gradient, m_table.vocabulary * m_table.features,
                      addsToParameterGradient(m_request, 0));
        const T* dy = dataOf<T>(m_request.outputGradients[0]);
        for (std::int64_t t = 0; t < m_positions; ++t, dy += m_table.features)
            if (const std::int64_t row = rowAt(t); row >= 0)
                write(gradient + row * m_table.features, m_table.features, true,
                      [&](std::int64_t i) { return dy[i]; });
    }

    KernelRequest m_request;
    graph::EmbeddingAttributes m_table;
    std::int64_t m_positions;
};

template <class T>
class PositionEmbedding : public Kernel {
public:
    explicit PositionEmbedding(const KernelRequest& request)
        : m_request(request), m_elements(elementCount(request.inputs[0].shape)) {}

    void run(const StepContext&) override {
        if (m_request.direction != Direction::Backward)
            forward();
        else
            backward();
    }

private:
    void forward() {
        const T* weight = dataOf<T>(m_request.parameters[0]);
        for (std::int64_t row = 0; row < m_request.rows; ++row) {
            const T* x = dataOf<T>(m_request.inputs[0]) + row * m_elements;
            write(dataOf<T>(m_request.outputs[0]) + row * m_elements, m_elements, false,
                  [&](std::int64_t i) { return x[i] + weight[i]; });
        }
    }

    void backward() {
        const T* dy = dataOf<T>(m_request.outputGradients[0]);
        if (wantsParameterGradient(m_request, 0)) {
            T* gradient = dataOf<T>(m_request.parameterGradients[0]);
            startGradient(gradient, m_elements, addsToParameterGradient(m_request, 0));
            for (std::int64_t row = 0; row < m_request.rows; ++row)
                write(gradient, m_elements, true,
                      [&](std::int64_t i) { return dy[row * m_elements + i]; });
        }
        if (wantsInputGradient(m_request))
            write(dataOf<T>(m_request.inputGradients[0]), m_request.rows * m_elements,
                  addsToInputGradient(m_request), [&](std::int64_t i) { return dy[i]; });
    }

    KernelRequest m_request;
    std::int64_t m_elements;
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeEmbedding(const KernelRequest& request) {
    return std::make_unique<Embedding<T>>(request);
}

template <class T>
std::unique_ptr<Kernel> makePositionEmbedding(const KernelRequest& request) {
    return std::make_unique<PositionEmbedding<T>>(request);
}

template std::unique_ptr<Kernel> makeEmbedding<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeEmbedding<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makePositionEmbedding<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makePositionEmbedding<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
