// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/executor.h"

#include "engine/base/check.h"
#include "engine/base/number_text.h"
#include "engine/runtime/initial_weights.h"
#include "engine/runtime/rounding.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace trainyard::engine {

namespace {

/// A table of more classes is nothing a person can read.
constexpr std::int64_t kMostConfusionClasses = 100;

/// 0 where labels are not counted against predictions. The next word is no class to be confused.
std::int64_t confusionClasses(const graph::Graph& graph) {
    const bool words = graph.vocabulary > 0 && !graph.targetShape().empty();
    const std::int64_t classes = graph.classes();
    return words || classes > kMostConfusionClasses ? 0 : classes;
}

std::size_t at(std::int32_t id) {
    return static_cast<std::size_t>(id);
}

std::int64_t monotonicNs() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Batches of these sizes occur, largest first.
std::vector<std::pair<plan::Purpose, std::int64_t>> batchSizes(const plan::Plan& plan) {
    std::vector<std::pair<plan::Purpose, std::int64_t>> sizes;
    const auto add = [&](plan::Purpose purpose, std::int64_t rows) {
        const std::pair<plan::Purpose, std::int64_t> size{purpose, rows};
        if (rows > 0 && !std::count(sizes.begin(), sizes.end(), size))
            sizes.push_back(size);
    };
    add(plan::Purpose::Training, plan.rowsOfStep(0));
    add(plan::Purpose::Training, plan.rowsOfStep(plan.stepsPerEpoch - 1));
    add(plan::Purpose::Evaluation, std::min(plan.batch, plan.data.validationSamples));
    add(plan::Purpose::Evaluation, plan.data.validationSamples % plan.batch);
    return sizes;
}

} // namespace

Executor::Executor(const Parts& parts) : m_parts(parts) {}

Result<std::unique_ptr<Executor>> Executor::make(const Parts& parts) {
    std::unique_ptr<Executor> executor(new Executor(parts));
    if (Result<void> allocated = executor->allocate(); !allocated)
        return allocated.error();
    executor->initializeParameters();
    for (const auto& [purpose, rows] : batchSizes(parts.plan)) {
        Compiled& compiled = executor->m_compiled[{purpose, rows}];
        compiled.program = plan::compileProgram(parts.plan, parts.rank, purpose, rows);
        executor->makeKernels(compiled);
    }
    return executor;
}

Result<void> Executor::allocate() {
    const plan::Plan& plan = m_parts.plan;
    const std::size_t bytes = plan.arenaElements * bytesOf(exactType(plan.type));
    if (Result<void> taken = allocateParameters(bytes); !taken)
        return taken;
    m_rounded = Arena(plan::roundedBytes(plan));
    auto gradients = m_parts.communicator.allocateReducible(bytes);
    if (!gradients)
        return gradients.error();
    m_gradients = *gradients;
    m_update = std::make_unique<ParameterUpdate>(plan, m_parts.rank, m_parts.optimizer);
    if (plan.emaDecay)
        m_average = Arena(bytes);
    if (plan.keepsBest)
        m_best = Arena(bytes);
    std::size_t activations = 0;
    std::int64_t rows = 0;
    for (const auto& [purpose, batchRows] : batchSizes(plan)) {
        const plan::Program program = plan::compileProgram(plan, m_parts.rank, purpose, batchRows);
        activations = std::max(activations, program.activationBytes);
        rows = std::max(rows, program.microBatches.front().count);
    }
    m_activations = Arena(activations);
    const auto targets = static_cast<std::size_t>(rows * elementCount(plan.graph.targetShape()));
    if (plan.graph.loss().kind == graph::OperationKind::SoftmaxCrossEntropy)
        m_labels.assign(targets, 0);
    else
        m_numbers = Arena(targets * bytesOf(exactType(plan.type)));
    const std::int64_t classes = confusionClasses(plan.graph);
    m_confusion.assign(static_cast<std::size_t>(classes * classes), 0);
    allocateStatistics();
    return {};
}

Result<void> Executor::allocateParameters(std::size_t bytes) {
    if (!m_parts.plan.shardsOptimizer) {
        m_ownParameters = Arena(bytes);
        m_parameters = {m_ownParameters.data(), m_ownParameters.bytes()};
        return {};
    }
    auto parameters = m_parts.communicator.allocateReducible(bytes);
    if (!parameters)
        return parameters.error();
    m_parameters = *parameters;
    return {};
}

