// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/format_reader.h"

#include "engine/base/number_text.h"
#include "engine/base/random.h"

#include <cmath>
#include <utility>

namespace trainyard::engine {

std::string Part::file(const std::string& role) const {
    const auto found = files->find(role);
    return found == files->end() ? std::string() : found->second;
}

std::int64_t validationShare(std::int64_t count, double fraction) {
    const auto wanted =
        static_cast<std::int64_t>(std::llround(static_cast<double>(count) * fraction));
    return std::clamp<std::int64_t>(wanted, 1, count - 1);
}

Split splitRows(std::int64_t count, double fraction, std::uint64_t seed) {
    const std::int64_t validation = validationShare(count, fraction);
    Split split;
    for (std::int64_t position = 0; position < count; ++position) {
        const std::int64_t row = permuted(seed, RandomStream::Split, 0, position, count);
        (position < validation ? split.validation : split.training).push_back(row);
    }
    std::ranges::sort(split.training);
    std::ranges::sort(split.validation);
    return split;
}

void checkSplit(const DataRequest& request, std::int64_t count, Problems& problems) {
    if (request.splits() && count < 2)
        problems.push_back(
            Error(Message("One sample cannot be split into training and validation."),
                  "data.validation.fraction", Message("Set it to 0, or choose larger files.")));
}

void reportBadLabels(const LabelRange& range, const std::string& file, const std::string& where,
                     std::int64_t classes, Problems& problems) {
    if (classes <= 0 || range.bad == 0)
        return;
    const std::string classText = std::to_string(classes);
    const std::string lastText = std::to_string(classes - 1);
    Message what(
        "Label %1 at row %2 of \"%3\" (counted from 0), but the model has %4 classes (0-%5); "
        "%6 of %7 labels are out of range.",
        {std::to_string(range.firstBad), grouped(range.firstBadRow), file, classText, lastText,
         grouped(range.bad), grouped(range.count)});
    Message cure("Correct the labels file, or raise the outputs of the last layer to %1.",
                 {std::to_string(range.largest + 1)});
    if (range.least < 0)
        cure = Message("Labels count from 0: correct the labels below 0.");
    else if (range.least >= 1 && range.largest == classes)
        cure = Message(
            "The labels run from %1 to %2: subtract 1 from each label in the file so "
            "that they run from 0 to %3, or raise the outputs of the last layer to %4.",
            {std::to_string(range.least), classText, lastText, std::to_string(classes + 1)});
    problems.push_back(Error(std::move(what), where, std::move(cure)));
}

} // namespace trainyard::engine
