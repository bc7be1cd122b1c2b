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
        const auto index = static_cast<std::int32_t>(value);
        if (m_type == DType::Fp64)
            std::memcpy(to, &value, sizeof value);
        else if (m_type == DType::Fp32)
            std::memcpy(to, &narrow, sizeof narrow);
        else
            std::memcpy(to, &index, sizeof index);
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

    const Shape& shape() const { return m_shape; }
    std::size_t count() const { return static_cast<std::size_t>(m_rows * elementCount(m_shape)); }
    void spoil() { m_buffer.spoil(); }

    void write(const std::vector<double>& values) {
        m_buffer.fill(0); // the padding
        forEach([&](std::int64_t stored, std::size_t i) { m_buffer.set(stored, values.at(i)); });
    }

    std::vector<double> read() const {
        m_buffer.checkGuards();
        std::vector<double> values(count());
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
          m_output(type, c.rows, c.output(), c.outputLayout, "output"),
          m_outputGradient(type, c.rows, c.output(), c.outputLayout, "output gradient"),
          m_saved(DType::Int32, savedWords(type, c), "saved"),
          m_targets(type, c.rows * c.targetsPerRow(), "targets"),
          m_statistics(static_cast<std::size_t>(2 * c.input.front() + 1)),
          m_lossSums(engine::kLossSums) {
        for (const Port& port : c.inputs()) {
            m_inputs.emplace_back(c.hasIndices() ? DType::Int32 : type, c.rows, port.shape,
                                  port.layout, "input");
            m_inputGradients.emplace_back(type, c.rows, port.shape, port.layout, "input gradient");
        }
        for (const Shape& shape : c.parameterShapes()) {
            m_parameters.emplace_back(type, 1, shape, Layout::Plain, "parameter");
            m_parameters.back().write(values.parameters[m_parameters.size() - 1]);
            m_parameterGradients.emplace_back(type, 1, shape, Layout::Plain, "parameter gradient");
        }
        if (c.kind == OperationKind::SoftmaxCrossEntropy)
            m_confusion.resize(static_cast<std::size_t>(c.input.back() * c.input.back()));
        makeRequest(type);
    }

    /// All kernels are made before any runs, as for a training run.
    void compile(engine::Backend& backend) {
        m_kernels.clear();
        for (const Direction direction : {Direction::Forward, Direction::Backward}) {
            if (direction == Direction::Backward && m_options.inference)
                continue;
            KernelRequest request =
                direction == Direction::Backward ? backwardRequest() : forwardRequest();
            if (m_options.phases) {
                request.phase = plan::Phase::Collect;
                m_kernels.push_back(backend.compile(request));
                request.phase = plan::Phase::Apply;
            }
            m_kernels.push_back(backend.compile(request));
        }
    }

    /// Memory that a kernel has to fill is NaN before: it may have held other values.
    void prepare() {
        m_output.spoil();
        m_outputGradient.spoil();
        for (std::vector<Value>* values : {&m_inputGradients, &m_parameterGradients})
            for (Value& value : *values)
                value.spoil();
        for (std::size_t i = 0; i < m_inputs.size(); ++i)
            m_inputs[i].write(m_values.inputs[i]);
        if (!m_case.isLoss())
            m_outputGradient.write(m_values.outputGradient);
        for (std::size_t i = 0; i < m_values.targets.size(); ++i)
            m_targets.set(static_cast<std::int64_t>(i), m_values.targets[i]);
        if (m_options.addToGradients)
            fillGradients();
        std::ranges::fill(m_lossSums, 0.0);
        std::ranges::fill(m_confusion, 0);
        std::ranges::fill(m_statistics, std::numeric_limits<double>::quiet_NaN());
    }

    void runKernels() {
        for (const auto& kernel : m_kernels)
            kernel->run(m_values.context);
    }

    void runKernel(std::size_t index) { m_kernels.at(index)->run(m_values.context); }
    std::vector<double>& statistics() { return m_statistics; }

    OperationResults results() {
        OperationResults out;
        m_saved.checkGuards();
        out.lossSums = m_lossSums;
        out.confusion = m_confusion;
        if (!m_case.isLoss())
            out.output = forwardOutput().read();
        if (m_options.inference)
            return out;
        for (std::size_t i = 0; i < m_inputs.size(); ++i)
            out.inputGradients.push_back(wanted(i) ? inputGradient(i).read()
                                                   : std::vector<double>());
        for (std::size_t i = 0; i < m_parameters.size(); ++i)
            out.parameterGradients.push_back(wanted(m_inputs.size() + i)
                                                 ? m_parameterGradients[i].read()
                                                 : std::vector<double>());
        return out;
    }

private:
    static std::int64_t savedWords(DType type, const OperationCase& c) {
        if (c.isLoss())
            return 0;
        return static_cast<std::int64_t>(graph::savedBytes(c.kind, c.attributes, c.input,
                                                           c.output(), c.outputLayout, c.rows,
                                                           type) /
                                         4);
    }

    void makeRequest(DType type) {
        m_request.kind = m_case.kind;
        m_request.attributes = m_case.attributes;
        m_request.type = type;
        m_request.rows = m_case.rows;
        m_request.saved = m_saved.data();
        m_request.statistics = m_options.phases ? m_statistics.data() : nullptr;
        m_request.labels = m_values.labels.data();
        m_request.targets = m_targets.data();
        m_request.lossSums = m_lossSums.data();
        m_request.confusion = m_confusion.empty() ? nullptr : m_confusion.data();
        for (Value& parameter : m_parameters)
            m_request.parameters.push_back(parameter.operand());
    }

    KernelRequest forwardRequest() {
        KernelRequest request = m_request;
        request.direction = m_options.inference ? Direction::Inference : Direction::Forward;
        for (Value& input : m_inputs)
            request.inputs.push_back(input.operand());
        if (!m_case.isLoss())
            request.outputs = {forwardOutput().operand(m_case.output())};
        return request;
    }

    KernelRequest backwardRequest() {
        const graph::OperationTraits& traits = graph::traits(m_case.kind);
        KernelRequest request = m_request;
        request.direction = Direction::Backward;
        request.addToParameterGradient.assign(m_parameters.size(), m_options.addToGradients);
        request.addToInputGradient.assign(m_inputs.size(), m_options.addToGradients);
        if (!m_case.isLoss()) {
            request.outputs = {traits.readsOutput ? forwardOutput().operand(m_case.output())
                                                  : m_output.absent()};
            request.outputGradients = {m_outputGradient.operand()};
        }
        for (std::size_t i = 0; i < m_inputs.size(); ++i) {
            Value& input = m_inputs[i];
            request.inputs.push_back(traits.readsInput ? input.operand() : input.absent());
            request.inputGradients.push_back(wanted(i) ? inputGradient(i).operand(input.shape())
                                                       : m_inputGradients[i].absent());
        }
        for (std::size_t i = 0; i < m_parameters.size(); ++i) {
            Value& gradient = m_parameterGradients[i];
            request.parameterGradients.push_back(wanted(m_inputs.size() + i) ? gradient.operand()
                                                                             : gradient.absent());
        }
        return request;
    }

    /// Inputs are numbered before parameters. Indices have no gradient.
    bool wanted(std::size_t gradient) const {
        if (gradient < m_inputs.size() && m_case.hasIndices())
            return false;
        return m_options.onlyGradient < 0 ||
               gradient == static_cast<std::size_t>(m_options.onlyGradient);
    }

    bool inPlace(std::size_t input) const {
        return m_options.inPlace >= 0 && input == static_cast<std::size_t>(m_options.inPlace);
    }

    Value& forwardOutput() {
        return m_options.inPlace < 0 ? m_output
                                     : m_inputs[static_cast<std::size_t>(m_options.inPlace)];
    }
    Value& inputGradient(std::size_t input) {
        return inPlace(input) ? m_outputGradient : m_inputGradients[input];
    }

    void fillGradients() {
        for (std::vector<Value>* values : {&m_inputGradients, &m_parameterGradients})
            for (Value& value : *values)
                value.write(std::vector<double>(value.count(), kInitialGradient));
    }

    const OperationCase& m_case;
    const OperationValues& m_values;
    OperationOptions m_options;
    std::vector<Value> m_inputs, m_inputGradients;
    Value m_output, m_outputGradient;
    GuardedBuffer m_saved, m_targets;
    std::vector<Value> m_parameters, m_parameterGradients;
    std::vector<double> m_statistics, m_lossSums;
    std::vector<std::int64_t> m_confusion;
    KernelRequest m_request;
    std::vector<std::unique_ptr<engine::Kernel>> m_kernels;
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

/// Labels of all classes in turn, and in between some that are to be ignored.
std::vector<std::int32_t> labelsFor(const OperationCase& c, std::uint64_t seed) {
    const std::int64_t classes = c.input.back();
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < c.rows * c.targetsPerRow(); ++i)
        labels.push_back(static_cast<std::int32_t>(
            permuted(seed, RandomStream::Shuffle, 1, i % classes, classes)));
    const auto* a = std::get_if<graph::CrossEntropyAttributes>(&c.attributes);
    for (std::size_t i = 1; i < labels.size() && a && a->ignoredLabel >= 0; i += 4)
        labels[i] = i % 8 == 1 ? -7 : static_cast<std::int32_t>(a->ignoredLabel);
    return labels;
}

