// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Embeddings of indices and of positions.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/check.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>

namespace trainyard::engine::cpu {

namespace {

TRAINYARD_MULTIVERSION
void addRange(const float* __restrict from, float* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] += from[i];
}

TRAINYARD_MULTIVERSION
void addRange(const Bf16* __restrict from, float* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] += widened(from[i]);
}

/// y = x + position
TRAINYARD_MULTIVERSION
void addPosition(const Bf16* x, const float* position, Bf16* y, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
        y[i] = narrowed(widened(x[i]) + position[i]);
}

TRAINYARD_MULTIVERSION
void addPosition(const float* x, const float* position, float* y, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
        y[i] = x[i] + position[i];
}

template <class T>
class Embedding : public Kernel {
public:
    explicit Embedding(const KernelRequest& request)
        : m_request(request),
          m_attributes(std::get<graph::EmbeddingAttributes>(request.attributes)),
          m_indices(static_cast<const std::int32_t*>(request.inputs[0].data)),
          m_count(request.rows * elementCount(request.inputs[0].shape)) {}

    void run(const StepContext&) override {
        if (m_request.direction == Direction::Backward) {
            addGradients();
            return;
        }
        const T* weight = dataOf<T>(m_request.parameters[0]);
        T* y = dataOf<T>(m_request.outputs[0]);
        const std::int64_t width = m_attributes.features;
        for (std::int64_t i = 0; i < m_count; ++i) {
            const std::int64_t row = rowAt(i);
            TRAINYARD_CHECK_MSG(row >= 0 || m_attributes.partial,
                                describePair(m_indices[i], m_attributes.vocabulary));
            if (row >= 0)
                std::copy_n(weight + row * width, width, y + i * width);
            else
                std::fill_n(y + i * width, width, T{});
        }
    }

private:
    /// Of the weight; -1: it is not here.
    std::int64_t rowAt(std::int64_t i) const {
        const std::int64_t row = m_indices[i] - m_attributes.first;
        return row >= 0 && row < m_attributes.vocabulary ? row : -1;
    }

    /// In the order of the positions, so that sums are the same every time; threads share columns.
    void addGradients() {
        if (!wantsParameterGradient(m_request, 0))
            return;
        float* gradient = dataOf<float>(m_request.parameterGradients[0]);
        const T* dy = dataOf<T>(m_request.outputGradients[0]);
        const std::int64_t width = m_attributes.features;
        if (!addsToParameterGradient(m_request, 0))
            std::fill_n(gradient, m_attributes.vocabulary * width, 0.0F);
        parallelFor(width, m_count * width < kGrain ? width + 1 : 0, kLine,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t i = 0; i < m_count; ++i)
                            if (const std::int64_t row = rowAt(i); row >= 0)
                                addRange(dy + i * width + first, gradient + row * width + first,
                                         last - first);
                    });
    }

    KernelRequest m_request;
    graph::EmbeddingAttributes m_attributes;
    const std::int32_t* m_indices;
    std::int64_t m_count;
};

template <class T>
class PositionEmbedding : public Kernel {
public:
    explicit PositionEmbedding(const KernelRequest& request)
        : m_request(request), m_elements(elementCount(request.inputs[0].shape)) {}

    void run(const StepContext&) override {
        if (m_request.direction == Direction::Backward)
            writeGradients();
        else
            addPositions();
    }

private:
    void addPositions() {
        const T* x = dataOf<T>(m_request.inputs[0]);
        T* y = dataOf<T>(m_request.outputs[0]);
        parallelFor(m_request.rows, m_request.rows * m_elements < kGrain ? m_request.rows + 1 : 0,
                    1, [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t row = first; row < last; ++row)
                            addPosition(x + row * m_elements,
                                        dataOf<float>(m_request.parameters[0]),
                                        y + row * m_elements, m_elements);
                    });
    }

    void writeGradients() {
        const T* dy = dataOf<T>(m_request.outputGradients[0]);
        if (wantsParameterGradient(m_request, 0))
            sumOfRows(dy, m_request.rows, m_elements,
                      dataOf<float>(m_request.parameterGradients[0]),
                      addsToParameterGradient(m_request, 0));
        if (wantsInputGradient(m_request))
            copy(dy, dataOf<T>(m_request.inputGradients[0]), m_request.rows * m_elements,
                 addsToInputGradient(m_request));
    }

    KernelRequest m_request;
    std::int64_t m_elements;
};

} // namespace

std::unique_ptr<Kernel> makeEmbedding(const KernelRequest& request) {
    if (request.type == DType::Bf16)
        return std::make_unique<Embedding<Bf16>>(request);
    return std::make_unique<Embedding<float>>(request);
}

std::unique_ptr<Kernel> makePositionEmbedding(const KernelRequest& request) {
    if (request.type == DType::Bf16)
        return std::make_unique<PositionEmbedding<Bf16>>(request);
    return std::make_unique<PositionEmbedding<float>>(request);
}

} // namespace trainyard::engine::cpu
