// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The fields that editors are made of. Those of layers, losses, optimizers, schedules, data formats
// and augmentation come from the catalogue, so a new type has its editor at once; the few fixed
// ones are described here in the same form.
#pragma once

#include "engine/base/tensor_type.h"
#include "engine/spec/catalogue.h"
#include "engine/spec/experiment.h"

#include <QString>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::app {

/// The choice of training.early_stopping.metric while there is no early stopping.
inline constexpr const char* kNoStopping = "off";

struct EditorField {
    std::string path; ///< for valueAt() and setValueAt()
    spec::FieldInfo info;
    /// May be left empty; this word then stands for it ("none").
    std::string emptyWord;
    /// The choices are types of this kind.
    std::optional<spec::Kind> typesOf = {};
    /// The choices are names that a person gave, shown as they are.
    bool choicesAreNames = false;
};

/// A fixed field: "training.batch", "parallel.data" ... The path must be one of them.
const EditorField& fixedField(std::string_view path);

std::vector<EditorField> layerFields(const spec::Experiment& experiment, int layer);
std::vector<EditorField> optimizerFields(const spec::Experiment& experiment);
std::vector<EditorField> scheduleFields(const spec::Experiment& experiment);
std::vector<EditorField> lossFields(const spec::Experiment& experiment);
std::vector<EditorField> dataFields(const spec::Experiment& experiment);
/// None for formats that are not of pictures.
std::vector<EditorField> augmentFields(const spec::Experiment& experiment);
/// The choice of a type: "training.optimizer.type".
EditorField typeField(const std::string& path, spec::Kind kind);

/// What people call the value at this path, in their language: "Batch", "Filters of conv1".
QString fieldLabel(const spec::Experiment& experiment, std::string_view path);

/// A choice of a field as a word for people: "shared_memory" -> "Shared memory"; types of the
/// catalogue have their label.
QString choiceText(const EditorField& field, const std::string& choice);

/// What stands beside the name of a layer: "3 × 3, 32, /2".
QString argumentsText(const spec::LayerSpec& layer);

/// "128 = 64 + 64", "100 = 4 × 7 + 12 × 6": who computes how many rows of a batch.
/// "128, shared by measured speed" where that is found out when the run starts.
QString batchArithmetic(std::int64_t batch, const spec::ParallelSpec& parallel);

/// Whether a field of the strategy changes anything on the mesh as it is: stages without a pipeline
/// do not.
bool hasEffect(std::string_view path, const spec::ParallelSpec& parallel);

/// "64 × 28 × 28"
QString shapeText(const Shape& shape);

} // namespace trainyard::app
