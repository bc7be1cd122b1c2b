// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where branches meet. add: y = sum of the inputs, each dx = dy. multiply: y = product of the
// inputs, each dx = dy times the product of the others. concat: the inputs one after the other
// along one axis, each dx its part of dy. An input may come twice: its gradient is written for the
// first and added to for the second. add may put y in the place of any input, and one dx in that of
// dy.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"

namespace trainyard::engine::reference {

namespace {

template <class T>
class Add : public Kernel {
public:
    explicit Add(const KernelRequest& request)
        : m_request(request), m_count(storedElements(request.outputs[0], request.rows)) {}

    void run(const StepContext&) override {
        if (m_request.direction != Direction::Backward) {
            write(dataOf<T>(m_request.outputs[0]), m_count, false,
                  [&](std::int64_t i) { return sum(i); });
            return;
        }
        const T* dy = dataOf<T>(m_request.outputGradients[0]);
        for (std::size_t input = 0; input < m_request.inputs.size(); ++input)
            if (wantsInputGradient(m_request, input))
                write(dataOf<T>(m_request.inputGradients[input]), m_count,
                      addsToInputGradient(m_request, input), [&](std::int64_t i) { return dy[i]; });
    }

private:
    T sum(std::int64_t i) const {
        T value = 0;
        for (const Operand& input : m_request.inputs)
            value += dataOf<T>(input)[i];
        return value;
    }

    KernelRequest m_request;
    std::int64_t m_count;
};

template <class T>
class Multiply : public Kernel {
public:
    explicit Multiply(const KernelRequest& request)
        : m_request(request), m_count(storedElements(request.outputs[0], request.rows)) {}

    void run(const StepContext&) override {
        if (m_request.direction != Direction::Backward) {
            write(dataOf<T>(m_request.outputs[0]), m_count, false,
                  [&](std::int64_t i) { return product(i, m_request.inputs.size()); });
            return;
        }
        const T* dy = dataOf<T>(m_request.outputGradients[0]);
        for (std::size_t input = 0; input < m_request.inputs.size(); ++input)
            if (wantsInputGradient(m_request, input))
                write(dataOf<T>(m_request.inputGradients[input]), m_count,
                      addsToInputGradient(m_request, input),
                      [&](std::int64_t i) { return dy[i] * product(i, input); });
    }

private:
    /// Of element i in all inputs but one.
    T product(std::int64_t i, std::size_t without) const {
        T value = 1;
        for (std::size_t input = 0; input < m_request.inputs.size(); ++input)
            if (input != without)
                value *= dataOf<T>(m_request.inputs[input])[i];
        return value;
    }

    KernelRequest m_request;
    std::int64_t m_count;
};

template <class T>
class Concat : public Kernel {
public:
    explicit Concat(const KernelRequest& request) : m_request(request) {
        const auto axis =
            static_cast<std::size_t>(std::get<graph::ConcatAttributes>(request.attributes).axis);
        const Shape& out = request.outputs[0].shape;
        m_outer = request.rows;
        for (std::size_t i = 0; i < axis; ++i)
            m_outer *= out[i];
        const std::int64_t inner =
            elementCount(Shape(out.begin() + static_cast<std::ptrdiff_t>(axis) + 1, out.end()));
        for (const Operand& input : request.inputs)
            m_widths.push_back(input.shape[axis] * inner);
        m_width = out[axis] * inner;
    }

    void run(const StepContext&) override {
        std::int64_t first = 0; // of this input in a row of the output
        for (std::size_t input = 0; input < m_widths.size(); ++input) {
            for (std::int64_t row = 0; row < m_outer; ++row)
                move(input, row * m_widths[input], row * m_width + first);
            first += m_widths[input];
        }
    }

private:
    /// One row of an input to its place in the output, or its gradient back.
    void move(std::size_t input, std::int64_t inInput, std::int64_t inOutput) {
        if (m_request.direction != Direction::Backward) {
            const T* x = dataOf<T>(m_request.inputs[input]) + inInput;
            write(dataOf<T>(m_request.outputs[0]) + inOutput, m_widths[input], false,
                  [&](std::int64_t i) { return x[i]; });
        } else if (wantsInputGradient(m_request, input)) {
            const T* dy = dataOf<T>(m_request.outputGradients[0]) + inOutput;
            write(dataOf<T>(m_request.inputGradients[input]) + inInput, m_widths[input],
                  addsToInputGradient(m_request, input), [&](std::int64_t i) { return dy[i]; });
        }
    }

    KernelRequest m_request;
    std::int64_t m_outer = 0;           ///< rows times the extents before the axis
    std::int64_t m_width = 0;           ///< elements of the output from the axis on
    std::vector<std::int64_t> m_widths; ///< of each input
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeAdd(const KernelRequest& request) {
    return std::make_unique<Add<T>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeMultiply(const KernelRequest& request) {
    return std::make_unique<Multiply<T>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeConcat(const KernelRequest& request) {
    return std::make_unique<Concat<T>>(request);
}

template std::unique_ptr<Kernel> makeAdd<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeAdd<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeMultiply<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeMultiply<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeConcat<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeConcat<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
