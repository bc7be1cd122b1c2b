// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// relu, flatten and dropout. Relu and dropout walk memory as it lies, padding of blocked pictures
// included (it is zero and stays zero); dropout numbers the elements row-major in every layout.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/dropout_draws.h"
#include "engine/backend/cpu/loops.h"
#include "engine/backend/dropout_mask.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace trainyard::engine::cpu {

namespace {

/// x and y, dy and dx may be the same memory, element for element. A NaN stays a NaN.
TRAINYARD_MULTIVERSION
void reluRange(const float* x, float* y, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
        y[i] = x[i] <= 0 ? 0.0F : x[i];
}

TRAINYARD_MULTIVERSION
void reluGradientRange(const float* y, const float* dy, float* dx, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
        dx[i] = y[i] <= 0 ? 0.0F : dy[i];
}

TRAINYARD_MULTIVERSION
void reluGradientAddedRange(const float* y, const float* dy, float* dx, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
        dx[i] += y[i] <= 0 ? 0.0F : dy[i];
}

// The same on the bits of bf16, which vectorise where a comparison of numbers would not: zero and
// what has the sign, but no NaN, becomes zero.
[[gnu::always_inline]] inline bool staysAsItIs(Bf16 value) {
    return (static_cast<std::uint16_t>(value.bits - 1) < 0x7fff) | (value.bits > 0xff80);
}

TRAINYARD_MULTIVERSION
void reluRange(const Bf16* x, Bf16* y, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
        y[i].bits = staysAsItIs(x[i]) ? x[i].bits : std::uint16_t{0};
}

TRAINYARD_MULTIVERSION
void reluGradientRange(const Bf16* y, const Bf16* dy, Bf16* dx, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint16_t bits =
            dy[i].bits; // read in any case: a masked read would not vectorise
        dx[i].bits = staysAsItIs(y[i]) ? bits : std::uint16_t{0};
    }
}

TRAINYARD_MULTIVERSION
void reluGradientAddedRange(const Bf16* y, const Bf16* dy, Bf16* dx, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
        dx[i] = narrowed(widened(dx[i]) + (widened(y[i]) <= 0 ? 0.0F : widened(dy[i])));
}

template <class T>
class ReluForward : public Kernel {
public:
    explicit ReluForward(const KernelRequest& request)
        : m_x(dataOf<T>(request.inputs[0])), m_y(dataOf<T>(request.outputs[0])),
          m_count(storedElements(request.inputs[0], request.rows)) {}

    void run(const StepContext&) override {
        parallelFor(m_count, kGrain, kLine, [this](std::int64_t first, std::int64_t last) {
            reluRange(m_x + first, m_y + first, last - first);
        });
    }

private:
    const T* m_x;
    T* m_y;
    std::int64_t m_count;
};

template <class T>
class ReluBackward : public Kernel {
public:
    explicit ReluBackward(const KernelRequest& request)
        : m_y(dataOf<T>(request.outputs[0])), m_dy(dataOf<T>(request.outputGradients[0])),
          m_dx(dataOf<T>(request.inputGradients[0])), m_add(addsToInputGradient(request)),
          m_count(storedElements(request.inputs[0], request.rows)) {}

    void run(const StepContext&) override {
        parallelFor(m_count, kGrain, kLine, [&](std::int64_t first, std::int64_t last) {
            if (m_add)
                reluGradientAddedRange(m_y + first, m_dy + first, m_dx + first, last - first);
            else
                reluGradientRange(m_y + first, m_dy + first, m_dx + first, last - first);
        });
    }

private:
    const T* m_y;
    const T* m_dy;
    T* m_dx;
    bool m_add;
    std::int64_t m_count;
};

/// Values that only move: flatten, and dropout outside training.
class Move : public Kernel {
public:
    Move(const Operand& from, const Operand& to, const Shape& picture, std::int64_t rows, bool add)
        : m_from(dataOf<float>(from)), m_to(dataOf<float>(to)), m_fromLayout(from.layout),
          m_toLayout(to.layout), m_picture(picture), m_rows(rows), m_add(add),
          m_stored(storedElements(from, rows)) {
        TRAINYARD_CHECK_MSG(m_fromLayout == m_toLayout || m_from != m_to,
                            "a value cannot change its layout in place");
    }

    void run(const StepContext&) override {
        if (m_fromLayout == m_toLayout)
            copy(m_from, m_to, m_stored, m_add);
        else if (m_fromLayout == Layout::Blocked16)
            blockedToPlain(m_from, m_to, m_rows, m_picture, m_add);
        else
            plainToBlocked(m_from, m_to, m_rows, m_picture, m_add);
    }

private:
    const float* m_from;
    float* m_to;
    Layout m_fromLayout, m_toLayout;
    Shape m_picture;
    std::int64_t m_rows;
    bool m_add;
    std::int64_t m_stored;
};