void Executor::allocateStatistics() {
    const graph::Graph& graph = m_parts.plan.graph;
    std::size_t next = 0;
    for (const graph::Operation& operation : graph.operations) {
        m_statisticsOf.push_back(next);
        if (operation.kind == graph::OperationKind::BatchNorm)
            next += 2 * static_cast<std::size_t>(
                            graph.values[at(operation.inputs.front())].shape.front()) +
                    1;
    }
    m_statistics.assign(next, 0);
}

void Executor::initializeParameters() {
    const plan::Plan& plan = m_parts.plan;
    for (std::size_t i = 0; i < plan.graph.parameters.size(); ++i) {
        const graph::ParameterInfo& info = plan.graph.parameters[i];
        const auto id = static_cast<graph::ParameterId>(i);
        initialize(info, id, m_parts.seed, exactType(plan.type),
                   parameter(m_parameters.data(), id).data);
    }
    roundParameters({0, plan.arenaElements});
    if (m_average.bytes() > 0)
        std::ranges::copy(parameters(), m_average.data());
}

Operand Executor::activation(const plan::Placement& placement, graph::ValueId value) const {
    const graph::ValueInfo& info = m_parts.plan.graph.values[at(value)];
    return {m_activations.data() + placement.offset, info.shape, info.layout};
}

Operand Executor::parameter(std::byte* arena, graph::ParameterId id) const {
    const plan::Plan& plan = m_parts.plan;
    return {arena + plan.parameterOffset[at(id)] * bytesOf(exactType(plan.type)),
            plan.graph.parameters[at(id)].shape, Layout::Plain};
}

/// What a kernel reads.
Operand Executor::parameterFor(const graph::Operation& operation, std::size_t index) const {
    const graph::ParameterId id = operation.parameters[index];
    Operand operand = parameter(m_parameters.data(), id);
    if (m_rounded.bytes() > 0 && graph::readsRounded(operation.kind, index))
        operand.data =
            m_rounded.data() + m_parts.plan.parameterOffset[at(id)] * bytesOf(DType::Bf16);
    return operand;
}

void Executor::roundParameters(plan::Shard elements) {
    if (m_rounded.bytes() > 0)
        roundToBf16(reinterpret_cast<const float*>(m_parameters.data()) + elements.firstElement,
                    reinterpret_cast<Bf16*>(m_rounded.data()) + elements.firstElement,
                    elements.elements);
}

KernelRequest Executor::requestFor(const plan::Program& program,
                                   const plan::Instruction& instruction) {
    const graph::Operation& operation = m_parts.plan.graph.operations[at(instruction.operation)];
    const graph::OperationTraits& traits = graph::traits(operation.kind);
    const bool backward = instruction.opcode == plan::Opcode::Backward;
    KernelRequest request;
    request.kind = operation.kind;
    request.attributes = operation.attributes;
    request.direction = backward                                        ? Direction::Backward
                        : instruction.opcode == plan::Opcode::Inference ? Direction::Inference
                                                                        : Direction::Forward;
    request.type = m_parts.plan.type;
    request.rows = program.microBatches[at(instruction.microBatch)].count;
    const std::vector<bool> withGradient = plan::valuesWithGradient(m_parts.plan.graph);
    const auto place = [&](graph::ValueId value) -> const plan::Placement& {
        return program.placeOf(value, m_parts.plan.graph, instruction);
    };
    for (const graph::ValueId input : operation.inputs) {
        Operand operand = activation(place(input), input);
        Operand gradient = activation(program.gradients[at(input)], input);
        if (backward && !traits.readsInput)
            operand.data = nullptr;
        if (!withGradient[at(input)])
            gradient.data = nullptr;
        request.inputs.push_back(std::move(operand));
        if (backward)
            request.inputGradients.push_back(std::move(gradient));
    }
    for (const graph::ValueId output : operation.outputs) {
        Operand operand = activation(place(output), output);
        if (backward && !traits.readsOutput)
            operand.data = nullptr;
        request.outputs.push_back(std::move(operand));
        if (backward)
            request.outputGradients.push_back(activation(program.gradients[at(output)], output));
    }
    for (std::size_t i = 0; i < operation.parameters.size(); ++i) {
        request.parameters.push_back(parameterFor(operation, i));
        if (backward)
            request.parameterGradients.push_back(
                parameter(m_gradients.data(), operation.parameters[i]));
    }
    if (backward) {
        request.addToInputGradient = program.addsToGradient[at(instruction.operation)];
        request.addToParameterGradient = program.addsToParameterGradient[at(instruction.operation)];
        if (instruction.microBatch > 0)
            request.addToParameterGradient.assign(operation.parameters.size(), true);
    }
    request.phase = instruction.phase;
    if (operation.kind == graph::OperationKind::BatchNorm)
        request.statistics = m_statistics.data() + m_statisticsOf[at(instruction.operation)];
    if (const plan::Placement& saved = program.savedPlaceOf(instruction); saved.bytes > 0)
        request.saved = m_activations.data() + saved.offset;
    if (graph::isLoss(operation.kind))
        setLoss(request);
    return request;
}