/// Errors are odd multiples of 1/64: never near 0 or a whole delta, where losses have their kinks.
std::vector<double> targetsFor(const OperationCase& c, std::uint64_t seed,
                               const std::vector<double>& predictions) {
    std::vector<double> targets = uniforms(seed, c.rows * c.targetsPerRow());
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const double u = targets[i];
        if (c.kind == OperationKind::BinaryCrossEntropy)
            targets[i] = i % 3 == 0 ? (u > 0 ? 1 : 0) : (u + 1) / 2;
        else
            targets[i] = predictions[i] + (std::floor(u * 32) + 0.5) / 32;
        targets[i] = static_cast<double>(static_cast<float>(targets[i]));
    }
    return targets;
}

std::vector<double> inputFor(const OperationCase& c, std::uint64_t seed, const Shape& shape) {
    const std::int64_t count = c.rows * elementCount(shape);
    if (c.kind == OperationKind::MaxPool)
        return distinct(seed, count);
    std::vector<double> values = uniforms(seed, count);
    for (double& x : values) {
        if (c.kind == OperationKind::Relu)
            x += x < 0 ? -0.125 : 0.125;
        if (c.isLoss())
            x *= 4;
        if (const auto* table = std::get_if<graph::EmbeddingAttributes>(&c.attributes))
            x = std::floor((x + 1) / 2 * static_cast<double>(table->vocabulary) * 0.999);
    }
    return values;
}

