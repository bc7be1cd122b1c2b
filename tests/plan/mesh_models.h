// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Models of words and of pictures on a mesh of ranks, for tests of their plans: 48 rows a batch.
#pragma once

#include "engine/plan/plan.h"
#include "tests/support/experiments.h"

#include <QtTest>

#include <cstdint>
#include <string>
#include <utility>

namespace trainyard::test {

inline spec::Experiment onMesh(int data, int tensor, int pipeline, const Settings& more = {}) {
    Settings settings = {{"parallel.data", std::to_string(data)},
                         {"parallel.tensor", std::to_string(tensor)},
                         {"parallel.pipeline", std::to_string(pipeline)},
                         {"training.batch", "48"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return smallExperiment(settings);
}

inline spec::Experiment wordsOnMesh(int data, int tensor, int pipeline, const Settings& more = {}) {
    spec::Experiment experiment = onMesh(data, tensor, pipeline, more);
    experiment.name = "words";
    experiment.model.inputShape = {6};
    experiment.model.layers = {
        layer("words", "embedding", {{"vocabulary", whole(12)}, {"features", whole(8)}}),
        layer("positions", "position_embedding"),
        layer("block1", "transformer_block", {{"heads", whole(4)}, {"dropout", 0.1}}),
        layer("block2", "transformer_block", {{"heads", whole(4)}, {"kv_heads", whole(2)}}),
        layer("block3", "transformer_block", {{"heads", whole(2)}}),
        layer("norm", "layer_norm"),
        layer("scores", "linear", {{"out_features", whole(12)}})};
    return experiment;
}

/// The table of words scores them, too.
inline spec::Experiment tied(spec::Experiment words) {
    words.model.layers.back().values = {
        {"out_features", whole(12)}, {"bias", false}, {"tied_to", std::string("words")}};
    return words;
}

inline spec::Experiment picturesOnMesh(int data, int tensor, int pipeline,
                                       const Settings& more = {}) {
    spec::Experiment experiment = onMesh(data, tensor, pipeline, more);
    experiment.model.layers = {
        layer("stem", "conv2d", {{"out_channels", whole(8)}, {"bias", false}}),
        layer("norm", "batch_norm"),
        layer("relu", "relu"),
        layer("same", "residual_block", {{"out_channels", whole(8)}}),
        layer("half", "residual_block",
              {{"out_channels", whole(16)}, {"stride", std::vector<std::int64_t>{2, 2}}}),
        layer("flat", "flatten"),
        layer("drop", "dropout"),
        layer("wide", "linear", {{"out_features", whole(12)}}),
        layer("act", "relu"),
        layer("fc", "linear", {{"out_features", whole(10)}})};
    return experiment;
}

inline plan::PlanOutcome tryPlan(const spec::Experiment& experiment, bool blocked = false) {
    const bool words = experiment.model.layers.front().type == "embedding";
    return plan::makePlan(experiment,
                          {.trainSamples = 100,
                           .validationSamples = 50,
                           .sampleShape = experiment.model.inputShape,
                           .classes = words ? 12 : 10,
                           .vocabulary = words ? 12 : 0},
                          {blocked});
}

inline plan::Plan planOf(const spec::Experiment& experiment, bool blocked = false) {
    plan::PlanOutcome outcome = tryPlan(experiment, blocked);
    for (const QByteArray& sentence : sentences(outcome.problems))
        qWarning("%s", sentence.constData());
    return std::move(outcome.plan);
}

} // namespace trainyard::test
