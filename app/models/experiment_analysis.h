// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything that is known of an experiment before it runs: what is wrong with it, the shapes at
// each layer, what it costs. A pure function, fast enough to be called at each keystroke.
#pragma once

#include "app/models/data_facts.h"
#include "app/models/model_edit.h"
#include "engine/graph/graph.h"
#include "engine/plan/plan.h"
#include "engine/spec/experiment.h"

#include <optional>
#include <vector>

namespace trainyard::app {

/// What an experiment costs; only of a valid one.
struct Prices {
    std::int64_t parameters = 0;
    double forwardFlops = 0; ///< of one sample
    /// What each rank holds and does. Steps are only known with `dataKnown`.
    plan::Plan plan;
    bool dataKnown = false;
};

struct ExperimentAnalysis {
    Problems problems; ///< data, model, training, parallelism, in this order
    /// One for each layer, from the first on, as far as they can be known; a layer that cannot be
    /// built has no output.
    std::vector<graph::LayerShapes> layers;
    std::optional<Prices> prices;
};

/// `facts`: null while the data has not been looked into.
ExperimentAnalysis analyse(const spec::Experiment& experiment, const DataFacts* facts,
                           const plan::MachineFacts& machine);

/// True for the loss that compares a score for each class with a label; others compare numbers.
bool takesLabels(const spec::Choice& loss);

/// True where a layer like this one can take an input of this shape.
bool accepts(const spec::LayerSpec& layer, const Shape& input);

/// What a new layer can be made to fit.
LayerHints hintsOf(const spec::Experiment& experiment, const ExperimentAnalysis& analysis,
                   const DataFacts* facts);

/// The files that the format asks for and that are not chosen, as problems.
Problems missingFiles(const spec::DataSpec& data);

} // namespace trainyard::app
