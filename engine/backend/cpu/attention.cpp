// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention, head by head: heads of all rows are spread over the threads, and within a head queries
// come in blocks, so that scores stay in the cache and a causal head never computes what it masks.
// Forward leaves the probabilities. Query heads that share a key head are one thread's work, in
// order, so sums do not depend on the number of threads.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/attention_parts.h"
#include "engine/backend/cpu/fast_math.h"
#include "engine/backend/cpu/row_parts.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard::engine::cpu {

namespace {

constexpr std::int64_t kBlock = 64; ///< queries at once

/// scores = exp(scores - largest) / sum over the first `count`; zero from there to `width`.
TRAINYARD_MULTIVERSION
void softmaxRow(float* scores, std::int64_t count, std::int64_t width) {
    const float largest = largestOf(scores, count);
    Lanes lanes{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l) {
            float& score = scores[i + static_cast<std::int64_t>(l)];
            score = exponential(score - largest);
            lanes[l] += score;
        }
    for (; i < count; ++i) {
        scores[i] = exponential(scores[i] - largest);
        lanes[0] += scores[i];
    }
    const auto scale = static_cast<float>(1 / laneSum(lanes));
    for (i = 0; i < count; ++i)
        scores[i] *= scale;
    for (i = count; i < width; ++i)
        scores[i] = 0;
}

/// gradient = p * (gradient - sum of p * gradient) * scale: through softmax and scale.
TRAINYARD_MULTIVERSION
void softmaxGradientRow(const float* __restrict p, float* __restrict gradient, std::int64_t width,
                        float scale) {
    Lanes lanes{};
    std::int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes)
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l) {
            const std::int64_t k = i + static_cast<std::int64_t>(l);
            lanes[l] += p[k] * gradient[k];
        }
    for (; i < width; ++i)
        lanes[0] += p[i] * gradient[i];
    const auto dot = static_cast<float>(laneSum(lanes));
    for (i = 0; i < width; ++i)
        gradient[i] = p[i] * (gradient[i] - dot) * scale;
}

/// c {m, n} = alpha * a b, or += it with beta 1; 'T': that factor is transposed.
void product(char transposeA, char transposeB, std::int64_t m, std::int64_t n, std::int64_t k,
             float alpha, View a, View b, float beta, View c) {
    dnnl_sgemm(transposeA, transposeB, m, n, k, alpha, a.data, a.stride, b.data, b.stride, beta,
               c.data, c.stride);
}

void put(View from, View to, std::int64_t rows, std::int64_t width, bool add) {
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t i = 0; i < width; ++i) {
            float& target = to.data[row * to.stride + i];
            const float value = from.data[row * from.stride + i];
            target = add ? target + value : value;
        }
}

class Attention : public Kernel {
public:
    Attention(const KernelRequest& request, Workspace& workspace, std::int64_t scratchElements)
        : m_request(request), m_a(std::get<graph::AttentionAttributes>(request.attributes)),
          m_rows(request.rows), m_positions(request.inputs[0].shape[0]),
          m_width(request.inputs[0].shape[1]),
          m_scale(static_cast<float>(1 / std::sqrt(static_cast<double>(m_a.headSize)))),
          m_workspace(workspace),
          m_scratchElements((scratchElements + kLanes - 1) / kLanes * kLanes) {
        if (m_a.rotaryBase > 0)
            m_rotary = std::make_unique<Rotary>(m_a.rotaryBase, m_positions, m_a.headSize);
        m_workspace.reserve(static_cast<std::size_t>(m_scratchElements * teamSize()) *
                            sizeof(float));
    }

protected:
    float* scratch() const {
        return reinterpret_cast<float*>(m_workspace.data()) +
               m_scratchElements * static_cast<std::int64_t>(omp_get_thread_num());
    }

