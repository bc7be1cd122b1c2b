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

/// Of what is trained and counts here. `overPadding`: it is zero and may be in a span.
std::vector<ParameterRange> countedSpans(const std::vector<ParameterRange>& ranges,
                                         bool overPadding) {
    std::vector<ParameterRange> spans;
    bool open = false;
    for (const ParameterRange& range : ranges) {
        const bool counts = range.trained && range.owned;
        if (counts && !open)
            spans.push_back(range);
        if (counts)
            spans.back().count = range.first + range.count - spans.back().first;
        open = counts && overPadding;
    }
    return spans;
}

} // namespace

std::vector<ParameterRange> parameterRanges(const plan::Section& section) {
    std::vector<ParameterRange> ranges;
    for (std::size_t i = 0; i < section.graph.parameters.size(); ++i) {
        const graph::ParameterInfo& info = section.graph.parameters[i];
        if (section.slices[i].held)
            ranges.push_back({section.parameterOffset[i],
                              static_cast<std::size_t>(elementCount(info.shape)), info.decays,
                              info.trained, info.momentum, section.slices[i].owned});
    }
    std::ranges::sort(ranges, {}, &ParameterRange::first);
    return ranges;
}

ParameterUpdate::ParameterUpdate(const plan::Plan& plan, int rank, Optimizer& optimizer)
    : m_type(exactType(plan.type)), m_optimizer(optimizer) {
    TRAINYARD_CHECK_EQ(optimizer.slotCount(), plan.optimizerSlots);
    const plan::Section& section = plan.sectionOf(rank);
    const std::vector<ParameterRange> ranges = parameterRanges(section);
    const int data = plan.mesh.coordinateOf(rank).data;
    if (!plan.shardsOptimizer)
        addPart(plan, {0, section.arenaElements}, ranges);
    for (std::size_t i = 0; plan.shardsOptimizer && i < section.buckets.size(); ++i)
        addPart(plan, plan::shardOf(section.buckets[i], data, plan.mesh.data), ranges);
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

void ParameterUpdate::addPart(const plan::Plan& plan, const plan::Shard& elements,
                              const std::vector<ParameterRange>& all) {
    const std::size_t shards = // those before it
        m_parts.empty() ? 0 : m_parts.back().shards + m_parts.back().elements.elements;
    Part part;
    part.elements = elements;
    part.shards = shards;
    part.parameters = plan.shardsParameters ? shards : elements.firstElement;
    part.gradients = plan.shardsGradients ? shards : elements.firstElement;
    part.ranges = rangesIn(elements, all);
    // Buckets that are whole for a while lie over others' gradients, padding included.
    part.countedSpans = countedSpans(part.ranges, !plan.shardsGradients);
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
        for (const ParameterRange& span : part.countedSpans) {
            const std::size_t first = part.gradients + span.first;
            const double length = norm(m_type, gradients + first * bytesOf(m_type), span.count);
            squares += length * length;
        }
    return squares;
}

void ParameterUpdate::apply(const UpdateContext& context, std::byte* parameters,
                            const std::byte* gradients) {
    for (const Part& part : m_parts) {
        UpdateContext own = context;
        if (own.rounded)
            own.rounded += part.parameters;
        std::byte* const weights = parameters + part.parameters * bytesOf(m_type);
        const std::byte* const changes = gradients + part.gradients * bytesOf(m_type);
        updateStatistics(m_type, part.ranges, weights, changes);
        m_optimizer.update(own, m_type, part.elements.elements, part.ranges, weights, changes,
                           part.state);
    }
}

} // namespace trainyard::engine
