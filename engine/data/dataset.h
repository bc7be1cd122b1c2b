// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A data set: numbered samples with inputs of one shape and one label each. Opening checks everything
// that can be checked before training (files, headers, sizes, labels) and says what is wrong with file,
// what was found, what was expected and what to do.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"
#include "engine/spec/experiment.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainyard::engine {

/// What is known of one part (training or validation) of the data.
struct DatasetInfo {
    std::int64_t samples = 0;
    Shape sampleShape;                     ///< {channels, height, width} for pictures
    std::int64_t classes = 0;              ///< largest label + 1
    std::vector<std::int64_t> classCounts; ///< samples of each label
    /// Of the inputs scaled to [0, 1], per channel.
    std::vector<double> mean;
    std::vector<double> deviation;
};

class Dataset {
public:
    virtual ~Dataset() = default;
    virtual const DatasetInfo& info() const = 0;
    /// Inputs of `samples` (indices into the data set, in this order), normalised, row-major
    /// {samples.size(), sampleShape...}; `labels` one each. Thread-safe. `inputs` is float or double.
    virtual void gather(std::span<const std::int64_t> samples, float* inputs,
                        std::int32_t* labels) const = 0;
    virtual void gather(std::span<const std::int64_t> samples, double* inputs,
                        std::int32_t* labels) const = 0;
};

struct OpenedData {
    std::unique_ptr<Dataset> training;
    std::unique_ptr<Dataset> validation; ///< null: none asked for
};

/// Opens what the experiment names. `modelClasses` > 0: each label must be below it. Normalisation uses
/// the training part's statistics for both parts. All problems found are returned, not only the first.
struct DataOutcome {
    OpenedData data;
    Problems problems; ///< empty: all is well
};
DataOutcome openData(const spec::DataSpec& data, std::uint64_t seed, std::int64_t modelClasses);

} // namespace trainyard::engine