template <class Item>
std::vector<Item> slice(const std::vector<Item>& items, std::int64_t first, std::int64_t count) {
    return {items.begin() + first, items.begin() + first + count};
}

} // namespace

std::vector<Port> OperationCase::inputs() const {
    std::vector<Port> all = {{input, inputLayout}};
    all.insert(all.end(), moreInputs.begin(), moreInputs.end());
    return all;
}

Shape OperationCase::output() const {
    std::vector<Shape> shapes;
    for (const Port& port : inputs())
        shapes.push_back(port.shape);
    return engine::outputShape(kind, attributes, shapes);
}

bool OperationCase::plain() const {
    return outputLayout == Layout::Plain && std::ranges::all_of(inputs(), [](const Port& port) {
               return port.layout == Layout::Plain;
           });
}

OperationCase OperationCase::inPlainLayout() const {
    OperationCase c = *this;
    c.inputLayout = c.outputLayout = Layout::Plain;
    for (Port& port : c.moreInputs)
        port.layout = Layout::Plain;
    return c;
}

bool OperationCase::hasForms() const {
    return kind == OperationKind::Linear || kind == OperationKind::Conv2d;
}

std::vector<Shape> OperationCase::parameterShapes() const {
    return engine::parameterShapes(kind, attributes, input);
}

bool OperationCase::isStatistic(std::size_t parameter) const {
    return kind == OperationKind::BatchNorm && parameter >= 2;
}

std::int64_t OperationCase::targetsPerRow() const {
    if (!isLoss())
        return 0;
    const std::int64_t elements = elementCount(input);
    return kind == OperationKind::SoftmaxCrossEntropy ? elements / input.back() : elements;
}

