// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// From what an experiment says about its data to data sets that can be trained on, or to everything
// that is wrong with them.
#include "engine/base/number_text.h"
#include "engine/base/random.h"
#include "engine/data/byte_dataset.h"
#include "engine/data/dataset.h"
#include "engine/data/idx_file.h"
#include "engine/spec/catalogue.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace trainyard::engine {

namespace {

using SharedSamples = std::shared_ptr<const ByteSamples>;

struct Part {
    const spec::FileSet* files = nullptr;
    std::string where; ///< "data.train"
};

std::optional<IdxArray> readRole(const Part& part, const std::string& role, IdxRole idxRole,
                                 Problems& problems) {
    const std::string where = part.where + '.' + role;
    const auto file = part.files->find(role);
    if (file == part.files->end() || file->second.empty()) {
        problems.push_back(Error(Message("No file with the %1 is chosen.", {role}), where,
                                 Message("Choose one, for example with --set %1=FILE.", {where})));
        return std::nullopt;
    }
    Result<IdxArray> array = readIdx(file->second, idxRole, where);
    if (array)
        return std::move(*array);
    problems.push_back(array.error());
    return std::nullopt;
}

/// Labels must lie in [0, classes): a bad one would only show much later, far from its cause.
void checkLabels(const Part& part, std::span<const std::uint8_t> labels, std::int64_t classes,
                 Problems& problems) {
    const auto outside = [classes](std::uint8_t label) {
        return label >= classes;
    };
    const auto first = std::ranges::find_if(labels, outside);
    if (classes <= 0 || first == labels.end())
        return;
    const auto bad = std::ranges::count_if(labels, outside);
    const auto [least, largest] = std::ranges::minmax(labels);
    const std::string where = part.where + ".labels";
    const std::string row = grouped(first - labels.begin());
    const std::string classText = std::to_string(classes);
    const std::string lastText = std::to_string(classes - 1);
    Message what(
        "Label %1 at row %2 of \"%3\" (counted from 0), but the model has %4 classes (0-%5); "
        "%6 of %7 labels are out of range.",
        {std::to_string(*first), row, part.files->at("labels"), classText, lastText, grouped(bad),
         grouped(static_cast<std::int64_t>(labels.size()))});
    if (least >= 1 && largest == classes) {
        problems.push_back(Error(
            std::move(what), where,
            Message("The labels run from %1 to %2: subtract 1 from each label in the file so that "
                    "they run from 0 to %3, or raise the outputs of the last layer to %4.",
                    {std::to_string(least), classText, lastText, std::to_string(classes + 1)})));
        return;
    }
    problems.push_back(
        Error(std::move(what), where,
              Message("Correct the labels file, or raise the outputs of the last layer "
                      "to %1.",
                      {std::to_string(largest + 1)})));
}

/// Null: a problem has been added.
std::shared_ptr<ByteSamples> readPart(const Part& part, std::int64_t modelClasses,
                                      Problems& problems) {
    std::optional<IdxArray> images = readRole(part, "images", IdxRole::Images, problems);
    std::optional<IdxArray> labels = readRole(part, "labels", IdxRole::Labels, problems);
    for (const auto& [role, file] : *part.files)
        if (role != "images" && role != "labels")
            problems.push_back(
                Error(Message("Data of the format \"idx\" has no file for \"%1\".", {role}),
                      part.where + '.' + role, Message("Give \"images\" and \"labels\" only.")));
    const std::size_t before = problems.size();
    if (labels)
        checkLabels(part, labels->bytes(), modelClasses, problems);
    if (!images || !labels)
        return nullptr;
    if (images->samples() != labels->samples())
        problems.push_back(Error(Message("There are %1 labels in \"%2\" for %3 images in \"%4\".",
                                         {grouped(labels->samples()), part.files->at("labels"),
                                          grouped(images->samples()), part.files->at("images")}),
                                 part.where + ".labels",
                                 Message("Choose the two files that belong together.")));
    if (problems.size() > before)
        return nullptr;

    auto samples = std::make_shared<ByteSamples>();
    samples->count = images->samples();
    samples->sampleShape.assign(images->extents.begin() + 1, images->extents.end());
    if (samples->sampleShape.size() == 2)
        samples->sampleShape.insert(samples->sampleShape.begin(), 1);
    if (samples->sampleShape.size() == 3)
        samples->channels = samples->sampleShape.front();
    samples->pixels = std::move(images->elements);
    samples->labels.assign(labels->bytes().begin(), labels->bytes().end());
    return samples;
}

struct Split {
    std::vector<std::int64_t> training;
    std::vector<std::int64_t> validation;
};

/// A random share of the rows, the same for the same seed; both parts in file order.
Split splitRows(std::int64_t count, double fraction, std::uint64_t seed) {
    const auto wanted =
        static_cast<std::int64_t>(std::llround(static_cast<double>(count) * fraction));
    const std::int64_t validation = std::clamp<std::int64_t>(wanted, 1, count - 1);
    Split split;
    for (std::int64_t position = 0; position < count; ++position) {
        const std::int64_t row = permuted(seed, RandomStream::Split, 0, position, count);
        (position < validation ? split.validation : split.training).push_back(row);
    }
    std::ranges::sort(split.training);
    std::ranges::sort(split.validation);
    return split;
}

std::unique_ptr<Dataset> makeDataset(const SharedSamples& samples, std::vector<std::int64_t> rows,
                                     DatasetInfo info, const Normalization& normalization) {
    return std::make_unique<ByteDataset>(samples, std::move(rows), std::move(info), normalization);
}

OpenedData openSplit(const spec::DataSpec& data, const SharedSamples& samples, std::uint64_t seed) {
    Split split = splitRows(samples->count, data.validationFraction, seed);
    DatasetInfo training = describeSamples(*samples, split.training);
    DatasetInfo validation = describeSamples(*samples, split.validation);
    const Normalization normalization = makeNormalization(data.normalize, training);
    OpenedData opened;
    opened.training =
        makeDataset(samples, std::move(split.training), std::move(training), normalization);
    opened.validation =
        makeDataset(samples, std::move(split.validation), std::move(validation), normalization);
    return opened;
}

void checkSpec(const spec::DataSpec& data, Problems& problems) {
    if (data.format != "idx")
        problems.push_back(
            Error(Message("Data of the format \"%1\" cannot be read.", {data.format}),
                  "data.format", Message("The known formats are: %1.",
                                         {spec::listed(spec::typeNames(spec::Kind::DataFormat))})));
    if (data.normalize != "standard" && data.normalize != "unit" && data.normalize != "none")
        problems.push_back(Error(Message("There is no normalization \"%1\".", {data.normalize}),
                                 "data.normalize",
                                 Message("Choose \"standard\", \"unit\" or \"none\".")));
    const double fraction = data.validationFraction;
    if (data.validation.empty() && !(fraction >= 0 && fraction < 1))
        problems.push_back(
            Error(Message("The share of the training samples kept for validation is %1, "
                          "but must be at least 0 and below 1.",
                          {shortest(fraction)}),
                  "data.validation.fraction", Message("Choose for example 0.1.")));
}

} // namespace

