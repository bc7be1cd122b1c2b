// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Convolution as a matrix product per row and group. The windows of one picture are laid out as
// columns {C * kh * kw, H' * W'} (padding is zero); with W {K, C * kh * kw} and y, dy {K, H' * W'}:
// y = W columns + b,  dW = dy columns',  db = sum over positions of dy,  dcolumns = W' dy, which is
// added back to the places in the picture the columns came from. Groups cut C and K into equal
// parts, each with products of its own.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"
#include "engine/backend/reference/product.h"
#include "engine/backend/window.h"

#include <algorithm>
#include <numeric>

namespace trainyard::engine::reference {

namespace {

using graph::Conv2dAttributes;

/// Calls f(column index, picture index) for every element of the columns that is not padding.
template <class Function>
void forEachInsideElement(const Window& w, std::int64_t channels, const Function& f) {
    std::int64_t columnRow = 0;
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t kh = 0; kh < w.kernelHeight; ++kh)
            for (std::int64_t kw = 0; kw < w.kernelWidth; ++kw, ++columnRow)
                for (std::int64_t oh = 0; oh < w.outHeight; ++oh) {
                    const std::int64_t h =
                        oh * w.strideHeight - w.paddingHeight + kh * w.dilationHeight;
                    if (h < 0 || h >= w.inHeight)
                        continue;
                    for (std::int64_t ow = 0; ow < w.outWidth; ++ow) {
                        const std::int64_t x =
                            ow * w.strideWidth - w.paddingWidth + kw * w.dilationWidth;
                        if (x >= 0 && x < w.inWidth)
                            f((columnRow * w.outHeight + oh) * w.outWidth + ow,
                              (c * w.inHeight + h) * w.inWidth + x);
                    }
                }
}

/// Sizes that both directions need.
struct Sizes {
    Window window;
    std::int64_t groups, inChannels, outChannels, inElements, outElements;
    std::int64_t groupChannels; ///< that a group makes
    std::int64_t columnRows;    ///< that a group reads

    explicit Sizes(const KernelRequest& request) {
        const auto& a = std::get<Conv2dAttributes>(request.attributes);
        window = windowOf(a, request.inputs[0].shape, request.outputs[0].shape);
        groups = a.groups;
        inChannels = a.inChannels;
        outChannels = a.outChannels;
        inElements = inChannels * window.inPlane();
        outElements = outChannels * window.outPlane();
        groupChannels = outChannels / groups;
        columnRows = inChannels / groups * a.kernelHeight * a.kernelWidth;
    }
    std::int64_t columnElements() const { return groups * columnRows * window.outPlane(); }
};

/// What belongs to one group in weights {K, C / groups * kh * kw}, columns and y or dy.
template <class T>
auto weightsOf(const Sizes& s, T* weight, std::int64_t group) {
    return Matrix<T>(weight + group * s.groupChannels * s.columnRows, s.groupChannels,
                     s.columnRows);
}

template <class T>
auto columnsOf(const Sizes& s, T* columns, std::int64_t group) {
    const std::int64_t positions = s.window.outPlane();
    return Matrix<T>(columns + group * s.columnRows * positions, s.columnRows, positions);
}

template <class T>
auto channelsOf(const Sizes& s, T* y, std::int64_t group) {
    const std::int64_t positions = s.window.outPlane();
    return Matrix<T>(y + group * s.groupChannels * positions, s.groupChannels, positions);
}

template <class T>
void fillColumns(const Sizes& s, const T* picture, T* columns) {
    std::fill_n(columns, s.columnElements(), T{0});
    forEachInsideElement(s.window, s.inChannels, [&](std::int64_t column, std::int64_t pixel) {
        columns[column] = picture[pixel];
    });
}

template <class T>
class ConvolutionForward : public Kernel {
public:
    ConvolutionForward(const KernelRequest& request, Workspace& workspace)
        : m_request(request), m_sizes(request), m_workspace(workspace) {
        m_workspace.reserve(static_cast<std::size_t>(m_sizes.columnElements()) * sizeof(T));
    }

