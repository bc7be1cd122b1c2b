// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The executor's memory, what lies in it at first, and the kernels that work on it.
#include "engine/runtime/executor.h"

#include "engine/base/check.h"
#include "engine/runtime/initial_weights.h"
#include "engine/runtime/rounding.h"

#include <algorithm>
#include <cstring>

namespace trainyard::engine {

using graph::at;

namespace {

/// A table of more classes is nothing a person can read.
constexpr std::int64_t kMostConfusionClasses = 100;

/// 0 where labels are not counted against predictions. The next word is no class to be confused.
std::int64_t confusionClasses(const graph::Graph& graph) {
    const bool words = graph.vocabulary > 0 && !graph.targetShape().empty();
    const std::int64_t classes = graph.classes();
    return words || classes > kMostConfusionClasses ? 0 : classes;
}

} // namespace

Result<void> Executor::allocate() {
    const plan::Plan& plan = m_parts.plan;
    std::size_t activations = 0, gathered = 0, gradients = 0;
    std::int64_t rows = 0; // whose targets are there at once
    for (const auto& [size, compiled] : m_compiled) {
        const plan::Program& program = compiled.program;
        activations = std::max(activations, program.activationBytes);
        gathered = std::max(gathered, program.parameterBytes);
        gradients = std::max(gradients, program.gradientBytes);
        rows = std::max(rows, program.microBatches.front().count *
                                  static_cast<std::int64_t>(program.places.size()));
    }
    const std::size_t owned = ownedElements() * bytesOf(exactType(plan.type));
    if (Result<void> taken = allocateParameters(owned, gathered); !taken)
        return taken;
    m_rounded = Arena(plan::roundedBytes(plan, m_section, gathered));
    if (Result<void> taken = allocateGradients(gradients); !taken)
        return taken;
    m_update = std::make_unique<ParameterUpdate>(plan, m_parts.rank, m_parts.optimizer);
    if (plan.emaDecay)
        m_average = Arena(owned);
    if (plan.keepsBest)
        m_best = Arena(owned);
    m_activations = Arena(activations);
    if (m_section.hasLoss())
        allocateTargets(rows);
    const std::int64_t classes = confusionClasses(plan.graph); // on all ranks: they add them up
    m_confusion.assign(static_cast<std::size_t>(classes * classes), 0);
    allocateStatistics();
    return {};
}

/// Of the parameters that this rank keeps.
std::size_t Executor::ownedElements() const {
    const auto ranks = static_cast<std::size_t>(m_parts.plan.mesh.data);
    return m_parts.plan.shardsParameters ? m_section.arenaElements / ranks
                                         : m_section.arenaElements;
}

void Executor::allocateTargets(std::int64_t rows) {
    const plan::Plan& plan = m_parts.plan;
    const auto targets = static_cast<std::size_t>(rows * elementCount(plan.graph.targetShape()));
    if (plan.graph.loss().kind == graph::OperationKind::SoftmaxCrossEntropy)
        m_labels.assign(targets, 0);
    else
        m_numbers = Arena(targets * bytesOf(exactType(plan.type)));
}

Result<void> Executor::allocateParameters(std::size_t bytes, std::size_t gathered) {
    const plan::Plan& plan = m_parts.plan;
    if (plan.shardsOptimizer && !plan.shardsParameters) {
        auto parameters = m_parts.groups.data().allocateReducible(bytes);
        if (!parameters)
            return parameters.error();
        m_parameters = *parameters;
        return {};
    }
    m_ownParameters = Arena(bytes);
    m_parameters = {m_ownParameters.data(), m_ownParameters.bytes()};
    if (!plan.shardsParameters)
        return {};
    auto buckets = m_parts.groups.data().allocateReducible(gathered);
    if (!buckets)
        return buckets.error();
    m_gathered = *buckets;
    return {};
}

/// `bytes`: of the buckets that are whole at the same time, where gradients are sharded.
Result<void> Executor::allocateGradients(std::size_t bytes) {
    const plan::Plan& plan = m_parts.plan;
    const std::size_t arena = m_section.arenaElements * bytesOf(exactType(plan.type));
    if (plan.shardsGradients)
        m_gradientShards = Arena(arena / static_cast<std::size_t>(plan.mesh.data));
    auto gradients = m_parts.groups.data().allocateReducible(plan.shardsGradients ? bytes : arena);
    if (!gradients)
        return gradients.error();
    m_gradients = *gradients;
    return allocateCompression();
}

Result<void> Executor::allocateCompression() {
    const plan::Plan& plan = m_parts.plan;
    if (m_section.lowRank.elements() > 0) {
        auto made = PowerSgd::make({.layout = m_section.lowRank,
                                    .type = exactType(plan.type),
                                    .seed = m_parts.seed,
                                    .ranks = m_parts.groups.data()});
        if (!made)
            return made.error();
        m_powerSgd = std::move(*made);
    } else if (const std::size_t bytes = plan::compressionBytes(plan, m_section); bytes > 0) {
        auto halves = m_parts.groups.data().allocateReducible(bytes);
        if (!halves)
            return halves.error();
        m_halves = *halves;
    }
    return {};
}

void Executor::allocateStatistics() {
    std::size_t next = 0;
    for (const graph::Operation& operation : m_section.graph.operations) {
        m_statisticsOf.push_back(next);
        if (operation.kind == graph::OperationKind::BatchNorm)
            next += 2 * static_cast<std::size_t>(
                            m_section.graph.values[at(operation.inputs.front())].shape.front()) +
                    1;
    }
    m_statistics.assign(next, 0);
}

void Executor::initializeParameters() {
    const plan::Plan& plan = m_parts.plan;
    const std::size_t size = bytesOf(exactType(plan.type));
    std::vector<std::byte> whole;
    for (const plan::Bucket& bucket : m_section.buckets) {
        std::byte* first = m_parameters.data() + bucket.firstElement * size;
        if (plan.shardsParameters) {
            whole.assign(bucket.elements * size, std::byte{});
            first = whole.data();
        }
        for (const graph::ParameterId id : bucket.parameters)
            initializeParameter(
                id, first + (m_section.parameterOffset[at(id)] - bucket.firstElement) * size);
        if (plan.shardsParameters)
            std::memcpy(m_parameters.data() + shardOffset(bucket), ownShard(whole.data(), bucket),
                        bucket.elements * size / static_cast<std::size_t>(plan.mesh.data));
    }
    roundAllParameters();
    if (m_average.bytes() > 0)
        std::ranges::copy(parameters(), m_average.data());
}

void Executor::initializeParameter(graph::ParameterId id, std::byte* place) const {
    const graph::ParameterInfo& info = m_parts.plan.graph.parameters[at(id)];
    const plan::ParameterSlice& slice = m_section.slices[at(id)];
    const DType type = exactType(m_parts.plan.type);
    if (slice.axis < 0) {
        initialize(info, id, m_parts.seed, type, place);
        return;
    }
    std::vector<std::byte> whole(static_cast<std::size_t>(elementCount(info.shape)) *
                                 bytesOf(type));
    initialize(info, id, m_parts.seed, type, whole.data());
    plan::copyToLocal(whole.data(), place, info.shape, slice, bytesOf(type));
}

/// Of a bucket that is whole.
std::byte* Executor::ownShard(std::byte* bucketData, const plan::Bucket& bucket) const {
    const auto ranks = static_cast<std::size_t>(m_parts.plan.mesh.data);
    return bucketData + bucket.elements / ranks * static_cast<std::size_t>(m_place.data) *
                            bytesOf(exactType(m_parts.plan.type));
}

/// Bytes into an arena of shards, which lie there one after the other.
std::size_t Executor::shardOffset(const plan::Bucket& bucket) const {
    return bucket.firstElement / static_cast<std::size_t>(m_parts.plan.mesh.data) *
           bytesOf(exactType(m_parts.plan.type));
}

Operand Executor::activation(const plan::Placement& placement, graph::ValueId value) const {
    const graph::ValueInfo& info = m_section.graph.values[at(value)];
    return {m_activations.data() + placement.offset, info.shape, info.layout};
}

Operand Executor::parameter(std::byte* arena, graph::ParameterId id) const {
    return {arena + m_section.parameterOffset[at(id)] * bytesOf(exactType(m_parts.plan.type)),
            m_section.graph.parameters[at(id)].shape, Layout::Plain};
}

/// `window`: where its bucket begins; elements of `type`.
Operand Executor::parameterIn(std::byte* window, graph::ParameterId id, DType type) const {
    const plan::Bucket& bucket = m_section.buckets[at(m_section.bucketOf[at(id)])];
    return {window + (m_section.parameterOffset[at(id)] - bucket.firstElement) * bytesOf(type),
            m_section.graph.parameters[at(id)].shape, Layout::Plain};
}

/// What a kernel reads, and where it leaves gradients.
void Executor::addParameters(const plan::Program& program, std::size_t index,
                             KernelRequest& request) {
    const plan::Plan& plan = m_parts.plan;
    const plan::Instruction& instruction = program.instructions[index];
    const graph::Operation& operation = m_section.graph.operations[at(instruction.operation)];
    const DType exact = exactType(plan.type);
    for (std::size_t i = 0; i < operation.parameters.size(); ++i) {
        const graph::ParameterId id = operation.parameters[i];
        const int bucketNumber = m_section.bucketOf[at(id)];
        const plan::Bucket& bucket = m_section.buckets[at(bucketNumber)];
        const bool rounded = m_rounded.bytes() > 0 && graph::readsRounded(operation.kind, i);
        std::size_t first = bucket.firstElement; // elements into the arena
        if (plan.shardsParameters)
            first = program.parameterWindows.placeAt(bucketNumber, static_cast<int>(index)).offset /
                    bytesOf(exact);
        std::byte* arena = plan.shardsParameters ? m_gathered.data() : m_parameters.data();
        request.parameters.push_back(
            rounded ? parameterIn(m_rounded.data() + first * bytesOf(DType::Bf16), id, DType::Bf16)
                    : parameterIn(arena + first * bytesOf(exact), id, exact));
        if (instruction.opcode != plan::Opcode::Backward)
            continue;
        const std::size_t offset =
            plan.shardsGradients
                ? program.gradientWindows.placeAt(bucketNumber, static_cast<int>(index)).offset
                : bucket.firstElement * bytesOf(exact);
        request.parameterGradients.push_back(parameterIn(m_gradients.data() + offset, id, exact));
    }
}

/// Where they are sharded each bucket is rounded when it is gathered.
void Executor::roundAllParameters() {
    if (m_rounded.bytes() > 0 && !m_parts.plan.shardsParameters)
        roundToBf16(reinterpret_cast<const float*>(m_parameters.data()),
                    reinterpret_cast<Bf16*>(m_rounded.data()), m_section.arenaElements);
}

const std::byte* Executor::updatedGradients() const {
    return m_parts.plan.shardsGradients ? m_gradientShards.data() : m_gradients.data();
}

KernelRequest Executor::requestFor(const plan::Program& program, std::size_t index) {
    const plan::Instruction& instruction = program.instructions[index];
    const graph::Operation& operation = m_section.graph.operations[at(instruction.operation)];
    const graph::OperationTraits& traits = graph::traits(operation.kind);
    const bool backward = instruction.opcode == plan::Opcode::Backward;
    KernelRequest request;
    request.kind = operation.kind;
    request.attributes = operation.attributes;
    request.direction = backward                                        ? Direction::Backward
                        : instruction.opcode == plan::Opcode::Inference ? Direction::Inference
                                                                        : Direction::Forward;
    request.type = m_parts.plan.type;
    request.rows = program.rowsOf(instruction);
    const auto place = [&](graph::ValueId value) -> const plan::Placement& {
        return program.placeOf(value, m_section.graph, instruction);
    };
    for (const graph::ValueId input : operation.inputs) {
        Operand operand = activation(place(input), input);
        Operand gradient = activation(program.gradientPlaceOf(input, instruction), input);
        if (backward && !traits.readsInput)
            operand.data = nullptr;
        if (!m_section.withGradient[at(input)])
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
            request.outputGradients.push_back(
                activation(program.gradientPlaceOf(output, instruction), output));
    }
    addParameters(program, index, request);
    if (backward) {
        request.addToInputGradient = program.addsToGradient[at(instruction.operation)];
        request.addToParameterGradient = program.addsToParameterGradient[at(instruction.operation)];
        if (instruction.microBatch > 0 && !m_parts.plan.shardsGradients)
            request.addToParameterGradient.assign(operation.parameters.size(), true);
    }
    request.phase = instruction.phase;
    if (operation.kind == graph::OperationKind::BatchNorm)
        request.statistics = m_statistics.data() + m_statisticsOf[at(instruction.operation)];
    if (const plan::Placement& saved = program.savedPlaceOf(instruction); saved.bytes > 0)
        request.saved = m_activations.data() + saved.offset;
    if (graph::isLoss(operation.kind))
        setLoss(program, instruction, request);
    return request;
}

/// Of the micro-batch's place, in elements.
std::size_t Executor::firstTarget(const plan::Program& program,
                                  const plan::Instruction& instruction) const {
    const std::int64_t rows = program.microBatches.front().count;
    return program.slotOf(instruction) *
           static_cast<std::size_t>(rows * elementCount(m_parts.plan.graph.targetShape()));
}

void Executor::setLoss(const plan::Program& program, const plan::Instruction& instruction,
                       KernelRequest& request) {
    const std::size_t first = firstTarget(program, instruction);
    request.labels = m_labels.data() + (m_labels.empty() ? 0 : first);
    request.targets = m_numbers.data() + first * bytesOf(exactType(m_parts.plan.type));
    request.lossSums = m_lossSums.data();
    if (request.direction == Direction::Inference && !m_confusion.empty())
        request.confusion = m_confusion.data();
}

/// Null where this rank does not look at it.
BatchMemory Executor::batchMemory(const plan::Program& program,
                                  const plan::Instruction& instruction) {
    const plan::Plan& plan = m_parts.plan;
    const bool indices = plan.graph.values[at(plan.graph.input)].indices;
    const plan::Places& places = program.placesOf(instruction);
    const plan::Placement& inputs =
        places.loaded.bytes > 0 ? places.loaded : places.values[at(plan.graph.input)];
    const std::size_t first = firstTarget(program, instruction);
    const bool reads = m_section.readsInput();
    const bool loss = m_section.hasLoss();
    return {.inputs = reads ? m_activations.data() + inputs.offset : nullptr,
            .inputType = indices ? DType::Int32 : exactType(plan.type),
            .labels = loss && !m_labels.empty() ? m_labels.data() + first : nullptr,
            .numbers = loss ? m_numbers.data() + first * bytesOf(exactType(plan.type)) : nullptr,
            .numberType = exactType(plan.type)};
}

void Executor::makeKernels(Compiled& compiled) {
    const bool moves = m_parts.plan.shardsGradients;
    for (std::size_t i = 0; i < compiled.program.instructions.size(); ++i) {
        const plan::Instruction& instruction = compiled.program.instructions[i];
        compiled.kernels.push_back(nullptr);
        if (!plan::runsKernel(instruction.opcode))
            continue;
        const KernelKey key{instruction.opcode,
                            instruction.operation,
                            instruction.phase,
                            compiled.program.slotOf(instruction),
                            compiled.program.rowsOf(instruction),
                            instruction.microBatch > 0,
                            moves ? i : 0};
        std::unique_ptr<Kernel>& kernel = compiled.owned[key];
        if (!kernel)
            kernel = m_parts.backend.compile(requestFor(compiled.program, i));
        compiled.kernels.back() = kernel.get();
    }
}
} // namespace trainyard::engine
