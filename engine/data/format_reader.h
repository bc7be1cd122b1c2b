// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What each format of data implements, and what formats share: where a problem lies, the check of
// labels, the split. Internal to engine/data. A new format is a function here, a row in
// open_data.cpp and an entry in engine/spec/catalogue_data.cpp.
#pragma once

#include "engine/data/dataset.h"
#include "engine/spec/catalogue.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainyard::engine {

/// The files of the training or of the validation part.
struct Part {
    const spec::FileSet* files = nullptr;
    std::string where; ///< "data.train"

    /// Empty: not chosen, which has been reported where it matters.
    std::string file(const std::string& role) const;
    std::string at(const std::string& role) const { return where + '.' + role; }
};

/// A checked request: format and normalisation are known, roles that must be there are asked for.
struct DataRequest {
    const spec::DataSpec& data;
    const spec::TypeInfo& format;
    std::uint64_t seed = 0;
    std::int64_t modelClasses = 0; ///< 0: any

    Part training() const { return {&data.train, "data.train"}; }
    Part validation() const { return {&data.validation, "data.validation"}; }
    bool hasValidationFiles() const { return !data.validation.empty(); }
    bool splits() const { return data.validation.empty() && data.validationFraction > 0; }
    std::string text(std::string_view field) const {
        return spec::textOf(format, data.values, field);
    }
    std::int64_t integer(std::string_view field) const {
        return spec::integerOf(format, data.values, field);
    }
};

/// Adds to the problems that are there already (files not chosen); data only when there are none.
using OpenFormat = void (*)(const DataRequest& request, DataOutcome& outcome);
void openIdx(const DataRequest& request, DataOutcome& outcome);
void openCifar(const DataRequest& request, DataOutcome& outcome);
void openImageFolder(const DataRequest& request, DataOutcome& outcome);
void openNpy(const DataRequest& request, DataOutcome& outcome);
void openText(const DataRequest& request, DataOutcome& outcome);
void openCsv(const DataRequest& request, DataOutcome& outcome);
void openTokens(const DataRequest& request, DataOutcome& outcome);

struct Split {
    std::vector<std::int64_t> training;
    std::vector<std::int64_t> validation;
};

/// How many of `count` (at least 2) samples are for validation: at least one, never all.
std::int64_t validationShare(std::int64_t count, double fraction);

/// A random share of the rows, the same for the same seed; both parts in file order.
Split splitRows(std::int64_t count, double fraction, std::uint64_t seed);

/// Reports when there is nothing to split.
void checkSplit(const DataRequest& request, std::int64_t count, Problems& problems);

/// How labels lie to the classes of a model.
struct LabelRange {
    std::int64_t count = 0;
    std::int64_t least = 0;
    std::int64_t largest = 0;
    std::int64_t bad = 0; ///< labels outside [0, classes)
    std::int64_t firstBadRow = -1;
    std::int64_t firstBad = 0;
};

template <class Label>
LabelRange rangeOf(std::span<const Label> labels, std::int64_t classes) {
    LabelRange range{.count = static_cast<std::int64_t>(labels.size())};
    if (labels.empty())
        return range;
    const auto [least, largest] = std::ranges::minmax(labels);
    range.least = static_cast<std::int64_t>(least);
    range.largest = static_cast<std::int64_t>(largest);
    for (std::size_t row = 0; row < labels.size(); ++row) {
        const auto label = static_cast<std::int64_t>(labels[row]);
        if (label >= 0 && label < classes)
            continue;
        if (range.bad++ == 0) {
            range.firstBadRow = static_cast<std::int64_t>(row);
            range.firstBad = label;
        }
    }
    return range;
}

/// Labels must lie in [0, classes): a bad one would only show much later, far from its cause.
void reportBadLabels(const LabelRange& range, const std::string& file, const std::string& where,
                     std::int64_t classes, Problems& problems);

} // namespace trainyard::engine
