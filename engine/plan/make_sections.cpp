// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/make_sections.h"

#include "engine/plan/layouts.h"
#include "engine/plan/tensor_cut.h"
#include "engine/program/program.h"

#include <algorithm>
#include <utility>

namespace trainyard::plan {

namespace {

using graph::at;

std::size_t roundUp(std::size_t value, std::size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// Where a bucket ends for other reasons than its size: what is whole only for a while is so for a
/// layer (ZeRO 3), and is reduced after each stage's backward (2 and 3).
bool endsBucket(const Plan& plan, const Section& section, std::size_t operation) {
    if (operation == 0)
        return true;
    const graph::Operation& before = section.graph.operations[operation - 1];
    const graph::Operation& here = section.graph.operations[operation];
    return (plan.shardsParameters && graph::layerOf(before) != graph::layerOf(here)) ||
           (plan.shardsGradients && section.stageOf[operation - 1] != section.stageOf[operation]);
}

/// Lays the parameters out in the order their gradients are finished (last operation first) and
/// closes a bucket when it is full. Where some gradients are made smaller on their way, those that
/// are not (running statistics; with PowerSGD all that is no large matrix) have buckets of their
/// own.
class ParameterPlacer {
public:
    ParameterPlacer(const Plan& plan, Section& section)
        : m_plan(plan), m_section(section), m_elementBytes(bytesOf(exactType(plan.type))) {}

    void run() {
        const graph::Graph& graph = m_section.graph;
        m_section.parameterOffset.assign(graph.parameters.size(), 0);
        m_section.bucketOf.assign(graph.parameters.size(), -1);
        const std::vector<graph::OperationId> lastWriter = lastGradientWriters(graph);
        for (std::size_t i = graph.operations.size(); i-- > 0;) {
            for (const graph::ParameterId id : graph.operations[i].parameters)
                // Shared ones: an earlier operation adds to their gradient later.
                if (lastWriter[at(id)] == static_cast<graph::OperationId>(i))
                    add(id);
            const bool ends = endsBucket(m_plan, m_section, i);
            for (OpenBucket* open : {&m_compressed, &m_whole})
                if (ends || open->elements * m_elementBytes >= m_plan.bucketBytes)
                    close(*open);
        }
        if (m_plan.compression == Compression::PowerSgd)
            m_section.lowRank = layOutLowRank(graph, m_section.buckets, m_section.parameterOffset,
                                              m_plan.compressionRank, m_elementBytes);
    }

private:
    struct OpenBucket {
        bool compressed = false;
        std::vector<graph::ParameterId> parameters = {};
        std::size_t elements = 0;
    };

    std::size_t placeOf(graph::ParameterId id) const {
        const Shape& shape = m_section.graph.parameters[at(id)].shape;
        return roundUp(static_cast<std::size_t>(elementCount(shape)), 64 / m_elementBytes);
    }

    bool isCompressed(graph::ParameterId id) const {
        const graph::ParameterInfo& info = m_section.graph.parameters[at(id)];
        if (m_plan.compression == Compression::PowerSgd)
            return info.trained && isWorthLowRank(info.shape, m_plan.compressionRank);
        return info.trained && m_plan.compression != Compression::None;
    }

    void add(graph::ParameterId id) {
        OpenBucket& open = isCompressed(id) ? m_compressed : m_whole;
        open.parameters.push_back(id);
        open.elements += placeOf(id);
    }

    void close(OpenBucket& open) {
        open.elements = 0;
        if (open.parameters.empty())
            return;
        const auto ranks = static_cast<std::size_t>(m_plan.mesh.data);
        Bucket bucket{m_section.arenaElements, 0, std::exchange(open.parameters, {}),
                      open.compressed};
        for (const graph::ParameterId id : bucket.parameters) {
            m_section.parameterOffset[at(id)] = bucket.firstElement + bucket.elements;
            m_section.bucketOf[at(id)] = static_cast<int>(m_section.buckets.size());
            bucket.elements += placeOf(id);
        }
        bucket.elements = roundUp(bucket.elements, ranks * 64 / m_elementBytes);
        m_section.arenaElements += bucket.elements;
        m_section.buckets.push_back(std::move(bucket));
    }

    const Plan& m_plan;
    Section& m_section;
    const std::size_t m_elementBytes;
    OpenBucket m_compressed{.compressed = true};
    OpenBucket m_whole{.compressed = false};
};

/// One tensor rank's part of the model, for all stages of the pipeline.
TensorCut wholeOrCut(const graph::Graph& graph, int parts, int index) {
    if (parts > 1)
        return cutTensors(graph, parts, index);
    TensorCut whole{graph, {}, {}, {}};
    whole.slices.assign(graph.parameters.size(), {true, true, -1, {}});
    return whole;
}

class SectionMaker {
public:
    SectionMaker(Plan& plan, const MachineFacts& machine, const std::vector<std::string>& cuts,
                 const std::vector<double>& stageSpeeds)
        : m_plan(plan), m_cuts(cuts), m_stageSpeeds(stageSpeeds) {
        if (plan.type == DType::Bf16)
            m_pictures = Layout::ChannelsLast;
        else if (machine.blockedPictures)
            m_pictures = Layout::Blocked16;
    }

    Problems run() {
        const Mesh& mesh = m_plan.mesh;
        m_plan.sections.resize(static_cast<std::size_t>(mesh.pipeline * mesh.tensor));
        StageOutcome stages;
        for (int tensor = 0; tensor < mesh.tensor; ++tensor) {
            TensorCut cut = wholeOrCut(m_plan.graph, mesh.tensor, tensor);
            assignLayouts(cut.graph, m_pictures);
            if (tensor == 0) // the others have the same operations, if not as much to compute
                stages = assignStages(cut.graph, mesh.pipeline * m_plan.stagesOfRank, m_cuts,
                                      m_stageSpeeds);
            if (!stages.problems.empty())
                return stages.problems;
            if (Problems problems = checkShared(cut.graph, stages.stageOf); !problems.empty())
                return problems;
            if (tensor == 0)
                nameStages(cut.graph, stages.stageOf);
            for (int rank = 0; rank < mesh.pipeline; ++rank)
                m_plan.sections[static_cast<std::size_t>(rank * mesh.tensor + tensor)] =
                    makeSection(cut, stages.stageOf, rank);
        }
        assignLayouts(m_plan.graph, m_pictures);
        return {};
    }

private:
    /// Shards of a parameter that two stages use do not lie alike on both.
    Problems checkShared(const graph::Graph& graph, const std::vector<int>& stageOf) const {
        std::vector<int> stages(graph.parameters.size(), -1);
        for (std::size_t i = 0; m_plan.shardsGradients && i < stageOf.size(); ++i)
            for (const graph::ParameterId parameter : graph.operations[i].parameters) {
                int& stage = stages[at(parameter)];
                if (stage >= 0 && stage != stageOf[i])
                    return {{{"%1 is used in two stages of the pipeline; its gradients can only be "
                              "added up where each rank has them whole.",
                              {graph.parameters[at(parameter)].name}},
                             "parallel.zero",
                             {"Set parallel.zero to 0 or 1, or do not share these weights."}}};
                stage = stageOf[i];
            }
        return {};
    }

    void nameStages(const graph::Graph& graph, const std::vector<int>& stageOf) {
        for (std::size_t i = 0; i < stageOf.size(); ++i)
            if (stageOf[i] == static_cast<int>(m_plan.stages.size()))
                m_plan.stages.push_back(graph::layerOf(graph.operations[i]));
    }

    Section makeSection(const TensorCut& cut, const std::vector<int>& stageOf, int rank) const {
        const int ranks = m_plan.mesh.pipeline;
        Section section;
        section.graph = stagesOfRank(cut.graph, stageOf, ranks, rank);
        for (const int stage : stageOf)
            if (stage % ranks == rank)
                section.stageOf.push_back(stage);
        section.withGradient = valuesWithGradient(cut.graph);
        section.replicated = cut.replicated;
        section.sharedClasses = cut.sharedClasses;
        for (const Transfer& transfer : transfersOf(cut.graph, stageOf, ranks)) {
            if (transfer.to == rank)
                section.arriving.push_back(transfer);
            if (transfer.from == rank)
                section.leaving.push_back(transfer);
        }
        section.slices = slicesOf(section.graph, cut);
        for (const SharedParameter& shared : sharedParametersOf(cut.graph, stageOf, ranks))
            if (std::ranges::count(shared.ranks, rank) > 0) {
                section.shared.push_back(shared);
                section.slices[at(shared.parameter)].owned &= shared.ranks.front() == rank;
            }
        for (std::size_t i = 0; i < section.slices.size(); ++i)
            if (section.slices[i].held)
                section.graph.parameters[i].shape =
                    localShape(m_plan.graph.parameters[i].shape, section.slices[i]);
        ParameterPlacer(m_plan, section).run();
        return section;
    }

    /// Only of what the section's operations use.
    static std::vector<ParameterSlice> slicesOf(const graph::Graph& graph, const TensorCut& cut) {
        std::vector<ParameterSlice> slices(cut.slices.size());
        for (const graph::Operation& operation : graph.operations)
            for (const graph::ParameterId parameter : operation.parameters)
                slices[at(parameter)] = cut.slices[at(parameter)];
        return slices;
    }

    Plan& m_plan;
    const std::vector<std::string>& m_cuts;
    const std::vector<double>& m_stageSpeeds;
    Layout m_pictures = Layout::Plain;
};

} // namespace

Problems makeSections(Plan& plan, const MachineFacts& machine, const std::vector<std::string>& cuts,
                      const std::vector<double>& stageSpeeds) {
    return SectionMaker(plan, machine, cuts, stageSpeeds).run();
}

} // namespace trainyard::plan
