// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The executor's instructions that exchange something with other ranks.
#include "engine/runtime/executor.h"

#include "engine/base/check.h"
#include "engine/comm/sums.h"
#include "engine/runtime/rounding.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace trainyard::engine {

using graph::at;

namespace {

void addTo(void* sum, const void* addend, std::size_t count, DType type) {
    sumOver(sum, std::array<const void*, 2>{sum, addend}, count, type);
}

} // namespace

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
    case plan::Opcode::GatherScores:
        return m_parts.groups.tensor().allGather(
            m_activations.data() + program.savedPlaceOf(instruction).offset,
            plan::scoreBytes(m_section.graph, program, instruction), instruction.tag);
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
    if (isLowRank(instruction))
        return m_powerSgd->sum(m_gradients.data(), instruction.bucket, m_step, instruction.tag);
    std::byte* first =
        m_gradients.data() + bucket.firstElement * bytesOf(exactType(m_parts.plan.type));
    return isRounded(instruction) ? sumRounded(first, instruction) : sumWhole(first, instruction);
}

bool Executor::isRounded(const plan::Instruction& instruction) const {
    return m_section.buckets[at(instruction.bucket)].compressed &&
           plan::rounds(m_parts.plan.compression);
}

bool Executor::isLowRank(const plan::Instruction& instruction) const {
    return m_powerSgd && m_section.buckets[at(instruction.bucket)].compressed &&
           m_step >= m_parts.plan.compressionWarmup;
}

/// `gradients`: of the bucket. Scattered ones: only this rank's shard is of use afterwards.
Result<void> Executor::sumWhole(std::byte* gradients, const plan::Instruction& instruction) {
    Communicator& data = m_parts.groups.data();
    const std::size_t elements = m_section.buckets[at(instruction.bucket)].elements;
    const DType type = exactType(m_parts.plan.type);
    return instruction.opcode == plan::Opcode::ScatterGradients
               ? data.reduceScatterSum(gradients, elements, type, instruction.tag)
               : data.allReduceSum(gradients, elements, type, instruction.tag);
}

/// Rounded for the way, added in fp32, rounded once more, and wide again.
Result<void> Executor::sumRounded(std::byte* gradients, const plan::Instruction& instruction) {
    const bool scatter = instruction.opcode == plan::Opcode::ScatterGradients;
    const std::size_t elements = m_section.buckets[at(instruction.bucket)].elements;
    const DType type = plan::wireType(m_parts.plan, m_section, instruction.bucket);
    auto* const wide = reinterpret_cast<float*>(gradients);
    std::byte* const halves = m_halves.data();
    roundToHalf(wide, halves, type, elements);
    Communicator& data = m_parts.groups.data();
    Result<void> summed = scatter ? data.reduceScatterSum(halves, elements, type, instruction.tag)
                                  : data.allReduceSum(halves, elements, type, instruction.tag);
    if (!summed)
        return summed;
    const std::size_t shard = elements / static_cast<std::size_t>(m_parts.plan.mesh.data);
    const std::size_t first = scatter ? shard * static_cast<std::size_t>(m_place.data) : 0;
    widenHalf(halves + first * bytesOf(type), type, wide + first, scatter ? shard : elements);
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
        offset =
            program.parameterWindows.placeAt(instruction.bucket, static_cast<int>(index)).offset;
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
        offset =
            program.gradientWindows.placeAt(instruction.bucket, static_cast<int>(index)).offset;
    std::byte* first = m_gradients.data() + offset;
    Result<void> reduced =
        isRounded(instruction) ? sumRounded(first, instruction) : sumWhole(first, instruction);
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
} // namespace trainyard::engine
