// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention in bf16: the heads of a few samples at a time are laid side by side and multiplied by
// oneDNN, because its kernels for matrix units want whole matrices; a few, so that their scores in
// fp32 stay in the cache. Softmax is computed in fp32; forward leaves the probabilities in bf16.
// What a causal head masks is computed and zeroed: that costs less than products cut into blocks.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/attention_parts.h"
#include "engine/backend/cpu/fast_math.h"
#include "engine/backend/cpu/loops.h"
#include "engine/backend/cpu/row_parts.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

namespace trainyard::engine::cpu {

namespace {

using dnnl::memory;

constexpr std::int64_t kScoresAtOnce = 1 << 18; ///< 1 MiB in fp32
constexpr auto kFloat = memory::data_type::f32;
constexpr auto kHalf = memory::data_type::bf16;

/// p = softmax(scores * scale) over the first `count`; zero from there to `width`. The scores are
/// overwritten.
TRAINYARD_MULTIVERSION
void softmaxRow(float* __restrict scores, float scale, std::int64_t count, std::int64_t width,
                Bf16* __restrict p) {
    const float largest = largestOf(scores, count);
    Lanes lanes{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l) {
            float& score = scores[i + static_cast<std::int64_t>(l)];
            score = exponential((score - largest) * scale);
            lanes[l] += score;
        }
    for (; i < count; ++i) {
        scores[i] = exponential((scores[i] - largest) * scale);
        lanes[0] += scores[i];
    }
    const auto share = static_cast<float>(1 / laneSum(lanes));
    for (i = 0; i < count; ++i)
        p[i] = narrowed(scores[i] * share);
    for (i = count; i < width; ++i)
        p[i] = {};
}

/// to = p * (gradient - sum of p * gradient) * scale: through softmax and scale. Over the first
/// `count`; zero from there to `width`.
TRAINYARD_MULTIVERSION
void softmaxGradientRow(const Bf16* __restrict p, const float* __restrict gradient, float scale,
                        std::int64_t count, std::int64_t width, Bf16* __restrict to) {
    Lanes lanes{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l) {
            const std::int64_t k = i + static_cast<std::int64_t>(l);
            lanes[l] += widened(p[k]) * gradient[k];
        }
    for (; i < count; ++i)
        lanes[0] += widened(p[i]) * gradient[i];
    const auto dot = static_cast<float>(laneSum(lanes));
    for (i = 0; i < count; ++i)
        to[i] = narrowed(widened(p[i]) * (gradient[i] - dot) * scale);
    for (i = count; i < width; ++i)
        to[i] = {};
}

TRAINYARD_MULTIVERSION
void addRange(const float* __restrict from, float* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] += from[i];
}

TRAINYARD_MULTIVERSION
void addNarrow(const float* __restrict from, Bf16* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = narrowed(widened(to[i]) + from[i]);
}

/// Where the queries, keys and values of a head lie in a position: queries of all heads first, then
/// keys, then values.
enum class Part { Query, Key, Value };

/// Consecutive samples whose heads are computed together.
struct Chunk {
    std::int64_t first, rows;
};

/// The loops between the products. Lives as long as the form that calls them.
class Heads {
public:
    explicit Heads(const KernelRequest& request)
        : m_request(request), m_a(std::get<graph::AttentionAttributes>(request.attributes)),
          m_positions(request.inputs[0].shape[0]), m_width(request.inputs[0].shape[1]),
          m_size(m_a.headSize),
          m_scale(static_cast<float>(1 / std::sqrt(static_cast<double>(m_size)))) {
        if (m_a.rotaryBase > 0)
            m_rotary = std::make_unique<Rotary>(m_a.rotaryBase, m_positions, m_size);
    }

