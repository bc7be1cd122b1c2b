// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Max pool. Forward leaves, for each stored output element, the winner's position in its input
// plane (int32). Rules as in the reference: the first of equals wins, a NaN wins over everything
// else. Blocked pictures are walked 16 channels at a time, which is one AVX-512 register.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/kernel_request.h"
#include "engine/backend/window.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <limits>

namespace trainyard::engine::cpu {

namespace {

constexpr std::int64_t kLanes = 16;

/// Range of outputs along a row whose window has its `tap`-th column inside the picture.
inline Span insideOutputs(const Window& w, std::int64_t tap) {
    const std::int64_t shift = w.paddingWidth - tap; // input column of output o: o * stride - shift
    const std::int64_t first = shift > 0 ? (shift + w.strideWidth - 1) / w.strideWidth : 0;
    const std::int64_t end = w.inWidth + shift; // o * stride must be below
    const std::int64_t last = end > 0 ? (end - 1) / w.strideWidth + 1 : 0;
    return {first, std::min(last, w.outWidth)};
}

/// One tap for a row of outputs: element `in` + o * step of the plane against the best so far. The
/// outer loop is over outputs, which are independent; so nothing waits for the result before.
template <std::int64_t Lanes, bool Positions>
[[gnu::always_inline]] inline void tapRow(const float* __restrict plane, std::int64_t in,
                                          std::int64_t step, Span outputs, float* __restrict y,
                                          std::int32_t* __restrict at) {
    for (std::int64_t o = outputs.first; o < outputs.last; ++o) {
        const std::int64_t position = in + o * step;
        const float* value = plane + position * Lanes;
#pragma GCC unroll 1
        for (std::int64_t l = 0; l < Lanes; ++l) {
            const float v = value[l];
            const float best = y[o * Lanes + l];
            const bool won = (v > best) | ((v != v) & (best == best));
            y[o * Lanes + l] = won ? v : best;
            if (Positions)
                at[o * Lanes + l] = won ? static_cast<std::int32_t>(position) : at[o * Lanes + l];
        }
    }
}

/// Before any tap: nothing won, and the position is that of the first tap inside.
template <std::int64_t Lanes, bool Positions>
[[gnu::always_inline]] inline void startRow(const Window& w, std::int64_t firstRow, float* y,
                                            std::int32_t* at) {
    std::fill_n(y, w.outWidth * Lanes, -std::numeric_limits<float>::infinity());
    if (Positions)
        for (std::int64_t o = 0; o < w.outWidth; ++o) {
            const std::int64_t column =
                std::max<std::int64_t>(o * w.strideWidth - w.paddingWidth, 0);
            std::fill_n(at + o * Lanes, Lanes,
                        static_cast<std::int32_t>(firstRow * w.inWidth + column));
        }
}

/// `Lanes` planes side by side: 1 (plain) or 16 (a block).
template <std::int64_t Lanes, bool Positions>
[[gnu::always_inline]] inline void poolPlanes(const Window& w, const float* x, float* y,
                                              std::int32_t* at) {
    for (std::int64_t oh = 0; oh < w.outHeight; ++oh) {
        const Span rows = covered(oh, w.strideHeight, w.paddingHeight, w.kernelHeight, w.inHeight);
        startRow<Lanes, Positions>(w, rows.first, y, at);
        for (std::int64_t ih = rows.first; ih < rows.last; ++ih)
            for (std::int64_t tap = 0; tap < w.kernelWidth; ++tap)
                tapRow<Lanes, Positions>(x, ih * w.inWidth - w.paddingWidth + tap, w.strideWidth,
                                         insideOutputs(w, tap), y, at);
        y += w.outWidth * Lanes;
        at += Positions ? w.outWidth * Lanes : 0;
    }
}

TRAINYARD_MULTIVERSION
void poolBlock(const Window& w, const float* x, float* y, std::int32_t* at) {
    poolPlanes<kLanes, true>(w, x, y, at);
}

TRAINYARD_MULTIVERSION
void inferBlock(const Window& w, const float* x, float* y, std::int32_t* at) {
    poolPlanes<kLanes, false>(w, x, y, at);
}

void poolPlane(const Window& w, const float* x, float* y, std::int32_t* at) {
    poolPlanes<1, true>(w, x, y, at);
}

void inferPlane(const Window& w, const float* x, float* y, std::int32_t* at) {
    poolPlanes<1, false>(w, x, y, at);
}

/// Adds the gradient of each window to its winner.
void scatterPlane(const Window& w, const float* dy, const std::int32_t* at, float* dx) {
    for (std::int64_t o = 0; o < w.outPlane(); ++o)
        dx[at[o]] += dy[o];
}

TRAINYARD_MULTIVERSION
void scatterBlock(const Window& w, const float* __restrict dy, const std::int32_t* __restrict at,
                  float* __restrict dx) {
    for (std::int64_t oh = 0, o = 0; oh < w.outHeight; ++oh) {
        const Span rows = covered(oh, w.strideHeight, w.paddingHeight, w.kernelHeight, w.inHeight);
        for (std::int64_t ow = 0; ow < w.outWidth; ++ow, o += kLanes) {
            const Span columns =
                covered(ow, w.strideWidth, w.paddingWidth, w.kernelWidth, w.inWidth);
            for (std::int64_t ih = rows.first; ih < rows.last; ++ih)
                for (std::int64_t iw = columns.first; iw < columns.last; ++iw) {
                    const std::int64_t i = ih * w.inWidth + iw;
#pragma GCC unroll 1
                    for (std::int64_t l = 0; l < kLanes; ++l)
                        dx[i * kLanes + l] += at[o + l] == i ? dy[o + l] : 0.0F;
                }
        }
    }
}

class MaxPool : public Kernel {
public:
    explicit MaxPool(const KernelRequest& request)
        : m_window(windowOf(std::get<graph::PoolAttributes>(request.attributes),
                            request.inputs[0].shape, request.outputs[0].shape)),
          m_lanes(request.inputs[0].layout == Layout::Plain ? 1 : kLanes),
          m_planes(storedElements(request.inputs[0], request.rows) / m_window.inPlane() / m_lanes),
          m_backward(request.direction == Direction::Backward),
          m_add(addsToInputGradient(request)) {
        m_in = dataOf<float>(m_backward ? request.inputGradients[0] : request.inputs[0]);
        m_out = dataOf<float>(m_backward ? request.outputGradients[0] : request.outputs[0]);
        if (request.direction != Direction::Inference)
            m_positions = static_cast<std::int32_t*>(request.saved);
    }

