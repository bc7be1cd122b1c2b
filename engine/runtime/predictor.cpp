// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/predictor.h"

#include "engine/runtime/machine.h"
#include "engine/runtime/rounding.h"

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
    const plan::Section& section = plan.sectionOf(0);
    predictor->m_parameters = Arena(section.arenaElements * bytesOf(exactType(plan.type)));
    predictor->m_rounded = Arena(plan::roundedBytes(plan, section));
    if (Result<void> copied = weights.copyInto(plan, predictor->m_parameters.data()); !copied)
        return copied.error();
    if (predictor->m_rounded.bytes() > 0)
        roundToBf16(reinterpret_cast<const float*>(predictor->m_parameters.data()),
                    reinterpret_cast<Bf16*>(predictor->m_rounded.data()), section.arenaElements);
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
    m_numbers = Arena(targets * bytesOf(exactType(m_plan.type)));
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
    return {m_activations.data() + m_program.places.front().values[indexOf(value)].offset,
            info.shape, info.layout};
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
    for (std::size_t i = 0; i < operation.parameters.size(); ++i) {
        const std::size_t id = indexOf(operation.parameters[i]);
        const bool rounded = m_rounded.bytes() > 0 && graph::readsRounded(operation.kind, i);
        const std::byte* arena = (rounded ? m_rounded : m_parameters).data();
        const std::size_t size = bytesOf(rounded ? m_plan.type : exactType(m_plan.type));
        request.parameters.push_back(
            {const_cast<std::byte*>(arena) + m_plan.sectionOf(0).parameterOffset[id] * size,
             m_plan.graph.parameters[id].shape, Layout::Plain});
    }
    return request;
}

void Predictor::run(const std::function<void(const BatchMemory&)>& load) {
    const bool indices = m_plan.graph.values[indexOf(m_plan.graph.input)].indices;
    const plan::Placement& inputs =
        m_program.places.front().loaded.bytes > 0
            ? m_program.places.front().loaded
            : m_program.places.front().values[indexOf(m_plan.graph.input)];
    load({.inputs = m_activations.data() + inputs.offset,
          .inputType = indices ? DType::Int32 : exactType(m_plan.type),
          .labels = m_labels.data(),
          .numbers = m_numbers.data(),
          .numberType = exactType(m_plan.type)});
    roundLoaded(m_plan.graph, m_program.places.front(), m_activations.data());
    const StepContext context{.globalRows = rows()};
    for (const std::unique_ptr<Kernel>& kernel : m_kernels)
        kernel->run(context);
}

std::vector<double> Predictor::valuesAt(DType type, const std::byte* data, std::size_t first,
                                        std::size_t count) const {
    std::vector<double> values(count);
    if (type == DType::Fp64)
        std::copy_n(reinterpret_cast<const double*>(data) + first, count, values.begin());
    else if (type == DType::Bf16)
        std::transform(reinterpret_cast<const Bf16*>(data) + first,
                       reinterpret_cast<const Bf16*>(data) + first + count, values.begin(),
                       [](Bf16 value) { return static_cast<double>(widened(value)); });
    else
        std::copy_n(reinterpret_cast<const float*>(data) + first, count, values.begin());
    return values;
}

std::vector<double> Predictor::scores(std::int64_t row) const {
    const Operand logits = activation(m_plan.graph.logits);
    TRAINYARD_CHECK(logits.layout == Layout::Plain);
    const auto count = static_cast<std::size_t>(elementCount(logits.shape));
    return valuesAt(m_plan.type, static_cast<const std::byte*>(logits.data),
                    static_cast<std::size_t>(row) * count, count);
}

std::vector<double> Predictor::scoresAt(std::int64_t row, std::int64_t position) const {
    const Operand logits = activation(m_plan.graph.logits);
    TRAINYARD_CHECK_EQ(logits.shape.size(), std::size_t{2});
    TRAINYARD_CHECK(position >= 0 && position < logits.shape.front());
    const auto classes = static_cast<std::size_t>(logits.shape.back());
    const auto before = static_cast<std::size_t>(row * logits.shape.front() + position);
    return valuesAt(m_plan.type, static_cast<const std::byte*>(logits.data), before * classes,
                    classes);
}

std::vector<double> Predictor::numbers(std::int64_t row) const {
    const auto count = static_cast<std::size_t>(elementCount(m_plan.graph.targetShape()));
    return valuesAt(exactType(m_plan.type), m_numbers.data(), static_cast<std::size_t>(row) * count,
                    count);
}

} // namespace trainyard::engine