    /// Head `head` of queries, keys and values side by side: queries first, then keys, values.
    View headOf(float* qkv, std::int64_t row, std::int64_t head) const {
        return {qkv + row * m_positions * m_width + head * m_a.headSize, m_width};
    }
    View query(float* qkv, std::int64_t row, std::int64_t head) const {
        return headOf(qkv, row, head);
    }
    View key(float* qkv, std::int64_t row, std::int64_t kvHead) const {
        return headOf(qkv, row, m_a.heads + kvHead);
    }
    View value(float* qkv, std::int64_t row, std::int64_t kvHead) const {
        return headOf(qkv, row, m_a.heads + m_a.kvHeads + kvHead);
    }
    View output(float* y, std::int64_t row, std::int64_t head) const {
        const std::int64_t width = m_a.heads * m_a.headSize;
        return {y + row * m_positions * width + head * m_a.headSize, width};
    }
    View probabilities(std::int64_t row, std::int64_t head) const {
        return {static_cast<float*>(m_request.saved) +
                    (row * m_a.heads + head) * m_positions * m_positions,
                m_positions};
    }
    /// Keys that queries up to `lastQuery` (not included) see.
    std::int64_t keysFor(std::int64_t lastQuery) const {
        return m_a.causal ? lastQuery : m_positions;
    }
    /// As it lies, or turned into `place`.
    View turned(View from, float* place) const {
        if (!m_rotary)
            return from;
        const View to{place, m_a.headSize};
        m_rotary->turn(from, to, 0, m_positions, false);
        return to;
    }

    template <class Function>
    void forEach(std::int64_t heads, const Function& f) const {
        const std::int64_t parts = m_rows * heads;
        parallelFor(parts, 0, 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t part = first; part < last; ++part)
                f(part / heads, part % heads);
        });
    }

    KernelRequest m_request;
    graph::AttentionAttributes m_a;
    std::int64_t m_rows, m_positions, m_width;
    float m_scale;
    Workspace& m_workspace;
    std::int64_t m_scratchElements;
    std::unique_ptr<Rotary> m_rotary;
};

const graph::AttentionAttributes& attributesOf(const KernelRequest& request) {
    return std::get<graph::AttentionAttributes>(request.attributes);
}

class AttentionForward : public Attention {
public:
    AttentionForward(const KernelRequest& request, Workspace& workspace)
        : Attention(request, workspace,
                    request.inputs[0].shape[0] * (2 * attributesOf(request).headSize + kBlock)) {}

    void run(const StepContext&) override {
        forEach(m_a.heads, [this](std::int64_t row, std::int64_t head) { runHead(row, head); });
    }

private:
    void runHead(std::int64_t row, std::int64_t head) const {
        auto* qkv = dataOf<float>(m_request.inputs[0]);
        const std::int64_t kvHead = head / (m_a.heads / m_a.kvHeads);
        const std::int64_t size = m_a.headSize;
        float* place = scratch();
        const View q = turned(query(qkv, row, head), place);
        const View k = turned(key(qkv, row, kvHead), place + m_positions * size);
        const View v = value(qkv, row, kvHead);
        const View y = output(dataOf<float>(m_request.outputs[0]), row, head);
        const bool keep = m_request.direction == Direction::Forward;
        const View own{place + 2 * m_positions * size, m_positions};
        for (std::int64_t first = 0; first < m_positions; first += kBlock) {
            const std::int64_t queries = std::min(kBlock, m_positions - first);
            const std::int64_t keys = keysFor(first + queries);
            const View p = keep ? probabilities(row, head).from(first) : own;
            product('N', 'T', queries, keys, size, m_scale, q.from(first), k, 0, p);
            for (std::int64_t i = 0; i < queries; ++i)
                softmaxRow(p.from(i).data, keysFor(first + i + 1), keys);
            product('N', 'N', queries, size, keys, 1, p, v, 0, y.from(first));
        }
    }
};