std::unique_ptr<Kernel> makeMove(const KernelRequest& request) {
    if (request.direction != Direction::Backward)
        return std::make_unique<Move>(request.inputs[0], request.outputs[0],
                                      request.inputs[0].shape, request.rows, false);
    return std::make_unique<Move>(request.outputGradients[0], request.inputGradients[0],
                                  request.inputs[0].shape, request.rows,
                                  addsToInputGradient(request));
}

/// In bf16, from one layout into the same.
class HalfCopy : public Kernel {
public:
    HalfCopy(const Operand& from, const Operand& to, std::int64_t rows, bool add)
        : m_from(dataOf<Bf16>(from)), m_to(dataOf<Bf16>(to)), m_add(add),
          m_stored(storedElements(from, rows)) {
        TRAINYARD_CHECK(from.layout == to.layout);
    }
    void run(const StepContext&) override { copy(m_from, m_to, m_stored, m_add); }

private:
    const Bf16* m_from;
    Bf16* m_to;
    bool m_add;
    std::int64_t m_stored;
};

std::unique_ptr<Kernel> makeHalfMove(const KernelRequest& request) {
    if (request.direction != Direction::Backward)
        return std::make_unique<HalfCopy>(request.inputs[0], request.outputs[0], request.rows,
                                          false);
    return std::make_unique<HalfCopy>(request.outputGradients[0], request.inputGradients[0],
                                      request.rows, addsToInputGradient(request));
}

template <class T>
std::unique_ptr<Kernel> makeReluOf(const KernelRequest& request) {
    if (request.direction == Direction::Backward)
        return std::make_unique<ReluBackward<T>>(request);
    return std::make_unique<ReluForward<T>>(request);
}

/// Groups drawn and applied at once.
constexpr std::int64_t kChunkGroups = 2 * kDrawLanes;
constexpr std::int64_t kChunkWords = kChunkGroups * kDropoutGroup;

/// Elements `stride` apart in memory: 1 in the plain layout, 16 along a channel of a blocked one.
struct Run {
    const float* from;
    float* to;
    std::int64_t count;
    std::int64_t stride;
};

struct DropoutRule {
    std::uint32_t threshold;
    float scale;
    bool add;
};

/// value * scale, or 0. By bits: a branch on a random number would be predicted wrongly half the
/// time.
[[gnu::always_inline]] inline float kept(float value, std::uint32_t word, DropoutRule rule) {
    const std::uint32_t mask = dropoutKeeps(word, rule.threshold) ? ~std::uint32_t{0} : 0;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value * rule.scale) & mask);
}

/// `from` and `to` may be the same memory, element for element.
template <std::int64_t Stride>
[[gnu::always_inline]] inline void dropElements(const Run& run, const std::uint32_t* words,
                                                DropoutRule rule) {
    const float* from = run.from;
    float* to = run.to;
    if (rule.add) {
#pragma GCC ivdep
        for (std::int64_t i = 0; i < run.count; ++i)
            to[i * Stride] += kept(from[i * Stride], words[i], rule);
    } else {
#pragma GCC ivdep
        for (std::int64_t i = 0; i < run.count; ++i)
            to[i * Stride] = kept(from[i * Stride], words[i], rule);
    }
}

TRAINYARD_MULTIVERSION
void dropPlain(const Run& run, const std::uint32_t* words, DropoutRule rule) {
    dropElements<1>(run, words, rule);
}

void dropBlocked(const Run& run, const std::uint32_t* words, DropoutRule rule) {
    dropElements<16>(run, words, rule);
}

class Dropout : public Kernel {
public:
    explicit Dropout(const KernelRequest& request)
        : m_shape(request.inputs[0].shape), m_layout(request.inputs[0].layout),
          m_rows(request.rows), m_elements(elementCount(m_shape)),
          m_stored(trainyard::storedElements(m_shape, m_layout)) {
        const bool backward = request.direction == Direction::Backward;
        m_from = dataOf<float>(backward ? request.outputGradients[0] : request.inputs[0]);
        m_to = dataOf<float>(backward ? request.inputGradients[0] : request.outputs[0]);
        const auto& a = std::get<graph::DropoutAttributes>(request.attributes);
        m_key.stream = a.stream;
        m_key.groupsPerRow = dropoutGroups(m_elements);
        m_rule = {.threshold = dropoutThreshold(a.probability),
                  .scale = static_cast<float>(1.0 / (1.0 - a.probability)),
                  .add = backward && addsToInputGradient(request)};
    }

