// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/gather_parameters.h"

#include <cstring>
#include <utility>

namespace trainyard::engine {

namespace {

/// The section's arena from the shards of the data parallel ranks.
Result<std::vector<std::byte>> gatherShards(const plan::Plan& plan, const plan::Section& section,
                                            Communicator& data, const std::byte* shards,
                                            std::uint32_t tag) {
    const std::size_t size = bytesOf(exactType(plan.type));
    const auto ranks = static_cast<std::size_t>(plan.mesh.data);
    std::vector<std::byte> arena(section.arenaElements * size);
    for (const plan::Bucket& bucket : section.buckets) {
        std::byte* first = arena.data() + bucket.firstElement * size;
        const std::size_t bytes = bucket.elements * size;
        std::memcpy(first + bytes / ranks * static_cast<std::size_t>(data.rank()),
                    shards + bucket.firstElement / ranks * size, bytes / ranks);
        if (auto gathered = data.allGather(first, bytes, tag); !gathered)
            return gathered.error();
    }
    return arena;
}

} // namespace

Result<std::vector<std::byte>> gatherParameters(const plan::Plan& plan, int rank,
                                                ProcessGroups& groups, const std::byte* arena,
                                                std::uint32_t tag) {
    const DType type = exactType(plan.type);
    const plan::Section& section = plan.sectionOf(rank);
    std::vector<std::byte> gathered;
    if (plan.shardsParameters) {
        auto all = gatherShards(plan, section, groups.data(), arena, tag);
        if (!all)
            return all.error();
        gathered = std::move(*all);
        arena = gathered.data();
    }
    const bool alone = plan.sections.size() == 1;
    const bool gives = alone || plan.mesh.coordinateOf(rank).data == 0;
    std::vector<std::byte> whole;
    for (std::size_t i = 0; i < plan.graph.parameters.size(); ++i) {
        const Shape& shape = plan.graph.parameters[i].shape;
        const auto elements = static_cast<std::size_t>(elementCount(shape));
        const std::size_t begin = whole.size();
        whole.resize(begin + elements * bytesOf(type)); // zeros, but for what this rank owns
        if (gives && section.slices[i].owned)
            plan::copyToWhole(arena + section.parameterOffset[i] * bytesOf(type),
                              whole.data() + begin, shape, section.slices[i], bytesOf(type));
        if (alone)
            continue;
        if (auto summed = groups.world().allReduceSum(whole.data() + begin, elements, type, tag);
            !summed)
            return summed.error();
    }
    return whole;
}

} // namespace trainyard::engine
