// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Data of the format "idx": a file with pictures and one with their labels.
#include "engine/base/number_text.h"
#include "engine/data/byte_dataset.h"
#include "engine/data/format_reader.h"
#include "engine/data/idx_file.h"

#include <optional>
#include <utility>

namespace trainyard::engine {

namespace {

std::optional<IdxArray> readRole(const Part& part, const std::string& role, IdxRole idxRole,
                                 Problems& problems) {
    const std::string file = part.file(role);
    if (file.empty())
        return std::nullopt;
    Result<IdxArray> array = readIdx(file, idxRole, part.at(role));
    if (array)
        return std::move(*array);
    problems.push_back(array.error());
    return std::nullopt;
}

/// Null: a problem has been added.
std::shared_ptr<ByteSamples> readPart(const Part& part, std::int64_t modelClasses,
                                      Problems& problems) {
    std::optional<IdxArray> images = readRole(part, "images", IdxRole::Images, problems);
    std::optional<IdxArray> labels = readRole(part, "labels", IdxRole::Labels, problems);
    const std::size_t before = problems.size();
    if (labels)
        reportBadLabels(rangeOf(labels->bytes(), modelClasses), part.file("labels"),
                        part.at("labels"), modelClasses, problems);
    if (!images || !labels)
        return nullptr;
    if (images->samples() != labels->samples())
        problems.push_back(Error(Message("There are %1 labels in \"%2\" for %3 images in \"%4\".",
                                         {grouped(labels->samples()), part.file("labels"),
                                          grouped(images->samples()), part.file("images")}),
                                 part.at("labels"),
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

} // namespace

void openIdx(const DataRequest& request, DataOutcome& outcome) {
    const SharedBytes training =
        readPart(request.training(), request.modelClasses, outcome.problems);
    SharedBytes validation;
    if (request.hasValidationFiles())
        validation = readPart(request.validation(), request.modelClasses, outcome.problems);
    if (training && validation && training->sampleShape != validation->sampleShape)
        outcome.problems.push_back(
            Error(Message("The validation images are %1, the training images %2.",
                          {describe(validation->sampleShape), describe(training->sampleShape)}),
                  "data.validation.images", Message("Choose files of the same size of picture.")));
    openBytes(request, training, validation, outcome);
}

} // namespace trainyard::engine
