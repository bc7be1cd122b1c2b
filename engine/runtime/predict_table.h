// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of a table for a model that was trained on one: cells by the names of the columns, numbers
// scaled and texts turned into inputs as they were for training, with what is known of the training
// data alone.
#pragma once

#include "engine/data/dataset.h"
#include "engine/runtime/weights_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::engine {

struct TableRows {
    std::vector<double> inputs;       ///< {rows, inputs}, as the model takes them
    std::vector<std::int32_t> labels; ///< of each row, where the target is given and a class
    std::vector<double> targets;      ///< likewise, a number
    std::int64_t rows = 0;
};

/// Rows as words: the values of the columns that the model looks at, or of all, with commas.
Result<TableRows> rowsFromWords(const SavedWeights& weights, const std::vector<std::string>& words);
/// A file whose first row names the columns, or that has them in the order of the training file.
Result<TableRows> rowsFromFile(const SavedWeights& weights, const std::string& path);

} // namespace trainyard::engine
