// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention (Vaswani et al., 2017). A row of the input holds, for each position, the queries of all
// heads, then the keys, then the values of the key heads; query heads share key heads in order (the
// first heads / kvHeads the first one). For each head, with q and k turned by rotary positions:
// P = softmax(q k' / sqrt(headSize)), causal: over positions up to the own one;  y = P v.
// dv = P' dy,  dP = dy v',  dS = P (dP - row sums of P dP),  dq = dS k / sqrt(headSize),
// dk = dS' q / sqrt(headSize), both turned back; heads that share keys add up.
// Forward leaves P as {rows, heads, T, T}.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"
#include "engine/backend/reference/product.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace trainyard::engine::reference {

namespace {

/// A matrix with memory of its own.
template <class T>
class Owned : public Matrix<T> {
public:
    Owned(std::int64_t height, std::int64_t width) : Matrix<T>(nullptr, height, width) {
        m_elements.resize(static_cast<std::size_t>(height * width));
        this->data = m_elements.data();
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

private:
    std::vector<T> m_elements;
};

/// target = source, or added to it.
template <class T>
void copy(const Matrix<T>& target, const Matrix<T>& source, bool add = false) {
    for (std::int64_t r = 0; r < source.rows; ++r)
        write(target.row(r), source.columns, add, [&](std::int64_t i) { return source.row(r)[i]; });
}

template <class T>
class Attention : public Kernel {
public:
    explicit Attention(const KernelRequest& request)
        : m_request(request), m_a(std::get<graph::AttentionAttributes>(request.attributes)),
          m_positions(request.inputs[0].shape[0]), m_width(request.inputs[0].shape[1]),
          m_scale(1 / std::sqrt(static_cast<T>(m_a.headSize))), m_q(m_positions, m_a.headSize),
          m_k(m_positions, m_a.headSize), m_scores(m_positions, m_positions),
          m_cosine(m_positions, m_a.headSize / 2), m_sine(m_positions, m_a.headSize / 2),
          m_gradient(request.direction == Direction::Backward ? m_positions : 0, m_width),
          m_turned(m_positions, m_a.headSize) {
        for (std::int64_t t = 0; t < m_positions && m_a.rotaryBase > 0; ++t)
            for (std::int64_t i = 0; i < m_a.headSize / 2; ++i) {
                const double exponent =
                    -2.0 * static_cast<double>(i) / static_cast<double>(m_a.headSize);
                const double angle = static_cast<double>(t) * std::pow(m_a.rotaryBase, exponent);
                m_cosine.row(t)[i] = static_cast<T>(std::cos(angle));
                m_sine.row(t)[i] = static_cast<T>(std::sin(angle));
            }
    }

    void run(const StepContext&) override {
        const bool backward = m_request.direction == Direction::Backward;
        if (backward && !wantsInputGradient(m_request))
            return;
        for (std::int64_t row = 0; row < m_request.rows; ++row) {
            std::fill_n(m_gradient.data, m_gradient.rows * m_gradient.columns, T{0});
            for (std::int64_t head = 0; head < m_a.heads; ++head) {
                T* x = dataOf<T>(m_request.inputs[0]) + row * m_positions * m_width;
                copy(m_q, queries(x, head));
                copy(m_k, keys(x, head));
                turn(m_q, 1);
                turn(m_k, 1);
                if (backward)
                    addGradients(row, head, x);
                else
                    attend(row, head, x);
            }
            if (backward)
                writeGradient(row);
        }
    }

private:
    Matrix<T> columns(T* row, std::int64_t head) const {
        return {row + head * m_a.headSize, m_positions, m_a.headSize, m_width};
    }
    /// Of a query head, in the input or in its gradient.
    Matrix<T> queries(T* x, std::int64_t head) const { return columns(x, head); }
    Matrix<T> keys(T* x, std::int64_t head) const {
        return columns(x, m_a.heads + head / (m_a.heads / m_a.kvHeads));
    }
    Matrix<T> values(T* x, std::int64_t head) const {
        return columns(x, m_a.heads + m_a.kvHeads + head / (m_a.heads / m_a.kvHeads));
    }
    /// Of the output or its gradient.
    Matrix<T> results(const Operand& operand, std::int64_t row, std::int64_t head) const {
        const std::int64_t width = m_a.heads * m_a.headSize;
        return {dataOf<T>(operand) + row * m_positions * width + head * m_a.headSize, m_positions,
                m_a.headSize, width};
    }
    Matrix<T> saved(std::int64_t row, std::int64_t head) const {
        const std::int64_t elements = m_positions * m_positions;
        return {static_cast<T*>(m_request.saved) + (row * m_a.heads + head) * elements, m_positions,
                m_positions};
    }

