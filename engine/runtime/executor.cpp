// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/executor.h"

#include "engine/base/check.h"
#include "engine/base/number_text.h"
#include "engine/runtime/rounding.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace trainyard::engine {

namespace {

using graph::at;

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

} // namespace

std::vector<std::pair<plan::Purpose, std::int64_t>> Executor::batchSizes(const plan::Plan& plan) {
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

Executor::Executor(const Parts& parts)
    : m_parts(parts), m_section(parts.plan.sectionOf(parts.rank)),
      m_place(parts.plan.mesh.coordinateOf(parts.rank)) {}

Result<std::unique_ptr<Executor>> Executor::make(const Parts& parts) {
    std::unique_ptr<Executor> executor(new Executor(parts));
    for (const auto& [purpose, rows] : batchSizes(parts.plan))
        executor->m_compiled[{purpose, rows}].program =
            plan::compileProgram(parts.plan, parts.rank, purpose, rows);
    if (Result<void> allocated = executor->allocate(); !allocated)
        return allocated.error();
    executor->initializeParameters();
    for (const auto& size : batchSizes(parts.plan)) { // kernels' forms are chosen for the largest
        Compiled& compiled = executor->m_compiled.at(size);
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
        if (m_search)
            searchBefore(program, index);
        kernel->run(context);
        if (m_search)
            searchAfter(program, index);
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
    m_step = input.step;
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

Result<void> Executor::gatherWhole(std::uint32_t tag, const TakeParameter& take) {
    return gatherParameters(m_parts.plan, m_parts.rank, m_parts.groups, m_parameters.data(), tag,
                            take);
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
    memory.gradients = m_gradients.size() + m_gradientShards.bytes() + m_halves.size() +
                       (m_powerSgd ? m_powerSgd->bytes() : 0);
    memory.optimizer = m_update->stateBytes() + m_average.bytes() + m_best.bytes();
    memory.activations = m_activations.bytes();
    return memory;
}

} // namespace trainyard::engine