    std::int64_t count(Chunk chunk) const { return chunk.rows * m_a.heads; }
    std::int64_t positions() const { return m_positions; }
    std::int64_t size() const { return m_size; }
    /// Elements of a matrix {positions, size} of each head.
    std::int64_t matrices(Chunk chunk) const { return count(chunk) * m_positions * m_size; }
    std::int64_t scores(Chunk chunk) const { return count(chunk) * m_positions * m_positions; }
    Bf16* probabilities(Chunk chunk) const {
        return static_cast<Bf16*>(m_request.saved) + scores({0, chunk.first});
    }

    /// Lays one part of all heads side by side, turned where positions are rotary.
    void gather(Chunk chunk, Part part, Bf16* to) const {
        forEach(chunk, [&](std::int64_t row, std::int64_t head, std::int64_t index) {
            const Bf16* from = dataOf<Bf16>(m_request.inputs[0]) + row * m_positions * m_width +
                               offset(part, head);
            copyHead(from, m_width, to + index * m_positions * m_size, part != Part::Value);
        });
    }

    void gatherOutputGradient(Chunk chunk, Bf16* to) const {
        const std::int64_t width = m_a.heads * m_size;
        forEach(chunk, [&](std::int64_t row, std::int64_t head, std::int64_t index) {
            const Bf16* from = dataOf<Bf16>(m_request.outputGradients[0]) +
                               row * m_positions * width + head * m_size;
            copyHead(from, width, to + index * m_positions * m_size, false);
        });
    }

    void scatterOutput(Chunk chunk, const Bf16* from) const {
        const std::int64_t width = m_a.heads * m_size;
        forEach(chunk, [&](std::int64_t row, std::int64_t head, std::int64_t index) {
            Bf16* to =
                dataOf<Bf16>(m_request.outputs[0]) + row * m_positions * width + head * m_size;
            const Bf16* matrix = from + index * m_positions * m_size;
            for (std::int64_t t = 0; t < m_positions; ++t)
                std::copy_n(matrix + t * m_size, m_size, to + t * width);
        });
    }

    void softmax(Chunk chunk, float* scores, Bf16* p) const {
        forEach(chunk, [&](std::int64_t, std::int64_t, std::int64_t index) {
            for (std::int64_t t = 0; t < m_positions; ++t) {
                const std::int64_t at = (index * m_positions + t) * m_positions;
                softmaxRow(scores + at, m_scale, keysOf(t), m_positions, p + at);
            }
        });
    }

    void softmaxGradient(Chunk chunk, const Bf16* p, const float* gradient, Bf16* to) const {
        forEach(chunk, [&](std::int64_t, std::int64_t, std::int64_t index) {
            for (std::int64_t t = 0; t < m_positions; ++t) {
                const std::int64_t at = (index * m_positions + t) * m_positions;
                softmaxGradientRow(p + at, gradient + at, m_scale, keysOf(t), m_positions, to + at);
            }
        });
    }

    /// Gradients of all heads to their places; those of heads that share a key are added, in order.
    void scatterGradient(Chunk chunk, Part part, float* from) const {
        const std::int64_t shared = part == Part::Query ? 1 : m_a.heads / m_a.kvHeads;
        forEach(chunk, [&](std::int64_t row, std::int64_t head, std::int64_t index) {
            if (head % shared != 0)
                return;
            const std::int64_t matrix = m_positions * m_size;
            float* gradient = from + index * matrix;
            for (std::int64_t other = 1; other < shared; ++other)
                addRange(gradient + other * matrix, gradient, matrix);
            if (m_rotary && part != Part::Value)
                m_rotary->turn({gradient, m_size}, {gradient, m_size}, 0, m_positions, true);
            Bf16* to = dataOf<Bf16>(m_request.inputGradients[0]) + row * m_positions * m_width +
                       offset(part, head);
            const bool add = addsToInputGradient(m_request);
            for (std::int64_t t = 0; t < m_positions; ++t)
                (add ? addNarrow : narrow)(gradient + t * m_size, to + t * m_width, m_size);
        });
    }

private:
    /// That a position sees.
    std::int64_t keysOf(std::int64_t position) const {
        return m_a.causal ? position + 1 : m_positions;
    }

