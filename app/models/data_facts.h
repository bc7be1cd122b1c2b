// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a look into the data files has found. The worker looks, because only it can read data; the
// studio asks it and shows the answer.
#pragma once

#include "engine/base/result.h"
#include "engine/plan/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::app {

/// One part of the data: training or validation.
struct PartFacts {
    std::int64_t samples = 0;
    Shape sampleShape;
    std::int64_t vocabulary = 0; ///< inputs are indices below it; 0: they are numbers
    std::int64_t numbers = 0;    ///< to predict for each sample; 0: targets are classes
    std::int64_t classes = 0;
    std::vector<std::int64_t> classCounts; ///< samples of each class; empty where not counted
    std::vector<std::string> classNames;   ///< empty: classes are numbers
    std::vector<double> mean;              ///< of the inputs, per channel or column
    std::vector<double> deviation;
    std::vector<Message> notes; ///< what the reader found out or left out
    bool operator==(const PartFacts&) const = default;
};

/// A picture of the training data: bytes {channels, height, width}.
struct PicturePreview {
    std::optional<std::int64_t> label; ///< none where it is not one class
    std::string bytes;
    bool operator==(const PicturePreview&) const = default;
};

/// A column of a table.
struct ColumnPreview {
    std::string name;
    std::string use; ///< "number", "category", "class", "target" or "left_out"
    std::int64_t missing = 0;
    std::vector<std::string> examples; ///< of the first rows
    std::vector<std::string> categories;
    std::optional<double> mean; ///< of inputs that are numbers
    std::optional<double> deviation;
    bool operator==(const ColumnPreview&) const = default;
};

/// The first samples as a person can look at them; at most one of them is there.
struct DataPreview {
    std::vector<PicturePreview> pictures;
    std::string text;
    std::vector<ColumnPreview> columns;
    bool operator==(const DataPreview&) const = default;
};

struct DataFacts {
    PartFacts training;
    std::optional<PartFacts> validation;
    DataPreview preview;
    Problems problems; ///< empty: the parts are whole
    bool operator==(const DataFacts&) const = default;

    bool usable() const { return problems.empty() && training.samples > 0; }
    plan::DataCounts counts() const;
};

} // namespace trainyard::app