plan::DataCounts countsOf(const DatasetInfo& training, const DatasetInfo* validation) {
    const bool numbers = training.target == TargetKind::Numbers;
    return {.trainSamples = training.samples,
            .validationSamples = validation ? validation->samples : 0,
            .sampleShape = training.sampleShape,
            .classes = training.classes,
            .numbers = numbers ? elementCount(training.targetShape) : 0,
            .vocabulary = training.vocabulary};
}

DataOutcome openData(const spec::DataSpec& data, std::uint64_t seed, std::int64_t modelClasses) {
    DataOutcome outcome;
    checkSpec(data, outcome.problems);
    if (!outcome.problems.empty())
        return outcome;

    const SharedSamples training =
        readPart({&data.train, "data.train"}, modelClasses, outcome.problems);
    SharedSamples validation;
    if (!data.validation.empty())
        validation =
            readPart({&data.validation, "data.validation"}, modelClasses, outcome.problems);
    if (training && validation && training->sampleShape != validation->sampleShape)
        outcome.problems.push_back(
            Error(Message("The validation images are %1, the training images %2.",
                          {describe(validation->sampleShape), describe(training->sampleShape)}),
                  "data.validation.images", Message("Choose files of the same size of picture.")));
    const bool split = data.validation.empty() && data.validationFraction > 0;
    if (training && split && training->count < 2)
        outcome.problems.push_back(
            Error(Message("One sample cannot be split into training and validation."),
                  "data.validation.fraction", Message("Set it to 0, or choose larger files.")));
    if (!outcome.problems.empty())
        return outcome;

    if (split) {
        outcome.data = openSplit(data, training, seed);
        return outcome;
    }
    DatasetInfo info = describeSamples(*training, {});
    const Normalization normalization = makeNormalization(data.normalize, info);
    outcome.data.training = makeDataset(training, {}, std::move(info), normalization);
    if (validation)
        outcome.data.validation =
            makeDataset(validation, {}, describeSamples(*validation, {}), normalization);
    return outcome;
}

} // namespace trainyard::engine
