// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// From what an experiment says about its data to data sets that can be trained on, or to everything
// that is wrong with them: checks what all formats have in common and calls the format's reader.
#include "engine/base/number_text.h"
#include "engine/base/out_of_memory.h"
#include "engine/data/augmentation.h"
#include "engine/data/format_reader.h"

#include <array>
#include <exception>
#include <new>
#include <string_view>

namespace trainyard::engine {

namespace {

struct FormatRow {
    std::string_view format;
    OpenFormat open;
};
constexpr std::array kFormats = {
    FormatRow{"idx", openIdx},      FormatRow{"cifar", openCifar},
    FormatRow{"csv", openCsv},      FormatRow{"image_folder", openImageFolder},
    FormatRow{"npy", openNpy},      FormatRow{"text", openText},
    FormatRow{"tokens", openTokens}};

OpenFormat readerOf(std::string_view format) {
    for (const FormatRow& row : kFormats)
        if (row.format == format)
            return row.open;
    return nullptr;
}

void checkSpec(const spec::DataSpec& data, Problems& problems) {
    if (!readerOf(data.format) || !spec::findType(spec::Kind::DataFormat, data.format))
        problems.push_back(Error(
            Message("Data of the format \"%1\" cannot be read.", {data.format}), "data.format",
            Message("The known formats are: %1.",
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

/// "images" and "labels"
std::string quotedRoles(const spec::TypeInfo& format) {
    std::string text;
    for (std::size_t i = 0; i < format.roles.size(); ++i) {
        const bool last = i + 1 == format.roles.size();
        text += (i == 0 ? "" : last ? " and " : ", ") + ('"' + format.roles[i].name + '"');
    }
    return text;
}

void checkRoles(const Part& part, const spec::TypeInfo& format, Problems& problems) {
    for (const spec::FileRole& role : format.roles)
        if (!role.optional && part.file(role.name).empty())
            problems.push_back(
                Error(Message(role.folder ? "No folder with the %1 is chosen."
                                          : "No file with the %1 is chosen.",
                              {role.name}),
                      part.at(role.name),
                      Message(role.folder ? "Choose one, for example with --set %1=FOLDER."
                                          : "Choose one, for example with --set %1=FILE.",
                              {part.at(role.name)})));
    for (const auto& [name, file] : *part.files)
        if (std::ranges::none_of(format.roles,
                                 [&](const spec::FileRole& role) { return role.name == name; }))
            problems.push_back(Error(
                Message("Data of the format \"%1\" has no file for \"%2\".", {format.type, name}),
                part.at(name), Message("Give %1 only.", {quotedRoles(format)})));
}

void checkAugmentation(const spec::DataSpec& data, const DatasetInfo& info, Problems& problems) {
    if (info.sampleShape.size() != 3 && augmentationOf(data).any())
        problems.push_back(
            Error(Message("Samples of the shape %1 are no pictures; only pictures can be mirrored, "
                          "shifted, turned or covered.",
                          {describe(info.sampleShape)}),
                  "data.augment", Message("Remove data.augment.")));
}

Message moreMemory() {
    return Message("End other programs, use fewer ranks on this machine, or raise the limit of "
                   "the processes (ulimit -v).");
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
    const DataRequest request{data, *spec::findType(spec::Kind::DataFormat, data.format), seed,
                              modelClasses};
    checkRoles(request.training(), request.format, outcome.problems);
    if (request.hasValidationFiles())
        checkRoles(request.validation(), request.format, outcome.problems);
    try {
        readerOf(data.format)(request, outcome);
        if (outcome.data.training)
            checkAugmentation(data, outcome.data.training->info(), outcome.problems);
    } catch (const OutOfMemory& failure) {
        outcome.problems.push_back(
            Error(Message("Not enough memory to open the data: %1 bytes were asked for.",
                          {grouped(static_cast<std::int64_t>(failure.bytes()))}),
                  "data", moreMemory()));
    } catch (const std::bad_alloc&) {
        outcome.problems.push_back(
            Error(Message("Not enough memory to open the data."), "data", moreMemory()));
    } catch (const std::runtime_error& error) { // a file that changed while it was looked at
        outcome.problems.push_back(Error(Message("%1", {error.what()}), "data"));
    }
    if (!outcome.problems.empty())
        outcome.data = {};
    return outcome;
}

} // namespace trainyard::engine
