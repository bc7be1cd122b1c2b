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

/// Gradients of a bucket wait for each other, so large buckets overlap less; small ones pay the
/// latency more often. Shared memory reduces 1 MiB in well under a millisecond.
constexpr std::size_t kBucketBytes = std::size_t{1} << 20;

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
/// closes a bucket when it is full.
void placeParameters(const Plan& plan, Section& section) {
    const DType exact = exactType(plan.type);
    const int dataRanks = plan.mesh.data;
    const graph::Graph& graph = section.graph;
    const std::size_t elementBytes = bytesOf(exact);
    const std::size_t padding = static_cast<std::size_t>(dataRanks) * 64 / elementBytes;
    section.parameterOffset.assign(graph.parameters.size(), 0);
    section.bucketOf.assign(graph.parameters.size(), -1);
    const std::vector<graph::OperationId> lastWriter = lastGradientWriters(graph);
    Bucket open;
    std::size_t next = 0;
    const auto close = [&] {
        if (open.parameters.empty())
            return;
        next = open.firstElement + roundUp(next - open.firstElement, padding);
        open.elements = next - open.firstElement;
        for (const graph::ParameterId parameter : open.parameters)
            section.bucketOf[at(parameter)] = static_cast<int>(section.buckets.size());
        section.buckets.push_back(open);
        open = {next, 0, {}};
    };
    for (std::size_t i = graph.operations.size(); i-- > 0;) {
        for (const graph::ParameterId id : graph.operations[i].parameters) {
            if (lastWriter[at(id)] != static_cast<graph::OperationId>(i))
                continue; // shared with an earlier operation, which adds to its gradient later
            section.parameterOffset[at(id)] = next;
            const auto elements =
                static_cast<std::size_t>(elementCount(graph.parameters[at(id)].shape));
            next += roundUp(elements, 64 / elementBytes);
            open.parameters.push_back(id);
        }
        if ((next - open.firstElement) * elementBytes >= kBucketBytes ||
            endsBucket(plan, section, i))
            close();
    }
    section.arenaElements = next;
}

/// One tensor rank's part of the model, for all stages of the pipeline.
TensorCut wholeOrCut(const graph::Graph& graph, int parts, int index) {
    if (parts > 1)
        return cutTensors(graph, parts, index);
    TensorCut whole{graph, {}, {}};
    whole.slices.assign(graph.parameters.size(), {true, true, -1, {}});
    return whole;
}

class SectionMaker {
public:
    SectionMaker(Plan& plan, const MachineFacts& machine, const std::vector<std::string>& cuts)
        : m_plan(plan), m_cuts(cuts) {
        if (plan.type == DType::Bf16)
            m_pictures = Layout::ChannelsLast;
        else if (machine.blockedPictures)
            m_pictures = Layout::Blocked16;
    }

    Problems run() {
        const Mesh& mesh = m_plan.mesh;
        m_plan.sections.resize(static_cast<std::size_t>(mesh.pipeline * mesh.tensor));
        for (int tensor = 0; tensor < mesh.tensor; ++tensor) {
            TensorCut cut = wholeOrCut(m_plan.graph, mesh.tensor, tensor);
            assignLayouts(cut.graph, m_pictures);
            StageOutcome stages =
                assignStages(cut.graph, mesh.pipeline * m_plan.stagesOfRank, m_cuts);
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
        placeParameters(m_plan, section);
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
    Layout m_pictures = Layout::Plain;
};

} // namespace

Problems makeSections(Plan& plan, const MachineFacts& machine,
                      const std::vector<std::string>& cuts) {
    return SectionMaker(plan, machine, cuts).run();
}

} // namespace trainyard::plan