void Executor::setLoss(KernelRequest& request) {
    request.labels = m_labels.data();
    request.targets = m_numbers.data();
    request.lossSums = m_lossSums.data();
    if (request.direction == Direction::Inference && !m_confusion.empty())
        request.confusion = m_confusion.data();
}

BatchMemory Executor::batchMemory(const plan::Program& program) {
    const plan::Plan& plan = m_parts.plan;
    const bool indices = plan.graph.values[at(plan.graph.input)].indices;
    const plan::Placement& inputs =
        program.loaded.bytes > 0 ? program.loaded : program.values[at(plan.graph.input)];
    return {.inputs = m_activations.data() + inputs.offset,
            .inputType = indices ? DType::Int32 : exactType(plan.type),
            .labels = m_labels.data(),
            .numbers = m_numbers.data(),
            .numberType = exactType(plan.type)};
}

void Executor::makeKernels(Compiled& compiled) {
    for (const plan::Instruction& instruction : compiled.program.instructions) {
        compiled.kernels.push_back(nullptr);
        if (instruction.operation < 0 || instruction.opcode == plan::Opcode::ReduceStatistics)
            continue;
        const KernelKey key{instruction.opcode, instruction.operation, instruction.phase,
                            compiled.program.microBatches[at(instruction.microBatch)].count,
                            instruction.microBatch > 0};
        std::unique_ptr<Kernel>& kernel = compiled.owned[key];
        if (!kernel)
            kernel = m_parts.backend.compile(requestFor(compiled.program, instruction));
        compiled.kernels.back() = kernel.get();
    }
}

Executor::Compiled& Executor::compiled(plan::Purpose purpose, std::int64_t batchRows) {
    const auto found = m_compiled.find({purpose, batchRows});
    TRAINYARD_CHECK_MSG(found != m_compiled.end(), std::to_string(batchRows));
    return found->second;
}

void Executor::note(const plan::Instruction& instruction, std::int64_t index) {
    RankStatus* status = m_parts.status;
    if (!status)
        return;
    if (instruction.operation >= 0) {
        const std::string& layer = m_parts.plan.graph.operations[at(instruction.operation)].layer;
        const std::size_t length = std::min(layer.size(), sizeof status->layer - 1);
        std::memcpy(status->layer, layer.data(), length);
        status->layer[length] = '\0';
    }
    status->instruction.store(index, std::memory_order_relaxed);
    status->timeNs.store(monotonicNs(), std::memory_order_release);
}