    void run(const StepContext& context) override {
        m_key.seed = context.seed;
        m_key.step = context.step;
        // Parts: whole rows of plain values, planes of blocked ones.
        const std::int64_t parts = m_layout == Layout::Plain ? m_rows : m_rows * blocks();
        parallelFor(parts, m_rows * m_elements < kGrain ? parts + 1 : 0, 1,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t part = first; part < last; ++part)
                            runPart(context.firstRow, part);
                    });
    }

private:
    std::int64_t blocks() const { return (m_shape[0] + 15) / 16; }

    void runPart(std::int64_t firstRow, std::int64_t part) {
        if (m_layout == Layout::Plain)
            runElements(firstRow + part, 0,
                        {m_from + part * m_stored, m_to + part * m_stored, m_elements, 1});
        else
            runBlock(firstRow, part / blocks(), part % blocks());
    }

    void runBlock(std::int64_t firstRow, std::int64_t row, std::int64_t block) {
        const std::int64_t plane = m_shape[1] * m_shape[2];
        const std::int64_t at = row * m_stored + block * plane * 16;
        for (std::int64_t lane = 0; lane < 16; ++lane) {
            const std::int64_t channel = block * 16 + lane;
            const Run run{m_from + at + lane, m_to + at + lane, plane, 16};
            if (channel < m_shape[0])
                runElements(firstRow + row, channel * plane, run);
            else
                for (std::int64_t i = 0; i < plane; ++i)
                    run.to[i * 16] = 0;
        }
    }

    /// `element`: row-major number of the run's first element in its row.
    void runElements(std::int64_t globalRow, std::int64_t element, const Run& run) {
        std::array<std::uint32_t, kChunkWords> words;
        for (std::int64_t done = 0; done < run.count;) {
            const std::int64_t first = element + done;
            const std::int64_t inGroup = first % kDropoutGroup;
            const std::int64_t count = std::min(run.count - done, kChunkWords - inGroup);
            const std::int64_t groups = (inGroup + count + kDropoutGroup - 1) / kDropoutGroup;
            drawDropoutWords(m_key, globalRow, first / kDropoutGroup,
                             (groups + kDrawLanes - 1) / kDrawLanes * kDrawLanes, words.data());
            const Run part{run.from + done * run.stride, run.to + done * run.stride, count,
                           run.stride};
            (run.stride == 1 ? dropPlain : dropBlocked)(part, words.data() + inGroup, m_rule);
            done += count;
        }
    }

    const float* m_from = nullptr;
    float* m_to = nullptr;
    Shape m_shape;
    Layout m_layout;
    std::int64_t m_rows, m_elements, m_stored;
    DropoutKey m_key;
    DropoutRule m_rule{};
};

class ZeroRows : public Kernel {
public:
    explicit ZeroRows(const KernelRequest& request) {
        if (request.phase == plan::Phase::Collect) {
            m_statistics = request.statistics;
            m_statisticsCount = 2 * request.inputs[0].shape[0] + 1;
        }
        if (request.direction != Direction::Backward)
            return;
        for (std::size_t i = 0; i < request.parameterGradients.size(); ++i)
            if (wantsParameterGradient(request, i) && !addsToParameterGradient(request, i))
                m_gradients.push_back(request.parameterGradients[i]);
    }

    void run(const StepContext&) override {
        if (m_statistics)
            std::fill_n(m_statistics, m_statisticsCount, 0.0);
        for (const Operand& gradient : m_gradients)
            std::fill_n(dataOf<float>(gradient), elementCount(gradient.shape), 0.0F);
    }

private:
    std::vector<Operand> m_gradients;
    double* m_statistics = nullptr;
    std::int64_t m_statisticsCount = 0;
};

class Nothing : public Kernel {
public:
    void run(const StepContext&) override {}
};

} // namespace

std::unique_ptr<Kernel> makeRelu(const KernelRequest& request) {
    return request.type == DType::Bf16 ? makeReluOf<Bf16>(request) : makeReluOf<float>(request);
}

std::unique_ptr<Kernel> makeReshape(const KernelRequest& request) {
    return request.type == DType::Bf16 ? makeHalfMove(request) : makeMove(request);
}

std::unique_ptr<Kernel> makeDropout(const KernelRequest& request) {
    if (request.direction == Direction::Inference)
        return makeReshape(request);
    return std::make_unique<Dropout>(request);
}

std::unique_ptr<Kernel> makeZeroRows(const KernelRequest& request) {
    return std::make_unique<ZeroRows>(request);
}

std::unique_ptr<Kernel> makeNothing() {
    return std::make_unique<Nothing>();
}

} // namespace trainyard::engine::cpu
