// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/process_groups.h"

#include <algorithm>
#include <string>
#include <utility>

namespace trainyard::engine {

namespace {

/// One for each pair of pipeline ranks that exchange anything in this direction.
std::vector<Channel> channelsOf(const plan::Plan& plan, int data, bool gradients) {
    std::map<std::pair<int, int>, Channel> channels;
    const std::int64_t rows = plan.microBatchesOf(plan.batch, data).front().count;
    for (int rank = 0; rank < plan.mesh.pipeline; ++rank) {
        const plan::Section& section = plan.sectionOf(plan.mesh.rankOf({0, 0, rank}));
        for (const plan::Transfer& transfer : section.leaving) {
            const int from = gradients ? transfer.to : transfer.from;
            const int to = gradients ? transfer.from : transfer.to;
            Channel& channel =
                channels.try_emplace({from, to}, Channel{from, to, 0, 0}).first->second;
            for (const graph::ValueId id : transfer.values) {
                const graph::ValueInfo& value = section.graph.values[static_cast<std::size_t>(id)];
                channel.bytes = std::max(
                    channel.bytes,
                    static_cast<std::size_t>(storedElements(value.shape, value.layout) * rows) *
                        bytesOf(plan.type));
            }
            channel.depth += plan::microBatchesOnTheWay(plan.pipelineShape()) *
                             static_cast<int>(transfer.values.size());
        }
    }
    std::vector<Channel> list;
    for (const auto& [ends, channel] : channels)
        list.push_back(channel);
    return list;
}

} // namespace

Result<std::unique_ptr<ProcessGroups>> ProcessGroups::make(const plan::Plan& plan, int rank,
                                                           Communicator& world) {
    std::unique_ptr<ProcessGroups> groups(new ProcessGroups(world));
    if (Result<void> split = groups->split(plan); !split)
        return split.error();
    if (Result<void> opened = groups->openChannels(plan, rank); !opened)
        return opened.error();
    if (Result<void> shared = groups->splitSharing(plan); !shared)
        return shared.error();
    return groups;
}

Result<void> ProcessGroups::split(const plan::Plan& plan) {
    const plan::Mesh& mesh = plan.mesh;
    const auto splitOff = [&](plan::Axis axis, const char* name,
                              std::unique_ptr<Communicator>& group) -> Result<void> {
        if (mesh.extent(axis) == 1) {
            group = makeSingleCommunicator();
            return {};
        }
        auto made = m_world.split(mesh.groups(axis), name);
        if (!made)
            return made.error();
        group = std::move(*made);
        return {};
    };
    if (mesh.data < mesh.worldSize())
        if (Result<void> done = splitOff(plan::Axis::Data, "data", m_data); !done)
            return done;
    if (Result<void> done = splitOff(plan::Axis::Tensor, "tensor", m_tensor); !done)
        return done;
    if (Result<void> done = splitOff(plan::Axis::Pipeline, "values", m_values); !done)
        return done;
    return splitOff(plan::Axis::Pipeline, "gradients", m_gradients);
}

Result<void> ProcessGroups::openChannels(const plan::Plan& plan, int rank) {
    if (plan.mesh.pipeline == 1)
        return {};
    const int data = plan.mesh.coordinateOf(rank).data;
    if (Result<void> opened = m_values->openChannels(channelsOf(plan, data, false)); !opened)
        return opened;
    return m_gradients->openChannels(channelsOf(plan, data, true));
}

/// All ranks split for all shared parameters, in the same order.
Result<void> ProcessGroups::splitSharing(const plan::Plan& plan) {
    std::map<graph::ParameterId, std::vector<int>> all;
    for (const plan::Section& section : plan.sections)
        for (const plan::SharedParameter& shared : section.shared)
            all[shared.parameter] = shared.ranks;
    for (const auto& [parameter, stages] : all) {
        std::vector<std::vector<int>> groups;
        for (int data = 0; data < plan.mesh.data; ++data)
            for (int tensor = 0; tensor < plan.mesh.tensor; ++tensor) {
                groups.emplace_back();
                for (const int stage : stages)
                    groups.back().push_back(plan.mesh.rankOf({data, tensor, stage}));
            }
        std::string name = "sharing";
        for (graph::ParameterId i = parameter; i > 0; i /= 10)
            name += static_cast<char>('a' + i % 10);
        auto made = m_world.split(groups, name);
        if (!made)
            return made.error();
        m_sharing[parameter] = std::move(*made);
    }
    return {};
}

double ProcessGroups::secondsInside() const {
    double seconds = m_world.secondsInside();
    for (const auto* group : {&m_data, &m_tensor, &m_values, &m_gradients})
        seconds += *group ? (*group)->secondsInside() : 0;
    for (const auto& [parameter, group] : m_sharing)
        seconds += group->secondsInside();
    return seconds;
}

} // namespace trainyard::engine
