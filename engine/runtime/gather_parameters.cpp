// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/gather_parameters.h"

#include <cstring>
#include <vector>

namespace trainyard::engine {

namespace {

using graph::at;

class Gatherer {
public:
    Gatherer(const plan::Plan& plan, int rank, ProcessGroups& groups, const std::byte* arena,
             std::uint32_t tag)
        : m_plan(plan), m_section(plan.sectionOf(rank)), m_groups(groups), m_arena(arena),
          m_tag(tag), m_type(exactType(plan.type)),
          m_gives(plan.mesh.coordinateOf(rank).data == 0) {}

    Result<void> run(const TakeParameter& take) {
        for (std::size_t i = 0; i < m_plan.graph.parameters.size(); ++i) {
            const auto id = static_cast<graph::ParameterId>(i);
            if (m_section.holds(id) && m_plan.shardsParameters)
                if (Result<void> gathered = gatherBucketOf(id); !gathered)
                    return gathered;
            if (Result<void> taken = takeOne(id, take); !taken)
                return taken;
        }
        return {};
    }

private:
    /// Parameters of a bucket follow each other, so each is gathered about once.
    Result<void> gatherBucketOf(graph::ParameterId id) {
        const int number = m_section.bucketOf[at(id)];
        if (number == m_open)
            return {};
        m_open = number;
        const plan::Bucket& bucket = m_section.buckets[at(number)];
        const auto ranks = static_cast<std::size_t>(m_plan.mesh.data);
        Communicator& data = m_groups.data();
        m_bucket.resize(bucket.elements * bytesOf(m_type));
        const std::size_t shard = m_bucket.size() / ranks;
        std::memcpy(m_bucket.data() + shard * static_cast<std::size_t>(data.rank()),
                    m_arena + bucket.firstElement / ranks * bytesOf(m_type), shard);
        return data.allGather(m_bucket.data(), m_bucket.size(), m_tag);
    }

    const std::byte* placeOf(graph::ParameterId id) const {
        const std::size_t offset = m_section.parameterOffset[at(id)];
        if (!m_plan.shardsParameters)
            return m_arena + offset * bytesOf(m_type);
        const plan::Bucket& bucket = m_section.buckets[at(m_open)];
        return m_bucket.data() + (offset - bucket.firstElement) * bytesOf(m_type);
    }

    /// From where it lies, or as the sum of what its owners put into zeros.
    Result<void> takeOne(graph::ParameterId id, const TakeParameter& take) {
        const Shape& shape = m_plan.graph.parameters[at(id)].shape;
        const auto elements = static_cast<std::size_t>(elementCount(shape));
        const std::size_t bytes = elements * bytesOf(m_type);
        if (m_plan.sections.size() == 1) {
            take({placeOf(id), bytes});
            return {};
        }
        m_whole.assign(bytes, std::byte{});
        const plan::ParameterSlice& slice = m_section.slices[at(id)];
        if (m_gives && slice.owned)
            plan::copyToWhole(placeOf(id), m_whole.data(), shape, slice, bytesOf(m_type));
        Result<void> summed =
            m_groups.world().allReduceSum(m_whole.data(), elements, m_type, m_tag);
        if (summed)
            take(m_whole);
        return summed;
    }

    const plan::Plan& m_plan;
    const plan::Section& m_section;
    ProcessGroups& m_groups;
    const std::byte* m_arena;
    const std::uint32_t m_tag;
    const DType m_type;
    const bool m_gives;
    int m_open = -1; ///< the bucket that is whole in m_bucket
    std::vector<std::byte> m_bucket;
    std::vector<std::byte> m_whole;
};

} // namespace

Result<void> gatherParameters(const plan::Plan& plan, int rank, ProcessGroups& groups,
                              const std::byte* arena, std::uint32_t tag,
                              const TakeParameter& take) {
    return Gatherer(plan, rank, groups, arena, tag).run(take);
}

} // namespace trainyard::engine
