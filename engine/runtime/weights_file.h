// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The final weights of a run as a safetensors file: every parameter and running statistic under its
// global name, and as metadata all that a prediction needs, so that the file works without the run
// and without the data it was trained on:
//   format      "trainyard.weights/1"
//   experiment  the frozen experiment, JSON
//   step        updates that made these weights
//   data        {"shape", "vocabulary", "classes", "numbers", "class_names", "mean", "deviation",
//                "shift", "scale", "columns": [{"name", "use", "categories"}]}
//   tokenizer   of a text, see engine/data/tokenizer.h
#pragma once

#include "engine/checkpoint/safetensors.h"
#include "engine/data/dataset.h"
#include "engine/plan/plan.h"
#include "engine/spec/experiment.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace trainyard::engine {

/// `parameters`: of the whole model, one after the other. `training`: what the training data was
/// like.
Result<void> saveWeights(const std::string& path, const spec::Experiment& experiment,
                         const plan::Plan& plan, std::span<const std::byte> parameters,
                         const DatasetInfo& training, std::int64_t step);

class SavedWeights {
public:
    static Result<SavedWeights> open(const std::string& path);

    const spec::Experiment& experiment() const { return m_experiment; }
    /// All but samples, counts of classes and notes.
    const DatasetInfo& data() const { return m_data; }
    std::int64_t step() const { return m_step; }
    /// Fills the arena of a plan for one rank. The plan's graph must be that of experiment().
    Result<void> copyInto(const plan::Plan& plan, std::byte* arena) const;

private:
    explicit SavedWeights(SafetensorsFile file) : m_file(std::move(file)) {}
    Result<void> readMetadata();
    Error problem(Message what) const;

    SafetensorsFile m_file;
    spec::Experiment m_experiment;
    DatasetInfo m_data;
    std::int64_t m_step = 0;
};

} // namespace trainyard::engine