OperationValues randomValues(const OperationCase& c) {
    const std::uint64_t seed = std::hash<std::string>{}(c.inPlainLayout().name);
    OperationValues values;
    for (const Port& port : c.inputs())
        values.inputs.push_back(inputFor(c, seed + 20 * values.inputs.size(), port.shape));
    for (const Shape& shape : c.parameterShapes()) {
        const std::size_t i = values.parameters.size();
        values.parameters.push_back(uniforms(seed + 1 + i, elementCount(shape)));
        for (double& x : values.parameters.back())
            x = c.isStatistic(i) ? 1.25 + x : x; // a variance is positive
    }
    if (c.kind == OperationKind::SoftmaxCrossEntropy)
        values.labels = labelsFor(c, seed);
    else if (c.isLoss())
        values.targets = targetsFor(c, seed + 9, values.inputs[0]);
    else
        values.outputGradient = uniforms(seed + 9, c.rows * elementCount(c.output()));
    values.context = {.seed = seed, .step = 7, .firstRow = 5, .globalRows = c.rows + 3};
    return values;
}

OperationValues partOf(const OperationCase& c, const OperationValues& values, std::int64_t first,
                       std::int64_t count) {
    OperationValues part = values;
    const std::vector<Port> ports = c.inputs();
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const std::int64_t elements = elementCount(ports[i].shape);
        part.inputs[i] = slice(values.inputs[i], first * elements, count * elements);
    }
    if (!c.isLoss()) {
        const std::int64_t elements = elementCount(c.output());
        part.outputGradient = slice(values.outputGradient, first * elements, count * elements);
    }
    const std::int64_t targets = c.targetsPerRow();
    if (!values.labels.empty())
        part.labels = slice(values.labels, first * targets, count * targets);
    if (!values.targets.empty())
        part.targets = slice(values.targets, first * targets, count * targets);
    part.context.firstRow += first;
    return part;
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

void OperationBench::prepare() {
    m_memory->prepare();
}

void OperationBench::run() {
    m_memory->prepare();
    m_memory->runKernels();
}

void OperationBench::runKernel(std::size_t index) {
    m_memory->runKernel(index);
}

std::vector<double>& OperationBench::statistics() {
    return m_memory->statistics();
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

OperationResults evaluateInParts(engine::Backend& backend, DType type, const OperationCase& c,
                                 const OperationValues& values,
                                 const std::vector<std::int64_t>& rows) {
    std::vector<OperationCase> cases(rows.size(), c);
    std::vector<OperationValues> parts;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        cases[i].rows = rows[i];
        parts.push_back(partOf(c, values, first, rows[i]));
        first += rows[i];
    }
    std::vector<std::unique_ptr<OperationBench>> benches;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        benches.push_back(std::make_unique<OperationBench>(backend, type, cases[i], parts[i],
                                                           OperationOptions{.phases = true}));
        benches.back()->prepare();
    }
    for (std::size_t kernel = 0; kernel < 4; ++kernel) {
        for (const auto& bench : benches)
            bench->runKernel(kernel);
        std::vector<double> sum(benches.front()->statistics().size());
        for (const auto& bench : benches)
            std::ranges::transform(sum, bench->statistics(), sum.begin(), std::plus());
        for (const auto& bench : benches)
            if (kernel % 2 == 0) // after Collect
                bench->statistics() = sum;
    }
    OperationResults joined = benches.front()->results();
    const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
        to.insert(to.end(), from.begin(), from.end());
    };
    for (std::size_t i = 1; i < benches.size(); ++i) {
        const OperationResults part = benches[i]->results();
        append(joined.output, part.output);
        append(joined.inputGradients[0], part.inputGradients[0]);
        for (std::size_t p = 0; p < part.parameterGradients.size(); ++p)
            std::ranges::transform(joined.parameterGradients[p], part.parameterGradients[p],
                                   joined.parameterGradients[p].begin(), std::plus());
    }
    return joined;
}

double relativeDistance(const std::vector<double>& actual, const std::vector<double>& expected) {
    if (actual.size() != expected.size())
        return std::numeric_limits<double>::infinity();
    double distance = 0, norm = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        distance += (actual[i] - expected[i]) * (actual[i] - expected[i]);
        norm += expected[i] * expected[i];
    }
    constexpr double kZero = 1e-30; // squares of rounding errors
    return std::sqrt(norm > kZero ? distance / norm : distance);
}

} // namespace trainyard::test
