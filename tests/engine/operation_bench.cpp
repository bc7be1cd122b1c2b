// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/operation_bench.h"

#include "tests/engine/laid_out_value.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

namespace trainyard::test {

using engine::Direction;
using engine::KernelRequest;
using engine::Operand;
using graph::OperationKind;

/// All memory of an operation, the requests over it and the kernels made of them.
class OperationBench::Memory {
public:
    Memory(DType type, const OperationCase& c, const OperationValues& values,
           const OperationOptions& options)
        : m_case(c), m_values(values), m_options(options),
          m_output(type, c.rows, c.output(), c.outputLayout, "output"),
          m_outputGradient(type, c.rows, c.output(), c.outputLayout, "output gradient"),
          m_saved(DType::Int32, savedWords(type, c), "saved"),
          m_targets(exactType(type), c.rows * c.targetsPerRow(), "targets"),
          m_statistics(static_cast<std::size_t>(2 * c.input.front() + 1)),
          m_lossSums(engine::kLossSums) {
        for (const Port& port : c.inputs()) {
            m_inputs.emplace_back(c.hasIndices() ? DType::Int32 : type, c.rows, port.shape,
                                  port.layout, "input");
            m_inputGradients.emplace_back(type, c.rows, port.shape, port.layout, "input gradient");
        }
        for (const Shape& shape : c.parameterShapes()) {
            const bool rounded = graph::readsRounded(c.kind, m_parameters.size());
            m_parameters.emplace_back(rounded ? type : exactType(type), 1, shape, Layout::Plain,
                                      "parameter");
            m_parameters.back().write(values.parameters[m_parameters.size() - 1]);
            m_parameterGradients.emplace_back(exactType(type), 1, shape, Layout::Plain,
                                              "parameter gradient");
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
        for (std::vector<LaidOutValue>* values : {&m_inputGradients, &m_parameterGradients})
            for (LaidOutValue& value : *values)
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
        return static_cast<std::int64_t>(
            (graph::savedBytes(c.kind, c.attributes, c.input, c.output(), c.outputLayout, c.rows,
                               type) +
             3) /
            4);
    }

    void makeRequest(DType type) {
        m_request.kind = m_case.kind;
        m_request.attributes = m_case.attributes;
        m_request.type = type;
        m_request.rows = m_case.rows;
        m_request.saved = m_case.rows > 0 ? m_saved.data() : nullptr; // as a rank without rows
        m_request.statistics = m_options.phases ? m_statistics.data() : nullptr;
        m_request.labels = m_values.labels.data();
        m_request.targets = m_targets.data();
        m_request.lossSums = m_lossSums.data();
        m_request.confusion = m_confusion.empty() ? nullptr : m_confusion.data();
        for (LaidOutValue& parameter : m_parameters)
            m_request.parameters.push_back(parameter.operand());
    }

    KernelRequest forwardRequest() {
        KernelRequest request = m_request;
        request.direction = m_options.inference ? Direction::Inference : Direction::Forward;
        for (LaidOutValue& input : m_inputs)
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
            LaidOutValue& input = m_inputs[i];
            request.inputs.push_back(traits.readsInput ? input.operand() : input.absent());
            request.inputGradients.push_back(wanted(i) ? inputGradient(i).operand(input.shape())
                                                       : m_inputGradients[i].absent());
        }
        for (std::size_t i = 0; i < m_parameters.size(); ++i) {
            LaidOutValue& gradient = m_parameterGradients[i];
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

    LaidOutValue& forwardOutput() {
        return m_options.inPlace < 0 ? m_output
                                     : m_inputs[static_cast<std::size_t>(m_options.inPlace)];
    }
    LaidOutValue& inputGradient(std::size_t input) {
        return inPlace(input) ? m_outputGradient : m_inputGradients[input];
    }

    void fillGradients() {
        for (std::vector<LaidOutValue>* values : {&m_inputGradients, &m_parameterGradients})
            for (LaidOutValue& value : *values)
                value.write(std::vector<double>(value.count(), kInitialGradient));
    }

    const OperationCase& m_case;
    const OperationValues& m_values;
    OperationOptions m_options;
    std::vector<LaidOutValue> m_inputs, m_inputGradients;
    LaidOutValue m_output, m_outputGradient;
    GuardedBuffer m_saved, m_targets;
    std::vector<LaidOutValue> m_parameters, m_parameterGradients;
    std::vector<double> m_statistics, m_lossSums;
    std::vector<std::int64_t> m_confusion;
    KernelRequest m_request;
    std::vector<std::unique_ptr<engine::Kernel>> m_kernels;
};

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
