// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Data of the format "cifar": the binary layout of CIFAR-10. Each record is a label byte and then a
// picture of 3 × 32 × 32 bytes, red first. A part is one file, or a folder: training takes its
// data_batch*.bin in order of their names, validation its test_batch*.bin. Names of the classes
// come from batches.meta.txt beside the files.
#include "engine/base/number_text.h"
#include "engine/data/byte_dataset.h"
#include "engine/data/format_reader.h"
#include "engine/data/input_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace trainyard::engine {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRole = "pictures";
constexpr std::size_t kPictureBytes = 3 * 32 * 32;
constexpr std::size_t kRecordBytes = 1 + kPictureBytes;
constexpr std::int64_t kClasses = 10;
constexpr const char* kNamesFile = "batches.meta.txt";

/// Files "PREFIX*.bin" (or packed, "PREFIX*.bin.gz") of a folder by name.
std::vector<std::string> batchFiles(const std::string& folder, std::string_view prefix) {
    std::vector<std::string> files;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(prefix) && (name.ends_with(".bin") || name.ends_with(".bin.gz")))
            files.push_back(entry->path().string());
    }
    std::ranges::sort(files);
    return files;
}

struct PartSource {
    std::vector<std::string> files;
    std::string folder;
};

std::optional<PartSource> filesOf(const Part& part, bool forTraining, Problems& problems) {
    const std::string path = part.file(kRole);
    std::error_code failed;
    if (path.empty())
        return std::nullopt;
    if (!fs::is_directory(path, failed))
        return PartSource{{path}, fs::path(path).parent_path().string()};
    const char* prefix = forTraining ? "data_batch" : "test_batch";
    PartSource source{batchFiles(path, prefix), path};
    if (!source.files.empty())
        return source;
    problems.push_back(Error(
        Message("There is no file %1*.bin in the folder \"%2\".", {prefix, path}), part.at(kRole),
        Message("Choose the folder that the archive of CIFAR-10 in binary "
                "form unpacks to, or one .bin file.")));
    return std::nullopt;
}

Error notRecords(const std::string& path, const std::string& where, std::int64_t bytes) {
    constexpr auto kRecord = static_cast<std::int64_t>(kRecordBytes);
    return {Message("\"%1\" is cut short or not of the binary form of CIFAR-10: its %2 bytes are "
                    "%3 records of 3,073 bytes and %4 bytes more.",
                    {path, grouped(bytes), grouped(bytes / kRecord), grouped(bytes % kRecord)}),
            where, Message("Fetch it again.")};
}

/// Appends a file's records. The size of a packed file is known only when it has been read.
Result<void> readRecords(const std::string& path, const std::string& where,
                         std::vector<std::uint8_t>& pixels, std::vector<std::uint8_t>& labels) {
    Result<InputFile> file = InputFile::open(path, where);
    if (!file)
        return file.error();
    constexpr auto kRecord = static_cast<std::int64_t>(kRecordBytes);
    if (!file->compressed() && file->bytesOnDisk() % kRecord != 0)
        return notRecords(path, where, file->bytesOnDisk());
    if (!file->compressed())
        pixels.reserve(pixels.size() + static_cast<std::size_t>(file->bytesOnDisk()));
    std::array<std::uint8_t, kRecordBytes> record = {};
    for (std::int64_t read = 0;; read += kRecord) {
        const Result<std::size_t> got = file->read(record);
        if (!got)
            return got.error();
        if (*got == 0)
            return {};
        if (*got < kRecordBytes)
            return notRecords(path, where, read + static_cast<std::int64_t>(*got));
        labels.push_back(record[0]);
        pixels.insert(pixels.end(), record.begin() + 1, record.end());
    }
}

/// Lines of batches.meta.txt; empty where there is none.
std::vector<std::string> classNames(const std::string& folder) {
    const std::string path = (fs::path(folder) / kNamesFile).string();
    std::error_code failed;
    if (!fs::is_regular_file(path, failed))
        return {};
    Result<InputFile> file = InputFile::open(path, {});
    std::array<std::uint8_t, 4096> text = {};
    const Result<std::size_t> got = file ? file->read(text) : Result<std::size_t>(file.error());
    if (!got)
        return {};
    std::vector<std::string> names(1);
    for (const std::uint8_t byte : std::span(text).first(*got)) {
        if (byte == '\n')
            names.emplace_back();
        else if (byte != '\r')
            names.back() += static_cast<char>(byte);
    }
    std::erase(names, std::string());
    return names;
}

std::shared_ptr<ByteSamples> readPart(const Part& part, bool forTraining, std::int64_t modelClasses,
                                      Problems& problems) {
    const std::optional<PartSource> source = filesOf(part, forTraining, problems);
    if (!source)
        return nullptr;
    const std::size_t before = problems.size();
    std::vector<std::uint8_t> pixels;
    auto samples = std::make_shared<ByteSamples>();
    for (const std::string& path : source->files) {
        const std::size_t first = samples->labels.size();
        if (const Result<void> read = readRecords(path, part.at(kRole), pixels, samples->labels);
            !read) {
            problems.push_back(read.error());
            continue;
        }
        // The format has ten classes; another byte there means that the file is of another kind.
        const std::int64_t classes = modelClasses > 0 ? modelClasses : kClasses;
        const std::span<const std::uint8_t> labels(samples->labels);
        reportBadLabels(rangeOf(labels.subspan(first), classes), path, part.at(kRole), classes,
                        problems);
    }
    if (problems.size() > before)
        return nullptr;
    samples->count = static_cast<std::int64_t>(samples->labels.size());
    samples->channels = 3;
    samples->sampleShape = {3, 32, 32};
    samples->pixels = std::make_unique_for_overwrite<std::uint8_t[]>(pixels.size());
    std::ranges::copy(pixels, samples->pixels.get());
    samples->classNames = classNames(source->folder);
    if (source->files.size() > 1)
        samples->notes.push_back(
            Message("%1 files of \"%2\" are read as one.",
                    {grouped(static_cast<std::int64_t>(source->files.size())), source->folder}));
    return samples;
}

} // namespace

void openCifar(const DataRequest& request, DataOutcome& outcome) {
    const SharedBytes training =
        readPart(request.training(), true, request.modelClasses, outcome.problems);
    SharedBytes validation;
    if (request.hasValidationFiles())
        validation = readPart(request.validation(), false, request.modelClasses, outcome.problems);
    openBytes(request, training, validation, outcome);
}

} // namespace trainyard::engine
