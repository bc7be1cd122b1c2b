// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A data set: numbered samples with inputs of one shape and one label each. Opening checks
// everything that can be checked before training (files, headers, sizes, labels) and says what is
// wrong with file, what was found, what was expected and what to do.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"
#include "engine/plan/plan.h"
#include "engine/spec/experiment.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainyard::engine {

/// What a model is to predict for a sample.
enum class TargetKind {
    Labels, ///< classes, as Int32: one, or one for each position of a sequence
    Numbers
};

class Tokenizer;

/// A column of a table, for people and for those who want to fill in a row.
struct ColumnFacts {
    enum class Use { Number, Category, Class, Target, LeftOut };
    std::string name;
    Use use = Use::Number;
    std::int64_t missing = 0;
    std::vector<std::string> examples;   ///< the first values
    std::vector<std::string> categories; ///< one input each
};

/// What is known of one part (training or validation) of the data.
struct DatasetInfo {
    std::int64_t samples = 0;
    Shape sampleShape; ///< {channels, height, width} for pictures, {features}, {positions} for text
    /// Inputs are indices below it, as Int32; 0: inputs are numbers.
    std::int64_t vocabulary = 0;
    TargetKind target = TargetKind::Labels;
    Shape targetShape;        ///< of one sample: {} one label, {T} one each, {k} numbers
    std::int64_t classes = 0; ///< largest label + 1; 0 for numbers
    std::vector<std::int64_t> classCounts; ///< samples of each label; empty where not counted
    std::vector<std::string> classNames;   ///< empty: classes are numbers
    /// Of the inputs, one for each channel, or for each column of a table. Pictures of bytes:
    /// scaled to [0, 1]. Empty for indices.
    std::vector<double> mean;
    std::vector<double> deviation;
    /// What the inputs are made with, one for each channel or column: (stored value - shift) *
    /// scale. Empty for indices.
    std::vector<double> shift;
    std::vector<double> scale;
    std::vector<ColumnFacts> columns;           ///< of a table; empty elsewhere
    std::shared_ptr<const Tokenizer> tokenizer; ///< null: inputs are not text
    /// What the reader found out or left out, for people: "The decimal mark is a comma."
    std::vector<Message> notes;
};

/// Where a batch goes. Rows follow each other without gaps.
struct BatchMemory {
    void* inputs = nullptr;
    DType inputType = DType::Fp32;  ///< Fp32 or Fp64; Int32 where there is a vocabulary
    std::int32_t* labels = nullptr; ///< for labels
    void* numbers = nullptr;        ///< for numbers
    DType numberType = DType::Fp32; ///< Fp32 or Fp64
};

class Dataset {
public:
    virtual ~Dataset() = default;
    virtual const DatasetInfo& info() const = 0;
    /// Inputs of `samples` (indices into the data set, in this order), normalised, row-major
    /// {samples.size(), sampleShape...}, and their targets. Thread-safe. Throws std::runtime_error
    /// with a sentence where a file that was good when opened cannot be read any more.
    virtual void gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const = 0;
};

struct OpenedData {
    std::unique_ptr<Dataset> training;
    std::unique_ptr<Dataset> validation; ///< null: none asked for
};

/// Opens what the experiment names. `modelClasses` > 0: each label must be below it. Normalisation
/// uses the training part's statistics for both parts. All problems found are returned, not only
/// the first.
struct DataOutcome {
    OpenedData data;
    Problems problems; ///< empty: all is well
};
/// What a plan must know of the data; `validation` may be null.
plan::DataCounts countsOf(const DatasetInfo& training, const DatasetInfo* validation);

DataOutcome openData(const spec::DataSpec& data, std::uint64_t seed, std::int64_t modelClasses);

} // namespace trainyard::engine
