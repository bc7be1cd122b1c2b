// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/parameter_update.h"

#include "engine/base/check.h"

#include <algorithm>

namespace trainyard::engine {

namespace {

/// What lies in `elements`, counted from its first.
std::vector<ParameterRange> rangesIn(const plan::Shard& elements,
                                     const std::vector<ParameterRange>& all) {
    std::vector<ParameterRange> inside;
    const std::size_t end = elements.firstElement + elements.elements;
    for (ParameterRange range : all) {
        const std::size_t first = std::max(range.first, elements.firstElement);
        const std::size_t last = std::min(range.first + range.count, end);
        if (first >= last)
            continue;
        range.first = first - elements.firstElement;
        range.count = last - first;
        inside.push_back(range);
    }
    return inside;
}

/// Between running statistics; padding is zero and may be in a span.
std::vector<ParameterRange> trainedSpans(const std::vector<ParameterRange>& ranges) {
    std::vector<ParameterRange> spans;
    bool open = false;
    for (const ParameterRange& range : ranges) {
        if (range.trained && !open)
            spans.push_back(range);
        if (range.trained)
            spans.back().count = range.first + range.count - spans.back().first;
        open = range.trained;
    }
    return spans;
}

} // namespace

std::vector<ParameterRange> parameterRanges(const plan::Plan& plan) {
    std::vector<ParameterRange> ranges;
    for (std::size_t i = 0; i < plan.graph.parameters.size(); ++i) {
        const graph::ParameterInfo& info = plan.graph.parameters[i];
        ranges.push_back({plan.parameterOffset[i],
                          static_cast<std::size_t>(elementCount(info.shape)), info.decays,
                          info.trained, info.momentum});
    }
    std::ranges::sort(ranges, {}, &ParameterRange::first);
    return ranges;
}

ParameterUpdate::ParameterUpdate(const plan::Plan& plan, int rank, Optimizer& optimizer)
    : m_type(exactType(plan.type)), m_optimizer(optimizer) {
    TRAINYARD_CHECK_EQ(optimizer.slotCount(), plan.optimizerSlots);
    const std::vector<ParameterRange> ranges = parameterRanges(plan);
    if (!plan.shardsOptimizer)
        addPart({0, plan.arenaElements}, ranges);
    for (std::size_t i = 0; plan.shardsOptimizer && i < plan.buckets.size(); ++i)
        addPart(plan::shardOf(plan.buckets[i], rank, plan.worldSize), ranges);
    std::size_t elements = 0;
    for (const Part& part : m_parts)
        elements += part.elements.elements;
    for (int slot = 0; slot < plan.optimizerSlots; ++slot) {
        m_slots.emplace_back(elements * bytesOf(m_type));
        std::byte* next = m_slots.back().data();
        for (Part& part : m_parts) {
            part.state.push_back(next);
            next += part.elements.elements * bytesOf(m_type);
        }
    }
}

void ParameterUpdate::addPart(const plan::Shard& elements, const std::vector<ParameterRange>& all) {
    Part part{elements, rangesIn(elements, all), {}, {}};
    part.trainedSpans = trainedSpans(part.ranges);
    m_parts.push_back(std::move(part));
}

std::size_t ParameterUpdate::stateBytes() const {
    std::size_t bytes = 0;
    for (const Arena& slot : m_slots)
        bytes += slot.bytes();
    return bytes;
}

double ParameterUpdate::gradientSquares(const std::byte* gradients) const {
    double squares = 0;
    for (const Part& part : m_parts)
        for (const ParameterRange& span : part.trainedSpans) {
            const std::size_t first = part.elements.firstElement + span.first;
            const double length = norm(m_type, gradients + first * bytesOf(m_type), span.count);
            squares += length * length;
        }
    return squares;
}

void ParameterUpdate::apply(const UpdateContext& context, std::byte* parameters,
                            const std::byte* gradients) {
    for (const Part& part : m_parts) {
        const std::size_t offset = part.elements.firstElement * bytesOf(m_type);
        UpdateContext own = context;
        if (own.rounded)
            own.rounded += part.elements.firstElement;
        updateStatistics(m_type, part.ranges, parameters + offset, gradients + offset);
        m_optimizer.update(own, m_type, part.elements.elements, part.ranges, parameters + offset,
                           gradients + offset, part.state);
    }
}

} // namespace trainyard::engine