Result<void> Executor::runCollective(const plan::Instruction& instruction, std::uint32_t tag,
                                     BatchSums& sums) {
    if (instruction.opcode == plan::Opcode::ReduceSums) {
        sums.values = m_lossSums;
        if (m_parts.plan.shardsOptimizer)
            sums.gradientSquares = m_update->gradientSquares(m_gradients.data());
        return reduce(sums, tag);
    }
    if (instruction.opcode == plan::Opcode::ReduceStatistics) {
        const std::size_t first = m_statisticsOf[at(instruction.operation)];
        const graph::Operation& operation =
            m_parts.plan.graph.operations[at(instruction.operation)];
        const std::int64_t channels =
            m_parts.plan.graph.values[at(operation.inputs.front())].shape.front();
        return m_parts.communicator.allReduceSum(m_statistics.data() + first,
                                                 static_cast<std::size_t>(2 * channels + 1),
                                                 DType::Fp64, tag);
    }
    const plan::Bucket& bucket = m_parts.plan.buckets[at(instruction.bucket)];
    const DType type = exactType(m_parts.plan.type);
    const std::size_t offset = bucket.firstElement * bytesOf(type);
    Communicator& communicator = m_parts.communicator;
    switch (instruction.opcode) {
    case plan::Opcode::GatherParameters:
        if (auto gathered = communicator.allGather(m_parameters.data() + offset,
                                                   bucket.elements * bytesOf(type), tag);
            !gathered)
            return gathered;
        roundParameters({bucket.firstElement, bucket.elements});
        return {};
    case plan::Opcode::ScatterGradients:
        return communicator.reduceScatterSum(m_gradients.data() + offset, bucket.elements, type,
                                             tag);
    default:
        return communicator.allReduceSum(m_gradients.data() + offset, bucket.elements, type, tag);
    }
}

Result<void> Executor::reduce(BatchSums& sums, std::uint32_t tag) {
    if (m_parts.communicator.worldSize() == 1)
        return {};
    std::array<double, kLossSums + 3> values{};
    std::ranges::copy(sums.values, values.begin());
    values[kLossSums] = sums.rows;
    values[kLossSums + 1] = sums.stopRequested ? 1.0 : 0.0;
    values[kLossSums + 2] = sums.gradientSquares;
    if (auto reduced =
            m_parts.communicator.allReduceSum(values.data(), values.size(), DType::Fp64, tag);
        !reduced)
        return reduced;
    std::copy_n(values.begin(), sums.values.size(), sums.values.begin());
    sums.rows = values[kLossSums];
    sums.stopRequested = values[kLossSums + 1] > 0;
    sums.gradientSquares = values[kLossSums + 2];
    return {};
}

Result<std::vector<std::int64_t>> Executor::takeConfusion(std::uint32_t tag) {
    std::vector<double> counts(m_confusion.begin(), m_confusion.end()); // whole numbers stay exact
    std::ranges::fill(m_confusion, 0);
    if (!counts.empty() && m_parts.communicator.worldSize() > 1)
        if (auto reduced =
                m_parts.communicator.allReduceSum(counts.data(), counts.size(), DType::Fp64, tag);
            !reduced)
            return reduced.error();
    return std::vector<std::int64_t>(counts.begin(), counts.end());
}

/// Kernels divide by all rows; where labels are ignored the mean is over fewer.
double Executor::shareCounted(const BatchSums& sums) const {
    const double all =
        sums.rows * static_cast<double>(elementCount(m_parts.plan.graph.targetShape()));
    return sums[kCounted] > 0 && sums[kCounted] < all ? all / sums[kCounted] : 1.0;
}

void Executor::update(const StepInput& input, StepResult& result) {
    const plan::Plan& plan = m_parts.plan;
    UpdateContext context;
    context.update = input.step + 1;
    context.learningRate = input.learningRate;
    context.gradientScale = shareCounted(result.sums);
    const double squares = plan.shardsOptimizer ? result.sums.gradientSquares
                                                : m_update->gradientSquares(m_gradients.data());
    result.gradientNorm = context.gradientScale * std::sqrt(squares);
    result.finite = std::isfinite(result.gradientNorm) && std::isfinite(result.sums[kLoss]);
    if (!result.finite)
        return;
    if (input.clipNorm && result.gradientNorm > *input.clipNorm)
        context.gradientScale *= *input.clipNorm / result.gradientNorm;
    if (m_rounded.bytes() > 0)
        context.rounded = reinterpret_cast<Bf16*>(m_rounded.data());
    m_update->apply(context, m_parameters.data(), m_gradients.data());
}

void Executor::averageParameters(const StepInput& input) {
    const plan::Plan& plan = m_parts.plan;
    if (plan.emaDecay)
        averageWeights(exactType(plan.type), *plan.emaDecay, input.step + 1, plan.arenaElements,
                       m_parameters.data(), m_average.data());
}

void Executor::loadPart(const plan::Program& program, const plan::Instruction& instruction,
                        const LoadBatch& load, StepContext& context) {
    const plan::RowRange& rows = program.microBatches[at(instruction.microBatch)];
    context.firstRow = rows.first;
    load(batchMemory(program), {instruction.microBatch, rows});
    roundLoaded(m_parts.plan, program, m_activations.data());
}

