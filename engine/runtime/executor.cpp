// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/executor.h"

#include "engine/base/check.h"
#include "engine/base/number_text.h"
#include "engine/comm/sums.h"
#include "engine/runtime/gather_parameters.h"
#include "engine/runtime/initial_weights.h"
#include "engine/runtime/rounding.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace trainyard::engine {

namespace {

using graph::at;

/// A table of more classes is nothing a person can read.
constexpr std::int64_t kMostConfusionClasses = 100;

/// 0 where labels are not counted against predictions. The next word is no class to be confused.
std::int64_t confusionClasses(const graph::Graph& graph) {
    const bool words = graph.vocabulary > 0 && !graph.targetShape().empty();
    const std::int64_t classes = graph.classes();
    return words || classes > kMostConfusionClasses ? 0 : classes;
}

std::int64_t monotonicNs() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// FNV-1a over words of 64 bits: the arenas are whole multiples of them.
std::uint64_t hashOf(std::span<const std::byte> bytes) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (std::size_t i = 0; i + sizeof hash <= bytes.size(); i += sizeof hash) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, sizeof word);
        hash = (hash ^ word) * 0x100000001b3ull;
    }
    return hash;
}

void addTo(void* sum, const void* addend, std::size_t count, DType type) {
    sumOver(sum, std::array<const void*, 2>{sum, addend}, count, type);
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

Executor::Executor(const Parts& parts)
    : m_parts(parts), m_section(parts.plan.sectionOf(parts.rank)),
      m_place(parts.plan.mesh.coordinateOf(parts.rank)) {}

Result<std::unique_ptr<Executor>> Executor::make(const Parts& parts) {
    std::unique_ptr<Executor> executor(new Executor(parts));
    if (Result<void> allocated = executor->allocate(); !allocated)
        return allocated.error();
    executor->initializeParameters();
    for (const auto& [purpose, rows] : batchSizes(parts.plan)) {
        Compiled& compiled = executor->m_compiled[{purpose, rows}];
        compiled.program = plan::compileProgram(parts.plan, parts.rank, purpose, rows);
        compiled.records = recordsOf(parts.plan, executor->m_section, compiled.program);
        executor->makeKernels(compiled);
    }
    if (parts.overlaps && parts.plan.worldSize > 1)
        executor->m_lane = std::make_unique<CommunicationLane>(
            [self = executor.get()](const plan::Program&, std::size_t index) {
                return self->communicateRecorded(index);
            });
    return executor;
}

Result<void> Executor::allocate() {
    const plan::Plan& plan = m_parts.plan;
    std::size_t activations = 0, gathered = 0, gradients = 0;
    std::int64_t rows = 0; // whose targets are there at once
    for (const auto& [purpose, batchRows] : batchSizes(plan)) {
        const plan::Program program = plan::compileProgram(plan, m_parts.rank, purpose, batchRows);
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
    if (const std::size_t elements = m_section.compressedElements(); elements > 0) {
        auto compressed = m_parts.groups.data().allocateReducible(elements * bytesOf(DType::Bf16));
        if (!compressed)
            return compressed.error();
        m_compressed = *compressed;
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
            first = plan::Program::windowAt(program.parameterWindows, bucketNumber,
                                            static_cast<int>(index))
                        .offset /
                    bytesOf(exact);
        std::byte* arena = plan.shardsParameters ? m_gathered.data() : m_parameters.data();
        request.parameters.push_back(
            rounded ? parameterIn(m_rounded.data() + first * bytesOf(DType::Bf16), id, DType::Bf16)
                    : parameterIn(arena + first * bytesOf(exact), id, exact));
        if (instruction.opcode != plan::Opcode::Backward)
            continue;
        const std::size_t offset =
            plan.shardsGradients ? plan::Program::windowAt(program.gradientWindows, bucketNumber,
                                                           static_cast<int>(index))
                                       .offset
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

Executor::Compiled& Executor::compiled(plan::Purpose purpose, std::int64_t batchRows) {
    const auto found = m_compiled.find({purpose, batchRows});
    TRAINYARD_CHECK_MSG(found != m_compiled.end(), std::to_string(batchRows));
    return found->second;
}

void Executor::noteBegin(const Compiled& compiled, std::size_t index) {
    const plan::Instruction& instruction = compiled.program.instructions[index];
    const std::int64_t nowNs = monotonicNs();
    if (m_parts.recorder)
        m_parts.recorder->lane(instruction.lane).begin(compiled.records[index], nowNs);
    notePlace(instruction, index, nowNs);
}

void Executor::notePlace(const plan::Instruction& instruction, std::size_t index,
                         std::int64_t nowNs) {
    RankStatus* status = m_parts.status;
    if (!status)
        return;
    if (instruction.operation >= 0) {
        const std::string& layer = m_section.graph.operations[at(instruction.operation)].layer;
        const std::size_t length = std::min(layer.size(), sizeof status->layer - 1);
        std::memcpy(status->layer, layer.data(), length);
        status->layer[length] = '\0';
    }
    status->opcode.store(static_cast<std::uint8_t>(instruction.opcode), std::memory_order_relaxed);
    status->instruction.store(static_cast<std::int64_t>(index), std::memory_order_relaxed);
    status->timeNs.store(nowNs, std::memory_order_release);
}

void Executor::noteEnd(const plan::Instruction& instruction) {
    if (m_parts.recorder)
        m_parts.recorder->lane(instruction.lane).end(monotonicNs());
}

/// What the loss sums up is told by one rank of those that compute the same rows.
bool Executor::reports() const {
    return m_section.hasLoss() && m_place.tensor == 0;
}

/// No rank has all gradients, so each counts its own and they are added up.
bool Executor::countsSquares() const {
    return m_parts.plan.shardsOptimizer || m_parts.plan.sections.size() > 1;
}

std::size_t Executor::bytesOfValue(const plan::Program& program,
                                   const plan::Instruction& instruction) const {
    const graph::ValueInfo& value = m_section.graph.values[at(instruction.value)];
    return static_cast<std::size_t>(storedElements(value.shape, value.layout) *
                                    program.rowsOf(instruction)) *
           bytesOf(m_parts.plan.type);
}

Result<void> Executor::communicate(const plan::Program& program, std::size_t index) {
    const plan::Instruction& instruction = program.instructions[index];
    switch (instruction.opcode) {
    case plan::Opcode::ReduceSums:
        return reduceSums(instruction, m_sums);
    case plan::Opcode::ReduceStatistics:
        return reduceStatistics(instruction);
    case plan::Opcode::SumShared:
        return sumShared(instruction);
    case plan::Opcode::ReduceGradients:
    case plan::Opcode::ScatterGradients:
    case plan::Opcode::GatherParameters:
        return reduceBucket(program, instruction, index);
    default:
        return exchange(program, instruction);
    }
}

/// Values and their gradients between ranks that share the model.
Result<void> Executor::exchange(const plan::Program& program,
                                const plan::Instruction& instruction) {
    ProcessGroups& groups = m_parts.groups;
    const std::size_t bytes = bytesOfValue(program, instruction);
    const DType type = m_parts.plan.type;
    std::byte* value = m_activations.data() +
                       program.placeOf(instruction.value, m_section.graph, instruction).offset;
    std::byte* gradient =
        m_activations.data() + program.gradientPlaceOf(instruction.value, instruction).offset;
    switch (instruction.opcode) {
    case plan::Opcode::SumValue:
        return groups.tensor().allReduceSum(value, bytes / bytesOf(type), type, instruction.tag);
    case plan::Opcode::SumGradient:
        return groups.tensor().allReduceSum(gradient, bytes / bytesOf(type), type, instruction.tag);
    case plan::Opcode::SendValue:
        return groups.values().send(value, bytes, instruction.peer, instruction.tag);
    case plan::Opcode::ReceiveValue:
        return groups.values().receive(value, bytes, instruction.peer, instruction.tag);
    case plan::Opcode::SendGradient:
        return groups.gradients().send(gradient, bytes, instruction.peer, instruction.tag);
    default:
        return receiveGradient(program, instruction);
    }
}

Result<void> Executor::receiveGradient(const plan::Program& program,
                                       const plan::Instruction& instruction) {
    const std::size_t bytes = bytesOfValue(program, instruction);
    std::byte* gradient =
        m_activations.data() + program.gradientPlaceOf(instruction.value, instruction).offset;
    std::byte* into = instruction.adds
                          ? m_activations.data() + program.placesOf(instruction).received.offset
                          : gradient;
    Result<void> received =
        m_parts.groups.gradients().receive(into, bytes, instruction.peer, instruction.tag);
    if (received && instruction.adds)
        addTo(gradient, into, bytes / bytesOf(m_parts.plan.type), m_parts.plan.type);
    return received;
}

Result<void> Executor::reduceStatistics(const plan::Instruction& instruction) {
    const graph::Operation& operation = m_section.graph.operations[at(instruction.operation)];
    const std::int64_t channels =
        m_section.graph.values[at(operation.inputs.front())].shape.front();
    return m_parts.groups.data().allReduceSum(
        m_statistics.data() + m_statisticsOf[at(instruction.operation)],
        static_cast<std::size_t>(2 * channels + 1), DType::Fp64, instruction.tag);
}

Result<void> Executor::sumShared(const plan::Instruction& instruction) {
    const graph::ParameterId id = m_section.shared[at(instruction.shared)].parameter;
    const Operand gradient = parameter(m_gradients.data(), id);
    return m_parts.groups.sharing(id).allReduceSum(
        gradient.data, static_cast<std::size_t>(elementCount(gradient.shape)),
        exactType(m_parts.plan.type), instruction.tag);
}

Result<void> Executor::reduceBucket(const plan::Program& program,
                                    const plan::Instruction& instruction, std::size_t index) {
    if (instruction.opcode == plan::Opcode::GatherParameters)
        return gatherBucket(program, instruction, index);
    if (instruction.opcode == plan::Opcode::ScatterGradients)
        return scatterBucket(program, instruction, index);
    const plan::Bucket& bucket = m_section.buckets[at(instruction.bucket)];
    const DType type = exactType(m_parts.plan.type);
    if (bucket.compressed)
        return sumCompressed(m_gradients.data() + bucket.firstElement * bytesOf(type), bucket,
                             false, instruction.tag);
    return m_parts.groups.data().allReduceSum(m_gradients.data() +
                                                  bucket.firstElement * bytesOf(type),
                                              bucket.elements, type, instruction.tag);
}

/// Rounded for the way, added in fp32, rounded once more, and wide again. `scatter`: only this
/// rank's shard is of use afterwards.
Result<void> Executor::sumCompressed(std::byte* gradients, const plan::Bucket& bucket, bool scatter,
                                     std::uint32_t tag) {
    auto* const wide = reinterpret_cast<float*>(gradients);
    auto* const half = reinterpret_cast<Bf16*>(m_compressed.data());
    roundToBf16(wide, half, bucket.elements);
    Communicator& data = m_parts.groups.data();
    Result<void> summed = scatter ? data.reduceScatterSum(half, bucket.elements, DType::Bf16, tag)
                                  : data.allReduceSum(half, bucket.elements, DType::Bf16, tag);
    if (!summed)
        return summed;
    const plan::Shard all{0, bucket.elements};
    const std::size_t shard = bucket.elements / static_cast<std::size_t>(m_parts.plan.mesh.data);
    const plan::Shard part =
        scatter ? plan::Shard{shard * static_cast<std::size_t>(m_place.data), shard} : all;
    widen(half + part.firstElement, wide + part.firstElement,
          static_cast<std::int64_t>(part.elements));
    return summed;
}

Result<void> Executor::gatherBucket(const plan::Program& program,
                                    const plan::Instruction& instruction, std::size_t index) {
    const plan::Plan& plan = m_parts.plan;
    const plan::Bucket& bucket = m_section.buckets[at(instruction.bucket)];
    const DType type = exactType(plan.type);
    const std::size_t bytes = bucket.elements * bytesOf(type);
    std::size_t offset = bucket.firstElement * bytesOf(type);
    std::byte* arena = m_parameters.data();
    if (plan.shardsParameters) {
        offset = plan::Program::windowAt(program.parameterWindows, instruction.bucket,
                                         static_cast<int>(index))
                     .offset;
        arena = m_gathered.data();
        std::memcpy(ownShard(arena + offset, bucket), m_parameters.data() + shardOffset(bucket),
                    bytes / static_cast<std::size_t>(plan.mesh.data));
    }
    Result<void> gathered = m_parts.groups.data().allGather(arena + offset, bytes, instruction.tag);
    if (gathered && m_rounded.bytes() > 0)
        roundToBf16(reinterpret_cast<const float*>(arena + offset),
                    reinterpret_cast<Bf16*>(m_rounded.data()) + offset / sizeof(float),
                    bucket.elements);
    return gathered;
}

Result<void> Executor::scatterBucket(const plan::Program& program,
                                     const plan::Instruction& instruction, std::size_t index) {
    const plan::Plan& plan = m_parts.plan;
    const plan::Bucket& bucket = m_section.buckets[at(instruction.bucket)];
    const DType type = exactType(plan.type);
    std::size_t offset = bucket.firstElement * bytesOf(type);
    if (plan.shardsGradients)
        offset = plan::Program::windowAt(program.gradientWindows, instruction.bucket,
                                         static_cast<int>(index))
                     .offset;
    std::byte* first = m_gradients.data() + offset;
    Result<void> reduced =
        bucket.compressed
            ? sumCompressed(first, bucket, true, instruction.tag)
            : m_parts.groups.data().reduceScatterSum(first, bucket.elements, type, instruction.tag);
    if (!reduced || !plan.shardsGradients)
        return reduced;
    // Micro-batches after the first add to what is there.
    const std::size_t elements = bucket.elements / static_cast<std::size_t>(plan.mesh.data);
    std::byte* shard = m_gradientShards.data() + shardOffset(bucket);
    if (instruction.microBatch == 0)
        std::memcpy(shard, ownShard(first, bucket), elements * bytesOf(type));
    else
        addTo(shard, ownShard(first, bucket), elements, type);
    return reduced;
}

Result<void> Executor::reduceSums(const plan::Instruction& instruction, BatchSums& sums) {
    if (reports())
        sums.values = m_lossSums;
    if (countsSquares() && (m_parts.plan.shardsOptimizer || m_place.data == 0))
        sums.gradientSquares = m_update->gradientSquares(updatedGradients());
    return reduce(sums, instruction.tag);
}

Result<void> Executor::reduce(BatchSums& sums, std::uint32_t tag) {
    Communicator& world = m_parts.groups.world();
    if (world.worldSize() == 1)
        return {};
    std::array<double, kLossSums + 3> values{};
    std::ranges::copy(sums.values, values.begin());
    values[kLossSums] = sums.rows;
    values[kLossSums + 1] = sums.stopRequested ? 1.0 : 0.0;
    values[kLossSums + 2] = sums.gradientSquares;
    if (auto reduced = world.allReduceSum(values.data(), values.size(), DType::Fp64, tag); !reduced)
        return reduced;
    std::copy_n(values.begin(), sums.values.size(), sums.values.begin());
    sums.rows = values[kLossSums];
    sums.stopRequested = values[kLossSums + 1] > 0;
    sums.gradientSquares = values[kLossSums + 2];
    return {};
}

Result<std::vector<std::int64_t>> Executor::takeConfusion(std::uint32_t tag) {
    std::vector<double> counts(m_confusion.begin(), m_confusion.end()); // whole numbers stay exact
    if (!reports())
        std::ranges::fill(counts, 0);
    std::ranges::fill(m_confusion, 0);
    Communicator& world = m_parts.groups.world();
    if (!counts.empty() && world.worldSize() > 1)
        if (auto reduced = world.allReduceSum(counts.data(), counts.size(), DType::Fp64, tag);
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
    UpdateContext context;
    context.update = input.step + 1;
    context.learningRate = input.learningRate;
    context.gradientScale = shareCounted(result.sums);
    const double squares = countsSquares() ? result.sums.gradientSquares
                                           : m_update->gradientSquares(updatedGradients());
    result.gradientNorm = context.gradientScale * std::sqrt(squares);
    result.finite = std::isfinite(result.gradientNorm) && std::isfinite(result.sums[kLoss]);
    if (!result.finite)
        return;
    if (input.clipNorm && result.gradientNorm > *input.clipNorm)
        context.gradientScale *= *input.clipNorm / result.gradientNorm;
    if (m_rounded.bytes() > 0 && !m_parts.plan.shardsParameters)
        context.rounded = reinterpret_cast<Bf16*>(m_rounded.data());
    m_update->apply(context, m_parameters.data(), updatedGradients());
}

void Executor::averageParameters(const StepInput& input) {
    const plan::Plan& plan = m_parts.plan;
    if (plan.emaDecay)
        averageWeights(exactType(plan.type), *plan.emaDecay, input.step + 1, ownedElements(),
                       m_parameters.data(), m_average.data());
}

void Executor::loadPart(const plan::Program& program, const plan::Instruction& instruction,
                        const LoadBatch& load) {
    load(batchMemory(program, instruction),
         {instruction.microBatch, program.microBatches[at(instruction.microBatch)]});
    roundLoaded(m_section.graph, program.placesOf(instruction), m_activations.data());
}

/// One lane after the other in the order of the list, or the compute lane here and the
/// communication lane in its thread.
Result<void> Executor::runProgram(Compiled& compiled, StepContext context, const LoadBatch& load,
                                  const StepInput& input, StepResult& result) {
    const plan::Program& program = compiled.program;
    m_sums = result.sums;
    m_running = &compiled;
    if (m_lane)
        m_lane->begin(program);
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        const plan::Instruction& instruction = program.instructions[i];
        if (m_lane && instruction.lane == plan::Lane::Communication)
            continue;
        if (auto done = waitForLane(program, i); !done)
            return done;
        noteBegin(compiled, i);
        if (auto done = runCompute(compiled, i, context, load, input, result); !done)
            return done;
        noteEnd(instruction);
        if (m_lane)
            m_lane->computed(i);
    }
    return m_lane ? m_lane->finish() : Result<void>();
}

/// What the compute lane stands at while it waits is the instruction that it waits for.
Result<void> Executor::waitForLane(const plan::Program& program, std::size_t index) {
    const std::vector<int>& needed = program.instructions[index].waitsFor;
    if (!m_lane || needed.empty())
        return {};
    const auto last = static_cast<std::size_t>(std::ranges::max(needed));
    notePlace(program.instructions[last], last, monotonicNs());
    return m_lane->waitFor(needed);
}

Result<void> Executor::communicateRecorded(std::size_t index) {
    const Compiled& compiled = *m_running;
    LaneRecorder* recorder =
        m_parts.recorder ? &m_parts.recorder->lane(plan::Lane::Communication) : nullptr;
    if (recorder)
        recorder->begin(compiled.records[index], monotonicNs());
    Result<void> done = communicate(compiled.program, index);
    if (recorder && done)
        recorder->end(monotonicNs());
    return done;
}

Result<void> Executor::runCompute(Compiled& compiled, std::size_t index, StepContext& context,
                                  const LoadBatch& load, const StepInput& input,
                                  StepResult& result) {
    const plan::Program& program = compiled.program;
    const plan::Instruction& instruction = program.instructions[index];
    if (Kernel* kernel = compiled.kernels[index]) {
        context.firstRow = program.microBatches[at(instruction.microBatch)].first;
        kernel->run(context);
    } else if (instruction.opcode == plan::Opcode::LoadBatch) {
        loadPart(program, instruction, load);
    } else if (instruction.opcode == plan::Opcode::Update) {
        result.sums = m_sums; // they are reduced: it waits for that
        update(input, result);
    } else {
        return communicate(program, index);
    }
    return {};
}

Result<StepResult> Executor::trainStep(std::int64_t batchRows, const StepInput& input,
                                       const LoadBatch& load) {
    Compiled& compiled = this->compiled(plan::Purpose::Training, batchRows);
    TRAINYARD_CHECK(!m_averageIsUsed);
    StepResult result;
    if (reports())
        result.sums.rows = static_cast<double>(compiled.program.rows.count);
    // Read once a step: the ranks agree on it by the reduction.
    result.sums.stopRequested =
        m_parts.statusHeader && m_parts.statusHeader->stopRequested.load() != 0;
    m_lossSums = {};
    if (m_parts.status)
        m_parts.status->step.store(input.step, std::memory_order_relaxed);
    if (m_parts.recorder)
        m_parts.recorder->beginStep(input.step, monotonicNs());
    const StepContext context{m_parts.seed, input.step, 0, batchRows};
    if (auto done = runProgram(compiled, context, load, input, result); !done)
        return done.error();
    if (result.finite)
        averageParameters(input);
    if (m_parts.recorder)
        m_parts.recorder->endStep(monotonicNs());
    return result;
}

Result<void> Executor::evaluate(std::int64_t batchRows, BatchSums& sums, const LoadBatch& load) {
    Compiled& compiled = this->compiled(plan::Purpose::Evaluation, batchRows);
    m_lossSums = {};
    StepResult unused;
    if (auto done = runProgram(compiled, {m_parts.seed, 0, 0, batchRows}, load, {}, unused); !done)
        return done;
    if (!reports())
        return {};
    for (std::size_t i = 0; i < sums.values.size(); ++i)
        sums.values[i] += m_lossSums[i];
    sums.rows += static_cast<double>(compiled.program.rows.count);
    return {};
}

void Executor::swapAverage() {
    if (m_average.bytes() == 0)
        return;
    // The contents: kernels hold the address of the parameters.
    std::swap_ranges(m_parameters.data(), m_parameters.data() + parameters().size(),
                     m_average.data());
    m_averageIsUsed = !m_averageIsUsed;
    roundAllParameters();
}

void Executor::keepBest() {
    TRAINYARD_CHECK(m_best.bytes() > 0);
    std::ranges::copy(parameters(), m_best.data());
}

void Executor::restoreBest() {
    TRAINYARD_CHECK(m_best.bytes() > 0);
    std::copy_n(m_best.data(), parameters().size(), m_parameters.data());
    roundAllParameters();
}

Result<bool> Executor::parametersAreFinite(std::uint32_t tag) {
    double broken =
        std::isfinite(norm(exactType(m_parts.plan.type), m_parameters.data(), ownedElements())) ? 0
                                                                                                : 1;
    if (auto summed = m_parts.groups.world().allReduceSum(&broken, 1, DType::Fp64, tag); !summed)
        return summed.error();
    return broken == 0;
}

Result<std::vector<std::byte>> Executor::wholeParameters(std::uint32_t tag) {
    return gatherParameters(m_parts.plan, m_parts.rank, m_parts.groups, m_parameters.data(), tag);
}

Result<int> Executor::rankThatDiffers(std::uint32_t tag) {
    const plan::Mesh& mesh = m_parts.plan.mesh;
    if (mesh.data == 1 || m_parts.plan.shardsParameters)
        return -1; // nobody has the same
    const std::uint64_t own = hashOf(parameters());
    std::uint64_t first = own;
    if (auto told = m_parts.groups.data().broadcast(&first, sizeof first, 0, tag); !told)
        return told.error();
    std::vector<double> differs(static_cast<std::size_t>(mesh.worldSize()), 0);
    differs[static_cast<std::size_t>(m_parts.rank)] = own == first ? 0 : 1;
    if (auto summed = m_parts.groups.world().allReduceSum(differs.data(), differs.size(),
                                                          DType::Fp64, tag + 1);
        !summed)
        return summed.error();
    const auto found = std::ranges::find(differs, 1.0);
    return found == differs.end() ? -1 : static_cast<int>(found - differs.begin());
}

bool Executor::loadsBatches() const {
    return m_section.readsInput() || m_section.hasLoss();
}

std::span<const std::byte> Executor::parameters() const {
    return {m_parameters.data(), ownedElements() * bytesOf(exactType(m_parts.plan.type))};
}

plan::MemoryByClass Executor::memory() const {
    plan::MemoryByClass memory;
    memory.parameters = m_parameters.size() + m_gathered.size() + m_rounded.bytes();
    memory.gradients = m_gradients.size() + m_gradientShards.bytes() + m_compressed.size();
    memory.optimizer = m_update->stateBytes() + m_average.bytes() + m_best.bytes();
    memory.activations = m_activations.bytes();
    return memory;
}

} // namespace trainyard::engine
