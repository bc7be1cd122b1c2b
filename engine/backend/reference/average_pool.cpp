// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// average_pool: the sum over each window, divided by the whole window; padding counts as zeros.
// global_average_pool: the mean of each plane. Backward hands each element its share of dy.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"
#include "engine/backend/window.h"

namespace trainyard::engine::reference {

namespace {

/// A pool, or the pool whose one window is the whole plane.
Window poolWindowOf(const KernelRequest& request) {
    const Shape& in = request.inputs[0].shape;
    if (const auto* pool = std::get_if<graph::PoolAttributes>(&request.attributes))
        return windowOf(*pool, in, request.outputs[0].shape);
    const graph::PoolAttributes whole{.kernelHeight = in.at(1), .kernelWidth = in.at(2)};
    return windowOf(whole, in, {in[0], 1, 1});
}

template <class T>
class AveragePool : public Kernel {
public:
    explicit AveragePool(const KernelRequest& request)
        : m_request(request), m_window(poolWindowOf(request)),
          m_planes(request.rows * request.inputs[0].shape[0]),
          m_share(T{1} / static_cast<T>(m_window.kernelHeight * m_window.kernelWidth)) {}

    void run(const StepContext&) override {
        if (m_request.direction != Direction::Backward)
            forward();
        else if (wantsInputGradient(m_request))
            backward();
    }

private:
    /// Calls f(index in the input plane) for every element of a window that is not padding.
    template <class Function>
    void forEachInside(std::int64_t oh, std::int64_t ow, const Function& f) const {
        const Window& w = m_window;
        const Span h = covered(oh, w.strideHeight, w.paddingHeight, w.kernelHeight, w.inHeight);
        const Span x = covered(ow, w.strideWidth, w.paddingWidth, w.kernelWidth, w.inWidth);
        for (std::int64_t ih = h.first; ih < h.last; ++ih)
            for (std::int64_t iw = x.first; iw < x.last; ++iw)
                f(ih * w.inWidth + iw);
    }

    void forward() {
        T* y = dataOf<T>(m_request.outputs[0]);
        for (std::int64_t plane = 0; plane < m_planes; ++plane) {
            const T* x = dataOf<T>(m_request.inputs[0]) + plane * m_window.inPlane();
            for (std::int64_t oh = 0; oh < m_window.outHeight; ++oh)
                for (std::int64_t ow = 0; ow < m_window.outWidth; ++ow) {
                    T sum = 0;
                    forEachInside(oh, ow, [&](std::int64_t i) { sum += x[i]; });
                    *y++ = sum * m_share;
                }
        }
    }

    void backward() {
        const T* dy = dataOf<T>(m_request.outputGradients[0]);
        T* dx = dataOf<T>(m_request.inputGradients[0]);
        startGradient(dx, m_planes * m_window.inPlane(), addsToInputGradient(m_request));
        for (std::int64_t plane = 0; plane < m_planes; ++plane, dx += m_window.inPlane())
            for (std::int64_t oh = 0; oh < m_window.outHeight; ++oh)
                for (std::int64_t ow = 0; ow < m_window.outWidth; ++ow, ++dy)
                    forEachInside(oh, ow, [&](std::int64_t i) { dx[i] += *dy * m_share; });
    }

    KernelRequest m_request;
    Window m_window;
    std::int64_t m_planes;
    T m_share;
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeAveragePool(const KernelRequest& request) {
    return std::make_unique<AveragePool<T>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeGlobalAveragePool(const KernelRequest& request) {
    return std::make_unique<AveragePool<T>>(request);
}

template std::unique_ptr<Kernel> makeAveragePool<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeAveragePool<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeGlobalAveragePool<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeGlobalAveragePool<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
