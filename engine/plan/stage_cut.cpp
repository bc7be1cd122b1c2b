// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/stage_cut.h"

#include "engine/base/number_text.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace trainyard::plan {

namespace {

using graph::at;
using graph::Graph;
using graph::Operation;
using graph::OperationId;
using graph::ParameterId;
using graph::ValueId;

/// Operations of one layer, which stay together. The loss stays with the layer before it.
struct Unit {
    std::string layer;
    std::size_t first = 0; ///< operation
    double cost = 0;
};

std::vector<Unit> unitsOf(const Graph& graph) {
    std::vector<Unit> units;
    for (std::size_t i = 0; i < graph.operations.size(); ++i) {
        const Operation& operation = graph.operations[i];
        const std::string layer = layerOf(operation);
        const bool stays =
            !units.empty() && (units.back().layer == layer || graph::isLoss(operation.kind));
        if (!stays)
            units.push_back({layer, i, 0});
        units.back().cost += graph.forwardFlops(operation);
    }
    return units;
}

/// First units of the stages, so that the slowest stage is as fast as can be; among those, late
/// cuts stay early, so that stages are not empty. `speeds`: of the ranks that take them in turn.
std::vector<std::size_t> cheapestCuts(const std::vector<Unit>& units, int stages,
                                      const std::vector<double>& speeds) {
    const std::size_t count = units.size();
    std::vector<double> sum(count + 1, 0);
    for (std::size_t i = 0; i < count; ++i)
        sum[i + 1] = sum[i] + units[i].cost + 1; // layers without products cost a little, too
    const auto parts = static_cast<std::size_t>(stages);
    const double never = std::numeric_limits<double>::infinity();
    // best[p][n]: slowest of p stages made of the first n units; from[p][n]: where the last of them
    // begins.
    std::vector<std::vector<double>> best(parts + 1, std::vector<double>(count + 1, never));
    std::vector<std::vector<std::size_t>> from(parts + 1, std::vector<std::size_t>(count + 1, 0));
    best[0][0] = 0;
    for (std::size_t p = 1; p <= parts; ++p) {
        const double speed = speeds.empty() ? 1 : speeds[(p - 1) % speeds.size()];
        for (std::size_t n = p; n <= count; ++n)
            for (std::size_t begin = p - 1; begin < n; ++begin) {
                const double cost = std::max(best[p - 1][begin], (sum[n] - sum[begin]) / speed);
                if (cost < best[p][n]) {
                    best[p][n] = cost;
                    from[p][n] = begin;
                }
            }
    }
    std::vector<std::size_t> begins(parts, 0);
    for (std::size_t p = parts, n = count; p > 0; --p)
        n = begins[p - 1] = from[p][n];
    return begins;
}

StageOutcome problem(Message what, std::string where, Message cure) {
    return {{}, {{std::move(what), std::move(where), std::move(cure)}}};
}

/// First units of the stages that the named layers begin, or the problem.
StageOutcome findCuts(const std::vector<Unit>& units, const std::vector<std::string>& cuts,
                      std::vector<std::size_t>& begins) {
    begins = {0};
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        const std::string where = "parallel.cuts[" + std::to_string(i) + "]";
        const auto unit = std::ranges::find(units, cuts[i], &Unit::layer);
        if (unit == units.end())
            return problem({"There is no layer \"%1\" to begin a stage with.", {cuts[i]}}, where,
                           {"Name a layer of the model."});
        const auto begin = static_cast<std::size_t>(unit - units.begin());
        if (begin <= begins.back())
            return problem(
                {"Layer \"%1\" does not come after the begin of the stage before.", {cuts[i]}},
                where, {"Name later layers, in the order of the model."});
        begins.push_back(begin);
    }
    return {};
}

int rankOf(int stage, int ranks) {
    return stage % ranks;
}

} // namespace