    std::int64_t offset(Part part, std::int64_t head) const {
        const std::int64_t kvHead = head / (m_a.heads / m_a.kvHeads);
        switch (part) {
        case Part::Query:
            return head * m_size;
        case Part::Key:
            return (m_a.heads + kvHead) * m_size;
        case Part::Value:
            break;
        }
        return (m_a.heads + m_a.kvHeads + kvHead) * m_size;
    }

    void copyHead(const Bf16* from, std::int64_t stride, Bf16* to, bool turn) const {
        for (std::int64_t t = 0; t < m_positions; ++t)
            if (turn && m_rotary)
                m_rotary->turn(from + t * stride, to + t * m_size, t, false);
            else
                std::copy_n(from + t * stride, m_size, to + t * m_size);
    }

    /// f(row, head, index among the chunk's heads), spread over the threads.
    template <class Function>
    void forEach(Chunk chunk, const Function& f) const {
        parallelFor(count(chunk), scores(chunk) < kGrain ? count(chunk) + 1 : 0, 1,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t i = first; i < last; ++i)
                            f(chunk.first + i / m_a.heads, i % m_a.heads, i);
                    });
    }

    KernelRequest m_request;
    graph::AttentionAttributes m_a;
    std::int64_t m_positions, m_width, m_size;
    float m_scale;
    std::unique_ptr<Rotary> m_rotary;
};

/// A matrix of each head: {rows, columns}, or lying transposed.
struct Factor {
    Place place;
    bool transposed = false;
};

/// Puts the steps of all chunks into a form.
class Builder {
public:
    Builder(const KernelRequest& request, const dnnl::engine& engine)
        : m_request(request), m_heads(std::make_shared<const Heads>(request)), m_engine(engine),
          m_form(std::make_unique<Form>("attention", engine)) {
        const std::int64_t each = m_heads->scores({0, 1});
        m_chunk.rows = std::clamp(kScoresAtOnce / each, std::int64_t{1}, request.rows);
    }

    std::unique_ptr<Form> forward() {
        const Place query = half(matrices()), key = half(matrices()), value = half(matrices());
        const Place scores = whole(m_heads->scores(m_chunk));
        const Place own = half(m_heads->scores(m_chunk)); // where nothing is left for backward
        const Place output = half(matrices());
        const bool keep = m_request.direction == Direction::Forward;
        forEachChunk([&](Chunk chunk) {
            const Place p = keep ? Place::fixed(m_heads->probabilities(chunk)) : own;
            gather(chunk, {{Part::Query, query}, {Part::Key, key}, {Part::Value, value}});
            const std::int64_t t = m_heads->positions(), size = m_heads->size();
            multiply(chunk, {t, size, t}, {query}, {key, true}, scores, kFloat);
            m_form->add([heads = m_heads, chunk, scores, p](std::byte* scratch) {
                heads->softmax(chunk, at<float>(scores, scratch), at<Bf16>(p, scratch));
            });
            multiply(chunk, {t, t, size}, {p}, {value}, output, kHalf);
            m_form->add([heads = m_heads, chunk, output](std::byte* scratch) {
                heads->scatterOutput(chunk, at<Bf16>(output, scratch));
            });
        });
        return std::move(m_form);
    }

