// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/operation_bench.h"

#include "engine/backend/kernel_request.h"
#include "engine/base/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>

namespace trainyard::test {

using engine::Direction;
using engine::KernelRequest;
using engine::Operand;
using graph::OperationKind;

namespace {

constexpr std::size_t kGuard = 64; ///< bytes before and behind; keeps the data aligned
constexpr std::byte kGuardByte{0xA5};

/// Memory of `count` elements between guards, filled with NaN (all bits set).
class GuardedBuffer {
public:
    GuardedBuffer(DType type, std::int64_t count, std::string what)
        : m_type(type), m_count(count), m_what(std::move(what)),
          m_bytes(static_cast<std::size_t>(count) * bytesOf(type)),
          m_memory(new(std::align_val_t{kGuard}) std::byte[m_bytes + 2 * kGuard]) {
        std::fill_n(m_memory.get(), m_bytes + 2 * kGuard, kGuardByte);
        spoil();
    }

    void* data() { return m_memory.get() + kGuard; }

    /// Back to NaN, as if another value had lain here in between.
    void spoil() { std::fill_n(m_memory.get() + kGuard, m_bytes, std::byte{0xFF}); }

    double at(std::int64_t i) const {
        const std::byte* from = m_memory.get() + kGuard + static_cast<std::size_t>(i) * size();
        if (m_type == DType::Fp64)
            return load<double>(from);
        return m_type == DType::Fp32 ? static_cast<double>(load<float>(from))
                                     : static_cast<double>(load<std::int32_t>(from));
    }

    void set(std::int64_t i, double value) {
        std::byte* to = m_memory.get() + kGuard + static_cast<std::size_t>(i) * size();
        const float narrow = static_cast<float>(value);
        if (m_type == DType::Fp64)
            std::memcpy(to, &value, sizeof value);
        else
            std::memcpy(to, &narrow, sizeof narrow);
    }

    void fill(double value) {
        for (std::int64_t i = 0; i < m_count; ++i)
            set(i, value);
    }

    void checkGuards() const {
        for (std::size_t i = 0; i < kGuard; ++i)
            if (m_memory[i] != kGuardByte || m_memory[kGuard + m_bytes + i] != kGuardByte)
                throw std::runtime_error(m_what + ": bytes outside were written");
    }

    const std::string& what() const { return m_what; }

private:
    template <class T>
    static T load(const std::byte* from) {
        T value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    std::size_t size() const { return bytesOf(m_type); }

    struct Free {
        void operator()(std::byte* memory) const {
            ::operator delete[](memory, std::align_val_t{kGuard});
        }
    };
    DType m_type;
    std::int64_t m_count;
    std::string m_what;
    std::size_t m_bytes;
    std::unique_ptr<std::byte[], Free> m_memory;
};

/// Where element `i` (row-major) of a row lies in memory.
std::int64_t storedIndex(const Shape& shape, Layout layout, std::int64_t i) {
    if (layout == Layout::Plain)
        return i;
    const std::int64_t plane = shape[1] * shape[2];
    const std::int64_t channel = i / plane;
    return (channel / 16 * plane + i % plane) * 16 + channel % 16;
}

/// A value of `rows` rows in the layout that a kernel takes.
class Value {
public:
    Value(DType type, std::int64_t rows, Shape shape, Layout layout, std::string what)
        : m_rows(rows), m_shape(std::move(shape)), m_layout(layout),
          m_stored(storedElements(m_shape, layout)),
          m_buffer(type, rows * m_stored, std::move(what)) {}

    Operand operand() { return {m_buffer.data(), m_shape, m_layout}; }
    /// The same memory by another name: flatten in place changes the shape.
    Operand operand(const Shape& shape) { return {m_buffer.data(), shape, m_layout}; }
    Operand absent() const { return {nullptr, m_shape, m_layout}; }

    void spoil() { m_buffer.spoil(); }

    void write(const std::vector<double>& values) {
        m_buffer.fill(0); // the padding
        forEach([&](std::int64_t stored, std::size_t i) { m_buffer.set(stored, values.at(i)); });
    }

    std::vector<double> read() const {
        m_buffer.checkGuards();
        std::vector<double> values(static_cast<std::size_t>(m_rows * elementCount(m_shape)));
        double everything = 0, inside = 0;
        forEach([&](std::int64_t stored, std::size_t i) {
            values[i] = m_buffer.at(stored);
            inside += values[i] != 0;
        });
        for (std::int64_t i = 0; i < m_rows * m_stored; ++i)
            everything += m_buffer.at(i) != 0;
        if (everything != inside)
            throw std::runtime_error(m_buffer.what() + ": the padding is not zero");
        return values;
    }

private:
    template <class Function>
    void forEach(const Function& f) const {
        const std::int64_t elements = elementCount(m_shape);
        for (std::int64_t row = 0; row < m_rows; ++row)
            for (std::int64_t i = 0; i < elements; ++i)
                f(row * m_stored + storedIndex(m_shape, m_layout, i),
                  static_cast<std::size_t>(row * elements + i));
    }

