// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/experiment_analysis.h"

#include "app/models/experiment_path.h"
#include "engine/spec/catalogue.h"
#include "engine/spec/experiment_json.h"

#include <algorithm>

namespace trainyard::app {

namespace {

bool isOfModel(const Error& problem) {
    return problem.where.starts_with("model.");
}

/// Layers before the first one whose own values are wrong: those can be built.
std::size_t buildableLayers(const spec::ModelSpec& model, const Problems& problems) {
    std::size_t count = model.layers.size();
    for (const Error& problem : problems) {
        const int layer = layerOfPath(problem.where);
        if (layer >= 0)
            count = std::min(count, static_cast<std::size_t>(layer));
        else if (isOfModel(problem) && !problem.where.starts_with("model.loss"))
            count = 0;
    }
    return count;
}

/// Shapes of the layers that can be built. Problems of shapes join the others only where a layer
/// cannot be built: that the rest is unfinished is no problem of its own.
void buildShapes(const spec::ModelSpec& model, const graph::DataFit& data,
                 ExperimentAnalysis& result) {
    spec::ModelSpec front = model;
    front.layers.resize(buildableLayers(model, result.problems));
    const bool whole = front.layers.size() == model.layers.size();
    if (front.layers.empty())
        return;
    graph::BuiltGraph built = graph::buildGraph(front, whole ? data : graph::DataFit{});
    result.layers = std::move(built.layers);
    for (Error& problem : built.problems) {
        const int layer = layerOfPath(problem.where);
        const bool broken =
            layer >= 0 && result.layers[static_cast<std::size_t>(layer)].output.empty();
        if (whole || broken)
            result.problems.push_back(std::move(problem));
    }
}

int sectionRank(const Error& problem) {
    const std::string& where = problem.where;
    if (where.starts_with("data"))
        return 0;
    if (where.starts_with("model"))
        return 1;
    return where.starts_with("parallel") || where.starts_with("devices") ? 3 : 2;
}

/// While nothing is known of the data, one full batch stands for it: enough for memory, not for
/// steps.
plan::DataCounts assumedCounts(const spec::Experiment& experiment) {
    return {.trainSamples = std::max<std::int64_t>(experiment.training.batch, 1),
            .validationSamples = 0,
            .sampleShape = {},
            .classes = 0};
}

void add(Problems& problems, const Problems& more) {
    for (const Error& problem : more)
        if (std::find(problems.begin(), problems.end(), problem) == problems.end())
            problems.push_back(problem);
}

} // namespace

Problems missingFiles(const spec::DataSpec& data) {
    Problems problems;
    const spec::TypeInfo* format = spec::findType(spec::Kind::DataFormat, data.format);
    if (!format)
        return problems;
    const auto look = [&](const spec::FileSet& files, const std::string& part) {
        for (const spec::FileRole& role : format->roles) {
            const auto file = files.find(role.name);
            if (!role.optional && (file == files.end() || file->second.empty()))
                problems.push_back({{role.folder ? "No folder with the %1 is chosen."
                                                 : "No file with the %1 is chosen.",
                                     {role.name}},
                                    part + role.name});
        }
    };
    look(data.train, "data.train.");
    if (!data.validation.empty())
        look(data.validation, "data.validation.");
    return problems;
}

ExperimentAnalysis analyse(const spec::Experiment& experiment, const DataFacts* facts,
                           const plan::MachineFacts& machine) {
    ExperimentAnalysis result;
    const bool dataKnown = facts && facts->usable();
    const plan::DataCounts counts = dataKnown ? facts->counts() : assumedCounts(experiment);

    result.problems = spec::validate(experiment);
    const bool valid = result.problems.empty();
    buildShapes(
        experiment.model,
        {.classes = counts.classes, .numbers = counts.numbers, .vocabulary = counts.vocabulary},
        result);
    if (valid) {
        plan::PlanOutcome outcome = plan::makePlan(experiment, counts, machine);
        if (outcome.problems.empty())
            result.prices =
                Prices{outcome.plan.graph.parameterElements(), outcome.plan.graph.forwardFlops(),
                       std::move(outcome.plan), dataKnown};
        add(result.problems, outcome.problems);
    }
    add(result.problems, missingFiles(experiment.data));
    if (facts)
        add(result.problems, facts->problems);
    std::stable_sort(
        result.problems.begin(), result.problems.end(),
        [](const Error& a, const Error& b) { return sectionRank(a) < sectionRank(b); });
    return result;
}

LayerHints hintsOf(const spec::Experiment& experiment, const ExperimentAnalysis& analysis,
                   const DataFacts* facts) {
    LayerHints hints;
    if (facts) {
        hints.outputs = std::max(facts->training.classes, facts->training.numbers);
        hints.vocabulary = facts->training.vocabulary;
    }
    hints.shapes.push_back(experiment.model.inputShape);
    for (const graph::LayerShapes& layer : analysis.layers)
        hints.shapes.push_back(layer.output);
    return hints;
}

bool takesLabels(const spec::Choice& loss) {
    return loss.type == "cross_entropy";
}

bool accepts(const spec::LayerSpec& layer, const Shape& input) {
    spec::ModelSpec model{.inputShape = input, .layers = {layer}};
    model.layers.front().from.clear();
    const graph::BuiltGraph built = graph::buildGraph(model, {});
    return !built.layers.front().output.empty();
}

} // namespace trainyard::app
