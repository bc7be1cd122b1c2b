// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/inspect.h"

#include "engine/base/json.h"
#include "engine/data/dataset.h"
#include "engine/plan/bucket_size.h"
#include "engine/runtime/data_preview.h"
#include "engine/runtime/machine.h"
#include "engine/runtime/problems_json.h"
#include "engine/spec/experiment_json.h"

#include <nlohmann/json.hpp>

#include <stdexcept>
#include <thread>

namespace trainyard::engine {

namespace {

using Json = nlohmann::ordered_json;

Json toJson(const Message& message) {
    return {{"format", message.format}, {"arguments", message.arguments}};
}

Json toJson(const DatasetInfo& info) {
    Json notes = Json::array();
    for (const Message& note : info.notes)
        notes.push_back(toJson(note));
    return {{"samples", info.samples},
            {"shape", info.sampleShape},
            {"vocabulary", info.vocabulary},
            {"numbers",
             info.target == TargetKind::Numbers ? elementCount(info.targetShape) : std::int64_t{0}},
            {"classes", info.classes},
            {"class_counts", info.classCounts},
            {"class_names", info.classNames},
            {"mean", info.mean},
            {"deviation", info.deviation},
            {"notes", std::move(notes)}};
}

/// A picture of a large folder may turn out to be damaged only now.
Json lookInto(const Dataset& dataset, const spec::DataSpec& data, Problems& problems) {
    try {
        return parsedJson(previewAsJson(dataset, data));
    } catch (const std::runtime_error& error) {
        problems.push_back({{"%1", {error.what()}}, "data.train"});
        return nullptr;
    }
}

/// Classes the model's loss knows; 0 when its shapes do not fit.
std::int64_t classesOf(const spec::ModelSpec& model) {
    const graph::BuiltGraph built = graph::buildGraph(model, {});
    return built.problems.empty() ? built.graph.classes() : 0;
}

} // namespace

std::string inspectExperiment(std::string_view experimentJson,
                              const plan::Calibration* calibration) {
    const spec::ParsedExperiment parsed = spec::parseExperiment(experimentJson);
    const spec::Experiment& experiment = parsed.experiment;
    Problems problems = parsed.problems;
    Json data = nullptr;
    // The data is worth a look even when the model is not finished.
    if (!experiment.data.train.empty()) {
        DataOutcome outcome =
            openData(experiment.data, experiment.training.seed, classesOf(experiment.model));
        problems.insert(problems.end(), outcome.problems.begin(), outcome.problems.end());
        if (outcome.data.training) {
            const auto& validation = outcome.data.validation;
            data = {{"train", toJson(outcome.data.training->info())},
                    {"validation", validation ? toJson(validation->info()) : Json(nullptr)},
                    {"preview", lookInto(*outcome.data.training, experiment.data, problems)}};
        }
    }
    plan::MachineFacts machine = machineFacts(experiment.precision);
    if (calibration)
        plan::setBucketBytes(machine, *calibration);
    const Json json = {{"format", "trainyard.inspect/1"},
                       {"problems", parsedJson(problemsAsJson(problems))},
                       {"data", std::move(data)},
                       {"machine",
                        {{"cores", std::max(1u, std::thread::hardware_concurrency())},
                         {"blocked_pictures", machine.blockedPictures},
                         {"bf16", machine.bf16.value_or(false)},
                         {"bucket_bytes", machine.bucketBytes},
                         {"network_bucket_bytes", machine.networkBucketBytes}}}};
    return jsonText(json);
}

} // namespace trainyard::engine
