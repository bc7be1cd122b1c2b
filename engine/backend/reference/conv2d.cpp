// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Convolution as a matrix product per row. The windows of one picture are laid out as columns
// {C * kh * kw, H' * W'} (padding is zero); with W {K, C * kh * kw} and y, dy {K, H' * W'}:
// y = W columns + b,  dW = dy columns',  db = sum over positions of dy,  dcolumns = W' dy, which is
// added back to the places in the picture the columns came from.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"
#include "engine/backend/window.h"

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
                    const std::int64_t h = oh * w.strideHeight - w.paddingHeight + kh;
                    if (h < 0 || h >= w.inHeight)
                        continue;
                    for (std::int64_t ow = 0; ow < w.outWidth; ++ow) {
                        const std::int64_t x = ow * w.strideWidth - w.paddingWidth + kw;
                        if (x >= 0 && x < w.inWidth)
                            f((columnRow * w.outHeight + oh) * w.outWidth + ow,
                              (c * w.inHeight + h) * w.inWidth + x);
                    }
                }
}

/// Sizes that both directions need.
struct Sizes {
    Window window;
    std::int64_t inChannels, outChannels, columnRows, inElements, outElements;

    explicit Sizes(const KernelRequest& request) {
        const auto& a = std::get<Conv2dAttributes>(request.attributes);
        window = windowOf(a, request.inputs[0].shape, request.outputs[0].shape);
        inChannels = a.inChannels;
        outChannels = a.outChannels;
        columnRows = a.inChannels * a.kernelHeight * a.kernelWidth;
        inElements = inChannels * window.inPlane();
        outElements = outChannels * window.outPlane();
    }
    std::int64_t columnElements() const { return columnRows * window.outPlane(); }
};

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
        const std::int64_t positions = m_sizes.window.outPlane();
        T* columns = reinterpret_cast<T*>(m_workspace.data());
        const ConstMatrix<T> weight(dataOf<T>(m_request.parameters[0]), m_sizes.outChannels,
                                    m_sizes.columnRows);
        for (std::int64_t row = 0; row < m_request.rows; ++row) {
            fillColumns(m_sizes, dataOf<T>(m_request.inputs[0]) + row * m_sizes.inElements,
                        columns);
            Matrix<T> y(dataOf<T>(m_request.outputs[0]) + row * m_sizes.outElements,
                        m_sizes.outChannels, positions);
            y.noalias() = weight * ConstMatrix<T>(columns, m_sizes.columnRows, positions);
            if (m_request.parameters.size() > 1)
                y.colwise() +=
                    ColumnVector<T>(dataOf<T>(m_request.parameters[1]), m_sizes.outChannels);
        }
    }

private:
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
        startGradient(m_gradients.bias, m_sizes.outChannels,
                      addsToParameterGradient(m_request, 1));
        for (std::int64_t row = 0; row < m_request.rows; ++row) {
            const T* dy = dataOf<T>(m_request.outputGradients[0]) + row * m_sizes.outElements;
            addParameterGradients(row, dy);
            if (wantsInputGradient(m_request))
                writeInputGradient(row, dy);
        }
    }

private:
    void addParameterGradients(std::int64_t row, const T* outputGradient) {
        const std::int64_t positions = m_sizes.window.outPlane();
        const ConstMatrix<T> dy(outputGradient, m_sizes.outChannels, positions);
        if (m_gradients.weight) {
            T* columns = reinterpret_cast<T*>(m_workspace.data());
            fillColumns(m_sizes, dataOf<T>(m_request.inputs[0]) + row * m_sizes.inElements,
                        columns);
            Matrix<T>(m_gradients.weight, m_sizes.outChannels, m_sizes.columnRows).noalias() +=
                dy * ConstMatrix<T>(columns, m_sizes.columnRows, positions).transpose();
        }
        if (m_gradients.bias)
            ColumnVector<T>(m_gradients.bias, m_sizes.outChannels) += dy.rowwise().sum();
    }

    void writeInputGradient(std::int64_t row, const T* outputGradient) {
        const std::int64_t positions = m_sizes.window.outPlane();
        T* columns = reinterpret_cast<T*>(m_workspace.data());
        T* dx = dataOf<T>(m_request.inputGradients[0]) + row * m_sizes.inElements;
        const ConstMatrix<T> dy(outputGradient, m_sizes.outChannels, positions);
        const ConstMatrix<T> weight(dataOf<T>(m_request.parameters[0]), m_sizes.outChannels,
                                    m_sizes.columnRows);
        Matrix<T>(columns, m_sizes.columnRows, positions).noalias() = weight.transpose() * dy;
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