    std::int64_t m_rows;
    Shape m_shape;
    Layout m_layout;
    std::int64_t m_stored;
    GuardedBuffer m_buffer;
};

} // namespace

/// All memory of an operation, the requests over it and the kernels made of them.
class OperationBench::Memory {
public:
    Memory(DType type, const OperationCase& c, const OperationValues& values,
           const OperationOptions& options)
        : m_case(c), m_values(values), m_options(options),
          m_input(type, c.rows, c.input, c.inputLayout, "input"),
          m_output(type, c.rows, c.output(), c.outputLayout, "output"),
          m_inputGradient(type, c.rows, c.input, c.inputLayout, "input gradient"),
          m_outputGradient(type, c.rows, c.output(), c.outputLayout, "output gradient"),
          m_saved(DType::Int32, c.rows * storedElements(c.output(), c.outputLayout), "saved") {
        for (std::int64_t i = 0; i < c.parameterCount(); ++i) {
            m_parameters.emplace_back(type, 1, c.parameterShape(i), Layout::Plain, "parameter");
            m_parameters.back().write(values.parameters[static_cast<std::size_t>(i)]);
            m_gradients.emplace_back(type, 1, c.parameterShape(i), Layout::Plain,
                                     "parameter gradient");
        }
        m_request.kind = c.kind;
        m_request.attributes = c.attributes;
        m_request.type = type;
        m_request.rows = c.rows;
        m_request.saved = m_saved.data();
        m_request.labels = values.labels.data();
        m_request.lossSums = m_lossSums;
        for (Value& parameter : m_parameters)
            m_request.parameters.push_back(parameter.operand());
    }

    /// All kernels are made before any runs, as for a training run.
    void compile(engine::Backend& backend) {
        m_forward = backend.compile(forwardRequest());
        if (!m_options.inference)
            m_backward = backend.compile(backwardRequest());
    }

    /// Memory that a kernel has to fill is NaN before: it may have held other values.
    void run() {
        for (Value* value : {&m_output, &m_inputGradient, &m_outputGradient})
            value->spoil();
        for (Value& gradient : m_gradients)
            gradient.spoil();
        m_input.write(m_values.input);
        if (!m_case.isLoss())
            m_outputGradient.write(m_values.outputGradient);
        if (m_options.addToGradients)
            fillGradients();
        m_lossSums[0] = m_lossSums[1] = 0;
        runKernels();
    }

    void runKernels() {
        m_forward->run(m_values.context);
        if (m_backward)
            m_backward->run(m_values.context);
    }

    OperationResults results() const {
        OperationResults out;
        m_saved.checkGuards();
        out.lossSum = m_lossSums[0];
        out.correct = m_lossSums[1];
        if (!m_case.isLoss())
            out.output = forwardOutput().read();
        if (m_options.inference)
            return out;
        out.inputGradient = backwardOutput().read();
        for (const Value& gradient : m_gradients)
            out.parameterGradients.push_back(gradient.read());
        return out;
    }

private:
    KernelRequest forwardRequest() {
        KernelRequest request = m_request;
        request.direction = m_options.inference ? Direction::Inference : Direction::Forward;
        request.inputs = {m_input.operand()};
        if (!m_case.isLoss())
            request.outputs = {forwardOutput().operand(m_case.output())};
        return request;
    }

    KernelRequest backwardRequest() {
        const graph::OperationTraits& traits = graph::traits(m_case.kind);
        KernelRequest request = m_request;
        request.direction = Direction::Backward;
        request.addToParameterGradient.assign(request.parameters.size(), m_options.addToGradients);
        request.addToInputGradient = {m_options.addToGradients};
        request.inputs = {traits.readsInput ? m_input.operand() : m_input.absent()};
        if (!m_case.isLoss()) {
            request.outputs = {traits.readsOutput ? forwardOutput().operand(m_case.output())
                                                  : m_output.absent()};
            request.outputGradients = {m_outputGradient.operand()};
        }
        request.inputGradients = {backwardOutput().operand(m_case.input)};
        for (Value& gradient : m_gradients)
            request.parameterGradients.push_back(gradient.operand());
        return request;
    }

    Value& forwardOutput() { return m_options.inPlace ? m_input : m_output; }
    const Value& forwardOutput() const { return m_options.inPlace ? m_input : m_output; }
    Value& backwardOutput() { return m_options.inPlace ? m_outputGradient : m_inputGradient; }
    const Value& backwardOutput() const {
        return m_options.inPlace ? m_outputGradient : m_inputGradient;
    }

    void fillGradients() {
        const std::int64_t count = m_case.rows * elementCount(m_case.input);
        m_inputGradient.write(
            std::vector<double>(static_cast<std::size_t>(count), kInitialGradient));
        for (std::size_t i = 0; i < m_gradients.size(); ++i)
            m_gradients[i].write(
                std::vector<double>(m_values.parameters[i].size(), kInitialGradient));
    }