    std::unique_ptr<Form> backward() {
        const Place query = half(matrices()), key = half(matrices()), value = half(matrices());
        const Place dy = half(matrices());
        const Place dp = whole(m_heads->scores(m_chunk)), ds = half(m_heads->scores(m_chunk));
        const Place gradient = whole(matrices());
        forEachChunk([&](Chunk chunk) {
            const Place p = Place::fixed(m_heads->probabilities(chunk));
            gather(chunk, {{Part::Query, query}, {Part::Key, key}, {Part::Value, value}});
            m_form->add([heads = m_heads, chunk, dy](std::byte* scratch) {
                heads->gatherOutputGradient(chunk, at<Bf16>(dy, scratch));
            });
            const std::int64_t t = m_heads->positions(), size = m_heads->size();
            multiply(chunk, {t, t, size}, {p, true}, {dy}, gradient, kFloat);
            scatter(chunk, Part::Value, gradient);
            multiply(chunk, {t, size, t}, {dy}, {value, true}, dp, kFloat);
            m_form->add([heads = m_heads, chunk, p, dp, ds](std::byte* scratch) {
                heads->softmaxGradient(chunk, at<Bf16>(p, scratch), at<float>(dp, scratch),
                                       at<Bf16>(ds, scratch));
            });
            multiply(chunk, {t, t, size}, {ds}, {key}, gradient, kFloat);
            scatter(chunk, Part::Query, gradient);
            multiply(chunk, {t, t, size}, {ds, true}, {query}, gradient, kFloat);
            scatter(chunk, Part::Key, gradient);
        });
        return std::move(m_form);
    }

private:
    struct Sizes {
        std::int64_t m, k, n;
    };

    template <class T>
    static T* at(Place place, std::byte* scratch) {
        return static_cast<T*>(place.in(scratch));
    }
    std::int64_t matrices() const { return m_heads->matrices(m_chunk); }
    Place half(std::int64_t elements) {
        return m_form->reserve(static_cast<std::size_t>(elements) * sizeof(Bf16));
    }
    Place whole(std::int64_t elements) {
        return m_form->reserve(static_cast<std::size_t>(elements) * sizeof(float));
    }

    template <class Function>
    void forEachChunk(const Function& f) const {
        for (std::int64_t first = 0; first < m_request.rows; first += m_chunk.rows)
            f(Chunk{first, std::min(m_chunk.rows, m_request.rows - first)});
    }

    void gather(Chunk chunk, const std::vector<std::pair<Part, Place>>& parts) {
        for (const auto& [part, place] : parts)
            m_form->add([heads = m_heads, chunk, part = part, place = place](std::byte* scratch) {
                heads->gather(chunk, part, at<Bf16>(place, scratch));
            });
    }

    void scatter(Chunk chunk, Part part, Place gradient) {
        m_form->add([heads = m_heads, chunk, part, gradient](std::byte* scratch) {
            heads->scatterGradient(chunk, part, at<float>(gradient, scratch));
        });
    }

    /// c {m, n} = a {m, k} b {k, n} for each head.
    void multiply(Chunk chunk, Sizes s, Factor a, Factor b, Place c, memory::data_type result) {
        const auto tag = [](const Factor& factor) {
            return factor.transposed ? memory::format_tag::acb : memory::format_tag::abc;
        };
        const std::int64_t heads = m_heads->count(chunk);
        const memory::desc aDesc({heads, s.m, s.k}, kHalf, tag(a));
        const memory::desc bDesc({heads, s.k, s.n}, kHalf, tag(b));
        const memory::desc cDesc({heads, s.m, s.n}, result, memory::format_tag::abc);
        const dnnl::matmul::primitive_desc product({aDesc, bDesc, cDesc}, attributes(), m_engine);
        m_form->add(dnnl::matmul(product), product.scratchpad_desc(),
                    {{DNNL_ARG_SRC, aDesc, a.place},
                     {DNNL_ARG_WEIGHTS, bDesc, b.place},
                     {DNNL_ARG_DST, cDesc, c}});
    }

    const KernelRequest& m_request;
    std::shared_ptr<const Heads> m_heads;
    dnnl::engine m_engine;
    std::unique_ptr<Form> m_form;
    Chunk m_chunk{0, 1};
};

} // namespace

std::unique_ptr<Kernel> makeHalfAttention(const KernelRequest& request, Context& context) {
    Builder builder(request, context.engine);
    std::vector<std::unique_ptr<Form>> forms;
    forms.push_back(request.direction == Direction::Backward ? builder.backward()
                                                             : builder.forward());
    context.workspace.reserve(forms.back()->scratchBytes());
    return std::make_unique<FormKernel>(context, std::move(forms));
}

} // namespace trainyard::engine::cpu
