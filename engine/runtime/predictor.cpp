// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/predictor.h"

#include "engine/runtime/machine.h"

#include <algorithm>

namespace trainyard::engine {

namespace {

std::size_t indexOf(std::int32_t id) {
    return static_cast<std::size_t>(id);
}

/// The experiment as one rank of this machine runs it.
spec::Experiment alone(spec::Experiment experiment, std::int64_t rows) {
    experiment.parallel = {};
    experiment.devices.clear();
    experiment.training.batch = rows;
    return experiment;
}

} // namespace

Result<std::unique_ptr<Predictor>> Predictor::make(const SavedWeights& weights, std::int64_t rows,
                                                   int threads) {
    const spec::Experiment experiment = alone(weights.experiment(), rows);
    DatasetInfo samples = weights.data();
    samples.samples = rows;
    const plan::MachineFacts machine = machineFacts(experiment.precision);
    plan::PlanOutcome planned = plan::makePlan(experiment, countsOf(samples, &samples), machine);
    if (!planned.problems.empty())
        return planned.problems.front();
    std::unique_ptr<Predictor> predictor(new Predictor);
    predictor->m_plan = std::move(planned.plan);
    const plan::Plan& plan = predictor->m_plan;
    predictor->m_parameters = Arena(plan.arenaElements * bytesOf(plan.type));
    if (Result<void> copied = weights.copyInto(plan, predictor->m_parameters.data()); !copied)
        return copied.error();
    predictor->m_backend = makeBackend(experiment.precision, threads);
    predictor->m_program = plan::compileProgram(plan, 0, plan::Purpose::Evaluation, rows);
    predictor->makeKernels();
    return predictor;
}

void Predictor::makeKernels() {
    m_activations = Arena(m_program.activationBytes);
    const auto targets =
        static_cast<std::size_t>(rows() * elementCount(m_plan.graph.targetShape()));
    m_labels.assign(targets, 0);
    m_numbers = Arena(targets * bytesOf(m_plan.type));
    for (const plan::Instruction& instruction : m_program.instructions) {
        if (instruction.opcode != plan::Opcode::Inference)
            continue;
        const graph::Operation& operation = m_plan.graph.operations[indexOf(instruction.operation)];
        if (!graph::isLoss(operation.kind))
            m_kernels.push_back(m_backend->compile(requestFor(operation)));
    }
}

Operand Predictor::activation(graph::ValueId value) const {
    const graph::ValueInfo& info = m_plan.graph.values[indexOf(value)];
    return {m_activations.data() + m_program.values[indexOf(value)].offset, info.shape,
            info.layout};
}

KernelRequest Predictor::requestFor(const graph::Operation& operation) const {
    KernelRequest request;
    request.kind = operation.kind;
    request.attributes = operation.attributes;
    request.direction = Direction::Inference;
    request.type = m_plan.type;
    request.rows = rows();
    for (const graph::ValueId input : operation.inputs)
        request.inputs.push_back(activation(input));
    for (const graph::ValueId output : operation.outputs)
        request.outputs.push_back(activation(output));
    for (const graph::ParameterId id : operation.parameters)
        request.parameters.push_back(
            {m_parameters.data() + m_plan.parameterOffset[indexOf(id)] * bytesOf(m_plan.type),
             m_plan.graph.parameters[indexOf(id)].shape, Layout::Plain});
    return request;
}

void Predictor::run(const std::function<void(const BatchMemory&)>& load) {
    const bool indices = m_plan.graph.values[indexOf(m_plan.graph.input)].indices;
    load({.inputs = activation(m_plan.graph.input).data,
          .inputType = indices ? DType::Int32 : m_plan.type,
          .labels = m_labels.data(),
          .numbers = m_numbers.data(),
          .numberType = m_plan.type});
    const StepContext context{.globalRows = rows()};
    for (const std::unique_ptr<Kernel>& kernel : m_kernels)
        kernel->run(context);
}

std::vector<double> Predictor::valuesAt(const std::byte* data, std::size_t first,
                                        std::size_t count) const {
    std::vector<double> values(count);
    if (m_plan.type == DType::Fp64)
        std::copy_n(reinterpret_cast<const double*>(data) + first, count, values.begin());
    else
        std::copy_n(reinterpret_cast<const float*>(data) + first, count, values.begin());
    return values;
}

std::vector<double> Predictor::scores(std::int64_t row) const {
    const Operand logits = activation(m_plan.graph.logits);
    TRAINYARD_CHECK(logits.layout == Layout::Plain);
    const auto count = static_cast<std::size_t>(elementCount(logits.shape));
    return valuesAt(static_cast<const std::byte*>(logits.data),
                    static_cast<std::size_t>(row) * count, count);
}

std::vector<double> Predictor::scoresAt(std::int64_t row, std::int64_t position) const {
    const Operand logits = activation(m_plan.graph.logits);
    TRAINYARD_CHECK_EQ(logits.shape.size(), std::size_t{2});
    TRAINYARD_CHECK(position >= 0 && position < logits.shape.front());
    const auto classes = static_cast<std::size_t>(logits.shape.back());
    const auto before = static_cast<std::size_t>(row * logits.shape.front() + position);
    return valuesAt(static_cast<const std::byte*>(logits.data), before * classes, classes);
}

std::vector<double> Predictor::numbers(std::int64_t row) const {
    const auto count = static_cast<std::size_t>(elementCount(m_plan.graph.targetShape()));
    return valuesAt(m_numbers.data(), static_cast<std::size_t>(row) * count, count);
}

} // namespace trainyard::engine