Result<StepResult> Executor::trainStep(std::int64_t batchRows, const StepInput& input,
                                       const LoadBatch& load) {
    Compiled& compiled = this->compiled(plan::Purpose::Training, batchRows);
    const plan::Program& program = compiled.program;
    StepContext context{m_parts.seed, input.step, program.rows.first, batchRows};
    TRAINYARD_CHECK(!m_averageIsUsed);
    StepResult result;
    result.sums.rows = static_cast<double>(program.rows.count);
    // Read once a step: the ranks agree on it by the reduction.
    result.sums.stopRequested =
        m_parts.statusHeader && m_parts.statusHeader->stopRequested.load() != 0;
    m_lossSums = {};
    if (m_parts.status)
        m_parts.status->step.store(input.step, std::memory_order_relaxed);

    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        const plan::Instruction& instruction = program.instructions[i];
        note(instruction, static_cast<std::int64_t>(i));
        switch (instruction.opcode) {
        case plan::Opcode::LoadBatch:
            loadPart(program, instruction, load, context);
            break;
        case plan::Opcode::Forward:
        case plan::Opcode::Recompute:
        case plan::Opcode::Backward:
        case plan::Opcode::Inference:
            compiled.kernels[i]->run(context);
            break;
        case plan::Opcode::ReduceGradients:
        case plan::Opcode::ScatterGradients:
        case plan::Opcode::GatherParameters:
        case plan::Opcode::ReduceStatistics:
        case plan::Opcode::ReduceSums:
            if (auto done = runCollective(instruction, static_cast<std::uint32_t>(i), result.sums);
                !done)
                return done.error();
            break;
        case plan::Opcode::Update:
            update(input, result);
            break;
        }
    }
    if (result.finite)
        averageParameters(input);
    return result;
}

void Executor::evaluate(std::int64_t batchRows, BatchSums& sums, const LoadBatch& load) {
    Compiled& compiled = this->compiled(plan::Purpose::Evaluation, batchRows);
    const plan::Program& program = compiled.program;
    StepContext context{m_parts.seed, 0, program.rows.first, batchRows};
    m_lossSums = {};
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        note(program.instructions[i], static_cast<std::int64_t>(i));
        if (program.instructions[i].opcode == plan::Opcode::LoadBatch)
            loadPart(program, program.instructions[i], load, context);
        else
            compiled.kernels[i]->run(context);
    }
    for (std::size_t i = 0; i < sums.values.size(); ++i)
        sums.values[i] += m_lossSums[i];
    sums.rows += static_cast<double>(program.rows.count);
}

void Executor::swapAverage() {
    if (m_average.bytes() == 0)
        return;
    // The contents: kernels hold the address of the parameters.
    std::swap_ranges(m_parameters.data(), m_parameters.data() + parameters().size(),
                     m_average.data());
    m_averageIsUsed = !m_averageIsUsed;
    roundParameters({0, m_parts.plan.arenaElements});
}

void Executor::keepBest() {
    TRAINYARD_CHECK(m_best.bytes() > 0);
    std::ranges::copy(parameters(), m_best.data());
}

void Executor::restoreBest() {
    TRAINYARD_CHECK(m_best.bytes() > 0);
    std::copy_n(m_best.data(), parameters().size(), m_parameters.data());
    roundParameters({0, m_parts.plan.arenaElements});
}

bool Executor::parametersAreFinite() const {
    return std::isfinite(
        norm(exactType(m_parts.plan.type), m_parameters.data(), m_parts.plan.arenaElements));
}

std::span<const std::byte> Executor::parameters() const {
    return {m_parameters.data(),
            m_parts.plan.arenaElements * bytesOf(exactType(m_parts.plan.type))};
}

plan::MemoryByClass Executor::memory() const {
    plan::MemoryByClass memory;
    memory.parameters = m_parameters.size() + m_rounded.bytes();
    memory.gradients = m_gradients.size();
    memory.optimizer = m_update->stateBytes() + m_average.bytes() + m_best.bytes();
    memory.activations = m_activations.bytes();
    return memory;
}

} // namespace trainyard::engine