    void run(const StepContext&) override {
        const std::int64_t work = m_planes * m_window.inPlane() * m_lanes;
        parallelFor(m_planes, work < kGrain ? m_planes + 1 : 0, 1,
                    [this](std::int64_t first, std::int64_t last) {
                        for (std::int64_t plane = first; plane < last; ++plane)
                            runPlane(plane);
                    });
    }

private:
    void runPlane(std::int64_t plane) {
        const std::int64_t inCount = m_window.inPlane() * m_lanes;
        const std::int64_t outAt = plane * m_window.outPlane() * m_lanes;
        float* in = m_in + plane * inCount;
        std::int32_t* positions = m_positions ? m_positions + outAt : nullptr;
        if (!m_backward) {
            const auto pool = m_positions ? (m_lanes == 1 ? poolPlane : poolBlock)
                                          : (m_lanes == 1 ? inferPlane : inferBlock);
            pool(m_window, in, m_out + outAt, positions);
            return;
        }
        if (!m_add)
            std::fill_n(in, inCount, 0.0F);
        (m_lanes == 1 ? scatterPlane : scatterBlock)(m_window, m_out + outAt, positions, in);
    }

    Window m_window;
    std::int64_t m_lanes, m_planes;
    bool m_backward, m_add;
    float* m_in = nullptr;  ///< input; in backward its gradient
    float* m_out = nullptr; ///< output; in backward its gradient
    std::int32_t* m_positions = nullptr;
};

} // namespace

std::unique_ptr<Kernel> makeMaxPool(const KernelRequest& request) {
    if (request.direction == Direction::Backward && !wantsInputGradient(request))
        return makeNothing();
    return std::make_unique<MaxPool>(request);
}

} // namespace trainyard::engine::cpu