class AttentionBackward : public Attention {
public:
    AttentionBackward(const KernelRequest& request, Workspace& workspace)
        : Attention(request, workspace,
                    request.inputs[0].shape[0] * (4 * attributesOf(request).headSize + kBlock) +
                        kBlock * attributesOf(request).headSize) {}

    void run(const StepContext&) override {
        forEach(m_a.kvHeads, [this](std::int64_t row, std::int64_t head) { runGroup(row, head); });
    }

private:
    /// Memory of a thread.
    struct Parts {
        float *query, *key; ///< turned
        View keyGradient, valueGradient;
        View scores;        ///< {kBlock, positions}
        View queryGradient; ///< {kBlock, head size}
    };

    Parts parts() const {
        const std::int64_t size = m_a.headSize, matrix = m_positions * size;
        float* p = scratch();
        return {.query = p,
                .key = p + matrix,
                .keyGradient = {p + 2 * matrix, size},
                .valueGradient = {p + 3 * matrix, size},
                .scores = {p + 4 * matrix, m_positions},
                .queryGradient = {p + 4 * matrix + kBlock * m_positions, size}};
    }

    void runGroup(std::int64_t row, std::int64_t kvHead) const {
        auto* qkv = dataOf<float>(m_request.inputs[0]);
        auto* gradient = dataOf<float>(m_request.inputGradients[0]);
        const Parts mine = parts();
        const std::int64_t matrix = m_positions * m_a.headSize;
        std::fill_n(mine.keyGradient.data, 2 * matrix, 0.0F);
        const View k = turned(key(qkv, row, kvHead), mine.key);
        const std::int64_t shared = m_a.heads / m_a.kvHeads;
        for (std::int64_t head = kvHead * shared; head < (kvHead + 1) * shared; ++head)
            runHead(row, head, k, value(qkv, row, kvHead), mine);
        if (m_rotary)
            m_rotary->turn(mine.keyGradient, mine.keyGradient, 0, m_positions, true);
        const bool add = addsToInputGradient(m_request);
        put(mine.keyGradient, key(gradient, row, kvHead), m_positions, m_a.headSize, add);
        put(mine.valueGradient, value(gradient, row, kvHead), m_positions, m_a.headSize, add);
    }

    void runHead(std::int64_t row, std::int64_t head, View k, View v, const Parts& mine) const {
        const std::int64_t size = m_a.headSize;
        const View q = turned(query(dataOf<float>(m_request.inputs[0]), row, head), mine.query);
        const View dy = output(dataOf<float>(m_request.outputGradients[0]), row, head);
        const View dq = query(dataOf<float>(m_request.inputGradients[0]), row, head);
        for (std::int64_t first = 0; first < m_positions; first += kBlock) {
            const std::int64_t queries = std::min(kBlock, m_positions - first);
            const std::int64_t keys = keysFor(first + queries);
            const View p = probabilities(row, head).from(first);
            product('T', 'N', keys, size, queries, 1, p, dy.from(first), 1, mine.valueGradient);
            product('N', 'T', queries, keys, size, 1, dy.from(first), v, 0, mine.scores);
            for (std::int64_t i = 0; i < queries; ++i)
                softmaxGradientRow(p.from(i).data, mine.scores.from(i).data, keys, m_scale);
            product('T', 'N', keys, size, queries, 1, mine.scores, q.from(first), 1,
                    mine.keyGradient);
            product('N', 'N', queries, size, keys, 1, mine.scores, k, 0, mine.queryGradient);
            if (m_rotary)
                m_rotary->turn(mine.queryGradient, mine.queryGradient, first, queries, true);
            put(mine.queryGradient, dq.from(first), queries, size, addsToInputGradient(m_request));
        }
    }
};

} // namespace

std::unique_ptr<Kernel> makeAttention(const KernelRequest& request, Context& context) {
    if (request.direction == Direction::Backward)
        return std::make_unique<AttentionBackward>(request, context.workspace);
    return std::make_unique<AttentionForward>(request, context.workspace);
}

} // namespace trainyard::engine::cpu