    const OperationCase& m_case;
    const OperationValues& m_values;
    OperationOptions m_options;
    Value m_input, m_output, m_inputGradient, m_outputGradient;
    GuardedBuffer m_saved;
    std::vector<Value> m_parameters, m_gradients;
    double m_lossSums[2] = {0, 0};
    KernelRequest m_request;
    std::unique_ptr<engine::Kernel> m_forward, m_backward;
};

namespace {

/// Uniform in [-1, 1], exact in fp32.
double uniform(std::uint64_t seed, std::uint64_t index) {
    const Philox4 words = randomWords(seed, RandomStream::Weights, 0, 0, index);
    return 2.0 * static_cast<double>(unitFloat(words[0])) - 1.0;
}

std::vector<double> uniforms(std::uint64_t seed, std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = uniform(seed, i);
    return values;
}

/// Distinct values, 1/128 apart, in random order: no two of a window are near each other.
std::vector<double> distinct(std::uint64_t seed, std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t place = permuted(seed, RandomStream::Shuffle, 0, i, count);
        values[static_cast<std::size_t>(i)] = static_cast<double>(place - count / 2) / 128.0;
    }
    return values;
}

} // namespace

Shape OperationCase::output() const {
    return engine::outputShape(kind, attributes, input);
}

bool OperationCase::plain() const {
    return inputLayout == Layout::Plain && outputLayout == Layout::Plain;
}

OperationCase OperationCase::inPlainLayout() const {
    OperationCase c = *this;
    c.inputLayout = c.outputLayout = Layout::Plain;
    return c;
}

std::int64_t OperationCase::parameterCount() const {
    if (const auto* linear = std::get_if<graph::LinearAttributes>(&attributes))
        return linear->bias ? 2 : 1;
    if (const auto* conv = std::get_if<graph::Conv2dAttributes>(&attributes))
        return conv->bias ? 2 : 1;
    return 0;
}

Shape OperationCase::parameterShape(std::int64_t index) const {
    if (const auto* linear = std::get_if<graph::LinearAttributes>(&attributes))
        return index == 0 ? Shape{linear->outFeatures, linear->inFeatures}
                          : Shape{linear->outFeatures};
    const auto& conv = std::get<graph::Conv2dAttributes>(attributes);
    return index == 0
               ? Shape{conv.outChannels, conv.inChannels, conv.kernelHeight, conv.kernelWidth}
               : Shape{conv.outChannels};
}

OperationValues randomValues(const OperationCase& c) {
    const std::uint64_t seed = std::hash<std::string>{}(c.inPlainLayout().name);
    const std::int64_t inputs = c.rows * elementCount(c.input);
    OperationValues values;
    values.input =
        c.kind == OperationKind::MaxPool ? distinct(seed, inputs) : uniforms(seed, inputs);
    if (c.kind == OperationKind::Relu)
        for (double& x : values.input)
            x += x < 0 ? -0.125 : 0.125;
    for (std::int64_t i = 0; i < c.parameterCount(); ++i)
        values.parameters.push_back(
            uniforms(seed + 1 + static_cast<std::uint64_t>(i), elementCount(c.parameterShape(i))));
    if (c.isLoss()) {
        for (double& x : values.input)
            x *= 4;
        for (std::int64_t row = 0; row < c.rows; ++row)
            values.labels.push_back(static_cast<std::int32_t>(
                permuted(seed, RandomStream::Shuffle, 1, row % c.input[0], c.input[0])));
    } else {
        values.outputGradient = uniforms(seed + 9, c.rows * elementCount(c.output()));
    }
    values.context = {.seed = seed, .step = 7, .firstRow = 5, .globalRows = c.rows + 3};
    return values;
}

OperationBench::OperationBench(engine::Backend& backend, DType type, const OperationCase& c,
                               const OperationValues& values, const OperationOptions& options)
    : m_memory(std::make_unique<Memory>(type, c, values, options)) {
    m_memory->compile(backend);
}

OperationBench::~OperationBench() = default;

void OperationBench::compile(engine::Backend& backend) {
    m_memory->compile(backend);
}

void OperationBench::run() {
    m_memory->run();
}

void OperationBench::runKernels() {
    m_memory->runKernels();
}

OperationResults OperationBench::results() const {
    return m_memory->results();
}

OperationResults evaluate(engine::Backend& backend, DType type, const OperationCase& c,
                          const OperationValues& values, const OperationOptions& options) {
    OperationBench bench(backend, type, c, values, options);
    bench.run();
    return bench.results();
}

double relativeDistance(const std::vector<double>& actual, const std::vector<double>& expected) {
    if (actual.size() != expected.size())
        return std::numeric_limits<double>::infinity();
    double distance = 0, norm = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        distance += (actual[i] - expected[i]) * (actual[i] - expected[i]);
        norm += expected[i] * expected[i];
    }
    return std::sqrt(norm > 0 ? distance / norm : distance);
}

} // namespace trainyard::test
