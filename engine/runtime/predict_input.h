// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a person gives a trained model to look at, as samples that are like those it was trained on:
// of the same shape, normalised with the numbers of its training data.
#pragma once

#include "engine/data/dataset.h"
#include "engine/runtime/weights_file.h"

#include <memory>
#include <string>
#include <vector>

namespace trainyard::engine {

struct InputRequest {
    /// Pictures (JPEG, PNG), one file (IDX; CSV where the model was trained on a table), or rows:
    /// "5.1,3.5,1.4,0.2".
    std::vector<std::string> words;
    std::string labels;      ///< IDX file with the right answers for `words`; empty: none
    bool validation = false; ///< instead of `words`: what the run was validated on
};

struct PredictInput {
    std::unique_ptr<Dataset> samples;
    bool hasTargets = false;        ///< the right answers are known
    std::vector<std::string> names; ///< of the samples; empty: they have numbers only
};

Result<PredictInput> openInput(const SavedWeights& weights, const InputRequest& request);

} // namespace trainyard::engine