StageOutcome assignStages(const Graph& graph, int stages, const std::vector<std::string>& cuts,
                          const std::vector<double>& speeds) {
    const std::vector<Unit> units = unitsOf(graph);
    if (units.size() < static_cast<std::size_t>(stages))
        return problem(
            {"%1 layers cannot be cut into %2 stages.",
             {grouped(static_cast<std::int64_t>(units.size())), grouped(stages)}},
            "parallel.pipeline",
            {"Use at most %1 stages.", {grouped(static_cast<std::int64_t>(units.size()))}});
    std::vector<std::size_t> begins;
    if (cuts.empty())
        begins = cheapestCuts(units, stages, speeds);
    else if (StageOutcome found = findCuts(units, cuts, begins); !found.problems.empty())
        return found;
    StageOutcome outcome;
    for (std::size_t i = 0, stage = 0; i < graph.operations.size(); ++i) {
        while (stage + 1 < begins.size() && units[begins[stage + 1]].first <= i)
            ++stage;
        outcome.stageOf.push_back(static_cast<int>(stage));
    }
    return outcome;
}

std::vector<Transfer> transfersOf(const Graph& graph, const std::vector<int>& stageOf, int ranks) {
    std::map<std::tuple<int, int>, Transfer> transfers; // by stage that makes, rank that reads
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
        const graph::ValueInfo& value = graph.values[i];
        if (value.producer < 0)
            continue; // the model's input: whoever needs it loads it
        const int madeIn = stageOf[at(value.producer)];
        std::map<int, int> readers; // rank -> first stage
        for (const OperationId consumer : value.consumers) {
            const int stage = stageOf[at(consumer)];
            const int reader = rankOf(stage, ranks);
            if (reader == rankOf(madeIn, ranks))
                continue;
            const auto [place, isNew] = readers.try_emplace(reader, stage);
            place->second = std::min(place->second, stage);
        }
        for (const auto& [reader, stage] : readers) {
            Transfer fresh{rankOf(madeIn, ranks), reader, madeIn, stage, {}};
            Transfer& transfer = transfers.try_emplace({madeIn, reader}, fresh).first->second;
            transfer.neededIn = std::min(transfer.neededIn, stage);
            transfer.values.push_back(static_cast<ValueId>(i));
        }
    }
    std::vector<Transfer> list;
    for (auto& [key, transfer] : transfers)
        list.push_back(std::move(transfer));
    return list;
}

std::vector<SharedParameter> sharedParametersOf(const Graph& graph, const std::vector<int>& stageOf,
                                                int ranks) {
    std::map<ParameterId, std::set<int>> users;
    for (std::size_t i = 0; i < graph.operations.size(); ++i)
        for (const ParameterId parameter : graph.operations[i].parameters)
            users[parameter].insert(rankOf(stageOf[i], ranks));
    std::vector<SharedParameter> shared;
    for (const auto& [parameter, who] : users)
        if (who.size() > 1)
            shared.push_back({parameter, {who.begin(), who.end()}});
    return shared;
}

Graph stagesOfRank(const Graph& graph, const std::vector<int>& stageOf, int ranks, int rank) {
    Graph part = graph;
    part.operations.clear();
    for (graph::ValueInfo& value : part.values) {
        value.producer = -1;
        value.consumers.clear();
    }
    for (std::size_t i = 0; i < graph.operations.size(); ++i) {
        if (rankOf(stageOf[i], ranks) != rank)
            continue;
        const auto id = static_cast<OperationId>(part.operations.size());
        const Operation& operation = graph.operations[i];
        for (const ValueId input : operation.inputs)
            part.values[at(input)].consumers.push_back(id);
        for (const ValueId output : operation.outputs) {
            part.values[at(output)].producer = id;
            for (const OperationId consumer : graph.values[at(output)].consumers)
                part.values[at(output)].leaves |= rankOf(stageOf[at(consumer)], ranks) != rank;
        }
        part.operations.push_back(operation);
    }
    return part;
}

} // namespace trainyard::plan