    /// By the rotary angle of each position, or back.
    void turn(const Matrix<T>& heads, T direction) const {
        const std::int64_t half = m_a.headSize / 2;
        for (std::int64_t t = 0; t < m_positions && m_a.rotaryBase > 0; ++t)
            for (std::int64_t i = 0; i < half; ++i) {
                T* head = heads.row(t);
                const T a = head[i], b = head[i + half];
                const T sine = direction * m_sine.row(t)[i];
                head[i] = a * m_cosine.row(t)[i] - b * sine;
                head[i + half] = a * sine + b * m_cosine.row(t)[i];
            }
    }

    void attend(std::int64_t row, std::int64_t head, T* x) {
        assignProduct(m_scores, m_q, transposed(m_k));
        for (std::int64_t t = 0; t < m_positions; ++t) {
            const std::int64_t seen = m_a.causal ? t + 1 : m_positions;
            T* scores = m_scores.row(t);
            const T largest = *std::max_element(scores, scores + seen);
            for (std::int64_t i = 0; i < seen; ++i)
                scores[i] = std::exp((scores[i] - largest) * m_scale);
            const T sum = std::accumulate(scores, scores + seen, T{0});
            for (std::int64_t i = 0; i < seen; ++i)
                scores[i] /= sum;
            std::fill(scores + seen, scores + m_positions, T{0});
        }
        if (m_request.direction == Direction::Forward)
            copy(saved(row, head), m_scores);
        assignProduct(results(m_request.outputs[0], row, head), m_scores, values(x, head));
    }

    void addGradients(std::int64_t row, std::int64_t head, T* x) {
        const Matrix<T> probabilities = saved(row, head);
        const Matrix<T> dy = results(m_request.outputGradients[0], row, head);
        T* gradient = m_gradient.data;
        addProduct(values(gradient, head), transposed(probabilities), dy);
        assignProduct(m_scores, dy, transposed(values(x, head)));
        for (std::int64_t t = 0; t < m_positions; ++t) {
            const T* p = probabilities.row(t);
            T* scores = m_scores.row(t);
            const T sum = std::inner_product(p, p + m_positions, scores, T{0});
            for (std::int64_t i = 0; i < m_positions; ++i)
                scores[i] = p[i] * (scores[i] - sum) * m_scale;
        }
        assignProduct(m_turned, m_scores, m_k);
        turn(m_turned, -1);
        copy(queries(gradient, head), m_turned, true);
        assignProduct(m_turned, transposed(m_scores), m_q);
        turn(m_turned, -1);
        copy(keys(gradient, head), m_turned, true);
    }

    void writeGradient(std::int64_t row) {
        const std::int64_t elements = m_positions * m_width;
        const T* gradient = m_gradient.data;
        write(dataOf<T>(m_request.inputGradients[0]) + row * elements, elements,
              addsToInputGradient(m_request), [&](std::int64_t i) { return gradient[i]; });
    }

    KernelRequest m_request;
    graph::AttentionAttributes m_a;
    std::int64_t m_positions, m_width; ///< T; queries, keys and values of a position
    T m_scale;
    Owned<T> m_q, m_k;         ///< of one head, turned
    Owned<T> m_scores;         ///< of one head: probabilities, or gradients of scores
    Owned<T> m_cosine, m_sine; ///< by position and pair
    Owned<T> m_gradient;       ///< of one row of the input
    Owned<T> m_turned;
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeAttention(const KernelRequest& request) {
    return std::make_unique<Attention<T>>(request);
}

template std::unique_ptr<Kernel> makeAttention<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeAttention<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