    void run(const StepContext&) override {
        T* columns = reinterpret_cast<T*>(m_workspace.data());
        const T* weight = dataOf<T>(m_request.parameters[0]);
        for (std::int64_t row = 0; row < m_request.rows; ++row) {
            fillColumns(m_sizes, dataOf<T>(m_request.inputs[0]) + row * m_sizes.inElements,
                        columns);
            T* y = dataOf<T>(m_request.outputs[0]) + row * m_sizes.outElements;
            for (std::int64_t g = 0; g < m_sizes.groups; ++g)
                assignProduct(channelsOf(m_sizes, y, g), weightsOf(m_sizes, weight, g),
                              columnsOf(m_sizes, columns, g));
            if (m_request.parameters.size() > 1)
                addBias(y, dataOf<T>(m_request.parameters[1]));
        }
    }

private:
    void addBias(T* y, const T* bias) const {
        const std::int64_t positions = m_sizes.window.outPlane();
        for (std::int64_t k = 0; k < m_sizes.outChannels; ++k)
            write(y + k * positions, positions, true, [&](std::int64_t) { return bias[k]; });
    }

    KernelRequest m_request;
    Sizes m_sizes;
    Workspace& m_workspace;
};

template <class T>
class ConvolutionBackward : public Kernel {
public:
    ConvolutionBackward(const KernelRequest& request, Workspace& workspace)
        : m_request(request), m_sizes(request), m_workspace(workspace),
          m_gradients(parameterGradients<T>(request)) {
        m_workspace.reserve(static_cast<std::size_t>(m_sizes.columnElements()) * sizeof(T));
    }

    void run(const StepContext&) override {
        startGradient(m_gradients.weight, m_sizes.outChannels * m_sizes.columnRows,
                      addsToParameterGradient(m_request, 0));
        startGradient(m_gradients.bias, m_sizes.outChannels, addsToParameterGradient(m_request, 1));
        for (std::int64_t row = 0; row < m_request.rows; ++row) {
            const T* dy = dataOf<T>(m_request.outputGradients[0]) + row * m_sizes.outElements;
            addParameterGradients(row, dy);
            if (wantsInputGradient(m_request))
                writeInputGradient(row, dy);
        }
    }

private:
    void addParameterGradients(std::int64_t row, const T* dy) {
        if (m_gradients.weight) {
            T* columns = reinterpret_cast<T*>(m_workspace.data());
            fillColumns(m_sizes, dataOf<T>(m_request.inputs[0]) + row * m_sizes.inElements,
                        columns);
            for (std::int64_t g = 0; g < m_sizes.groups; ++g)
                addProduct(weightsOf(m_sizes, m_gradients.weight, g), channelsOf(m_sizes, dy, g),
                           transposed(columnsOf(m_sizes, columns, g)));
        }
        const std::int64_t positions = m_sizes.window.outPlane();
        for (std::int64_t k = 0; k < m_sizes.outChannels && m_gradients.bias; ++k)
            m_gradients.bias[k] +=
                std::accumulate(dy + k * positions, dy + (k + 1) * positions, T{0});
    }

    void writeInputGradient(std::int64_t row, const T* dy) {
        T* columns = reinterpret_cast<T*>(m_workspace.data());
        const T* weight = dataOf<T>(m_request.parameters[0]);
        for (std::int64_t g = 0; g < m_sizes.groups; ++g)
            assignProduct(columnsOf(m_sizes, columns, g), transposed(weightsOf(m_sizes, weight, g)),
                          channelsOf(m_sizes, dy, g));
        T* dx = dataOf<T>(m_request.inputGradients[0]) + row * m_sizes.inElements;
        startGradient(dx, m_sizes.inElements, addsToInputGradient(m_request));
        forEachInsideElement(
            m_sizes.window, m_sizes.inChannels,
            [&](std::int64_t column, std::int64_t pixel) { dx[pixel] += columns[column]; });
    }

    KernelRequest m_request;
    Sizes m_sizes;
    Workspace& m_workspace;
    ParameterGradients<T> m_gradients;
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeConv2d(const KernelRequest& request, Workspace& workspace) {
    if (request.direction == Direction::Backward)
        return std::make_unique<ConvolutionBackward<T>>(request, workspace);
    return std::make_unique<ConvolutionForward<T>>(request, workspace);
}

template std::unique_ptr<Kernel> makeConv2d<double>(const KernelRequest&, Workspace&);
template std::unique_ptr<Kernel> makeConv2d<float>(const KernelRequest&, Workspace&);

} // namespace trainyard::engine::reference
