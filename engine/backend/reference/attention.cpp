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
#include "engine/backend/reference/matrix.h"

#include <cmath>

namespace trainyard::engine::reference {

namespace {

template <class T>
using Owned = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Columns of a wider matrix.
template <class T>
using Slice = Eigen::Map<Owned<T>, 0, Eigen::OuterStride<>>;

template <class T>
class Attention : public Kernel {
public:
    explicit Attention(const KernelRequest& request)
        : m_request(request), m_a(std::get<graph::AttentionAttributes>(request.attributes)),
          m_positions(request.inputs[0].shape[0]), m_width(request.inputs[0].shape[1]),
          m_scale(1 / std::sqrt(static_cast<T>(m_a.headSize))), m_q(m_positions, m_a.headSize),
          m_k(m_positions, m_a.headSize), m_scores(m_positions, m_positions),
          m_cosine(m_positions, m_a.headSize / 2), m_sine(m_positions, m_a.headSize / 2) {
        for (std::int64_t t = 0; t < m_positions && m_a.rotaryBase > 0; ++t)
            for (std::int64_t i = 0; i < m_a.headSize / 2; ++i) {
                const double exponent =
                    -2.0 * static_cast<double>(i) / static_cast<double>(m_a.headSize);
                const double angle = static_cast<double>(t) * std::pow(m_a.rotaryBase, exponent);
                m_cosine(t, i) = static_cast<T>(std::cos(angle));
                m_sine(t, i) = static_cast<T>(std::sin(angle));
            }
        if (request.direction == Direction::Backward)
            m_gradient.resize(m_positions, m_width);
    }

    void run(const StepContext&) override {
        const bool backward = m_request.direction == Direction::Backward;
        if (backward && !wantsInputGradient(m_request))
            return;
        for (std::int64_t row = 0; row < m_request.rows; ++row) {
            m_gradient.setZero();
            for (std::int64_t head = 0; head < m_a.heads; ++head) {
                T* x = dataOf<T>(m_request.inputs[0]) + row * m_positions * m_width;
                m_q = queries(x, head);
                m_k = keys(x, head);
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
    Slice<T> columns(T* row, std::int64_t head) const {
        return {row + head * m_a.headSize, m_positions, m_a.headSize,
                Eigen::OuterStride<>(m_width)};
    }
    /// Of a query head, in the input or in its gradient.
    Slice<T> queries(T* x, std::int64_t head) const { return columns(x, head); }
    Slice<T> keys(T* x, std::int64_t head) const {
        return columns(x, m_a.heads + head / (m_a.heads / m_a.kvHeads));
    }
    Slice<T> values(T* x, std::int64_t head) const {
        return columns(x, m_a.heads + m_a.kvHeads + head / (m_a.heads / m_a.kvHeads));
    }
    /// Of the output or its gradient.
    Slice<T> results(const Operand& operand, std::int64_t row, std::int64_t head) const {
        const std::int64_t width = m_a.heads * m_a.headSize;
        return {dataOf<T>(operand) + row * m_positions * width + head * m_a.headSize, m_positions,
                m_a.headSize, Eigen::OuterStride<>(width)};
    }
    Matrix<T> saved(std::int64_t row, std::int64_t head) const {
        const std::int64_t elements = m_positions * m_positions;
        return {static_cast<T*>(m_request.saved) + (row * m_a.heads + head) * elements, m_positions,
                m_positions};
    }

    /// By the rotary angle of each position, or back.
    void turn(Owned<T>& heads, T direction) const {
        const std::int64_t half = m_a.headSize / 2;
        for (std::int64_t t = 0; t < m_positions && m_a.rotaryBase > 0; ++t)
            for (std::int64_t i = 0; i < half; ++i) {
                const T a = heads(t, i), b = heads(t, i + half);
                const T sine = direction * m_sine(t, i);
                heads(t, i) = a * m_cosine(t, i) - b * sine;
                heads(t, i + half) = a * sine + b * m_cosine(t, i);
            }
    }

    void attend(std::int64_t row, std::int64_t head, T* x) {
        m_scores.noalias() = m_q * m_k.transpose();
        for (std::int64_t t = 0; t < m_positions; ++t) {
            const std::int64_t seen = m_a.causal ? t + 1 : m_positions;
            auto scores = m_scores.row(t).head(seen);
            const T largest = scores.maxCoeff();
            scores = ((scores.array() - largest) * m_scale).exp();
            scores /= scores.sum();
            m_scores.row(t).tail(m_positions - seen).setZero();
        }
        if (m_request.direction == Direction::Forward)
            saved(row, head) = m_scores;
        results(m_request.outputs[0], row, head).noalias() = m_scores * values(x, head);
    }

    void addGradients(std::int64_t row, std::int64_t head, T* x) {
        const Matrix<T> p = saved(row, head);
        const Slice<T> dy = results(m_request.outputGradients[0], row, head);
        T* gradient = m_gradient.data();
        values(gradient, head).noalias() += p.transpose() * dy;
        m_scores.noalias() = dy * values(x, head).transpose();
        for (std::int64_t t = 0; t < m_positions; ++t) {
            const T sum = p.row(t).dot(m_scores.row(t));
            m_scores.row(t) = p.row(t).array() * (m_scores.row(t).array() - sum) * m_scale;
        }
        m_turned.noalias() = m_scores * m_k;
        turn(m_turned, -1);
        queries(gradient, head) += m_turned;
        m_turned.noalias() = m_scores.transpose() * m_q;
        turn(m_turned, -1);
        keys(gradient, head) += m_turned;
    }

    void writeGradient(std::int64_t row) {
        const std::int64_t elements = m_positions * m_width;
        const T* gradient = m_gradient.data();
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
