// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Largest element of each window; padding never wins. Of equal elements the first in row-major
// order wins, and a NaN wins over everything so that it is not lost. Forward leaves the winner's
// position in its input plane (int32), backward hands the gradient to that position.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"
#include "engine/backend/window.h"

#include <cmath>

namespace trainyard::engine::reference {

namespace {

template <class T>
std::int64_t winner(const Window& w, const T* plane, std::int64_t oh, std::int64_t ow) {
    const Span h = covered(oh, w.strideHeight, w.paddingHeight, w.kernelHeight, w.inHeight);
    const Span x = covered(ow, w.strideWidth, w.paddingWidth, w.kernelWidth, w.inWidth);
    std::int64_t best = h.first * w.inWidth + x.first;
    for (std::int64_t ih = h.first; ih < h.last; ++ih)
        for (std::int64_t iw = x.first; iw < x.last; ++iw) {
            const std::int64_t at = ih * w.inWidth + iw;
            if (plane[at] > plane[best] || (std::isnan(plane[at]) && !std::isnan(plane[best])))
                best = at;
        }
    return best;
}

template <class T>
class MaxPool : public Kernel {
public:
    explicit MaxPool(const KernelRequest& request)
        : m_request(request), m_window(windowOf(std::get<graph::PoolAttributes>(request.attributes),
                                                request.inputs[0].shape, request.outputs[0].shape)),
          m_planes(request.rows * request.inputs[0].shape[0]) {}

    void run(const StepContext&) override {
        auto* positions = static_cast<std::int32_t*>(m_request.saved);
        if (m_request.direction == Direction::Backward)
            backward(positions);
        else
            forward(m_request.direction == Direction::Forward ? positions : nullptr);
    }

private:
    void forward(std::int32_t* positions) {
        T* y = dataOf<T>(m_request.outputs[0]);
        for (std::int64_t plane = 0; plane < m_planes; ++plane) {
            const T* x = dataOf<T>(m_request.inputs[0]) + plane * m_window.inPlane();
            for (std::int64_t oh = 0; oh < m_window.outHeight; ++oh)
                for (std::int64_t ow = 0; ow < m_window.outWidth; ++ow) {
                    const std::int64_t at = winner(m_window, x, oh, ow);
                    *y++ = x[at];
                    if (positions)
                        *positions++ = static_cast<std::int32_t>(at);
                }
        }
    }

    void backward(const std::int32_t* positions) {
        if (!wantsInputGradient(m_request))
            return;
        T* dx = dataOf<T>(m_request.inputGradients[0]);
        const T* dy = dataOf<T>(m_request.outputGradients[0]);
        startGradient(dx, m_planes * m_window.inPlane(), addsToInputGradient(m_request));
        for (std::int64_t plane = 0; plane < m_planes; ++plane)
            for (std::int64_t i = 0; i < m_window.outPlane(); ++i)
                dx[plane * m_window.inPlane() + *positions++] += *dy++;
    }

    KernelRequest m_request;
    Window m_window;
    std::int64_t m_planes;
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeMaxPool(const KernelRequest& request) {
    return std::make_unique<MaxPool<T>>(request);
}

template std::unique_ptr<Kernel> makeMaxPool<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeMaxPool<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
