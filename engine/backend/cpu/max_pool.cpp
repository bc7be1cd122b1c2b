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

inline bool wins(float value, float best) {
    return value > best || (value != value && best == best);
}

/// `Lanes` planes side by side: 1 (plain) or 16 (blocked).
template <std::int64_t Lanes>
[[gnu::always_inline]] inline void poolWindow(const Window& w, const float* __restrict x, Span h,
                                              Span v, float* __restrict y,
                                              std::int32_t* __restrict at) {
    float best[Lanes];
    std::int32_t position[Lanes];
    for (std::int64_t l = 0; l < Lanes; ++l) {
        best[l] = -std::numeric_limits<float>::infinity();
        position[l] = static_cast<std::int32_t>(h.first * w.inWidth + v.first);
    }
    for (std::int64_t ih = h.first; ih < h.last; ++ih)
        for (std::int64_t iw = v.first; iw < v.last; ++iw) {
            const std::int64_t i = ih * w.inWidth + iw;
            for (std::int64_t l = 0; l < Lanes; ++l) {
                const float value = x[i * Lanes + l];
                const bool won = wins(value, best[l]);
                best[l] = won ? value : best[l];
                position[l] = won ? static_cast<std::int32_t>(i) : position[l];
            }
        }
    for (std::int64_t l = 0; l < Lanes; ++l)
        y[l] = best[l];
    if (at)
        for (std::int64_t l = 0; l < Lanes; ++l)
            at[l] = position[l];
}

template <std::int64_t Lanes>
[[gnu::always_inline]] inline void poolPlanes(const Window& w, const float* x, float* y,
                                              std::int32_t* at) {
    for (std::int64_t oh = 0; oh < w.outHeight; ++oh) {
        const Span h = covered(oh, w.strideHeight, w.paddingHeight, w.kernelHeight, w.inHeight);
        for (std::int64_t ow = 0; ow < w.outWidth; ++ow) {
            const Span v = covered(ow, w.strideWidth, w.paddingWidth, w.kernelWidth, w.inWidth);
            const std::int64_t o = (oh * w.outWidth + ow) * Lanes;
            poolWindow<Lanes>(w, x, h, v, y + o, at ? at + o : nullptr);
        }
    }
}

TRAINYARD_MULTIVERSION
void poolBlock(const Window& w, const float* x, float* y, std::int32_t* at) {
    poolPlanes<kLanes>(w, x, y, at);
}

void poolPlane(const Window& w, const float* x, float* y, std::int32_t* at) {
    poolPlanes<1>(w, x, y, at);
}

/// Adds the gradient of each window to its winner.
void scatterPlane(const Window& w, const float* dy, const std::int32_t* at, float* dx) {
    for (std::int64_t o = 0; o < w.outPlane(); ++o)
        dx[at[o]] += dy[o];
}

TRAINYARD_MULTIVERSION
void scatterBlock(const Window& w, const float* __restrict dy, const std::int32_t* __restrict at,
                  float* __restrict dx) {
    for (std::int64_t oh = 0; oh < w.outHeight; ++oh) {
        const Span h = covered(oh, w.strideHeight, w.paddingHeight, w.kernelHeight, w.inHeight);
        for (std::int64_t ow = 0; ow < w.outWidth; ++ow) {
            const Span v = covered(ow, w.strideWidth, w.paddingWidth, w.kernelWidth, w.inWidth);
            const std::int64_t o = (oh * w.outWidth + ow) * kLanes;
            for (std::int64_t ih = h.first; ih < h.last; ++ih)
                for (std::int64_t iw = v.first; iw < v.last; ++iw) {
                    const std::int64_t i = ih * w.inWidth + iw;
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
            (m_lanes == 1 ? poolPlane : poolBlock)(m_window, in, m_out + outAt, positions);
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
