// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Data of the format "image_folder": a folder with a folder of JPEG and PNG files for each class.
// Classes are numbered in order of their names; the training part decides for both parts. Small
// sets are decoded once and held in memory, of large ones the pictures of a batch are decoded when
// they are needed.
#include "engine/base/number_text.h"
#include "engine/data/byte_dataset.h"
#include "engine/data/byte_source.h"
#include "engine/data/format_reader.h"
#include "engine/data/input_file.h"
#include "engine/data/picture_file.h"

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace trainyard::engine {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderRole = "folder";
constexpr std::int64_t kMostDecodedBytes = std::int64_t{128} << 20;
/// Of a large set, so many pictures are decoded to find its mean colour.
constexpr std::int64_t kPicturesLookedAt = 1000;
constexpr std::size_t kFilesNamed = 5;
constexpr std::size_t kMostClasses = 256;

struct PictureFormat {
    std::int64_t channels = 3;
    std::int64_t height = 64;
    std::int64_t width = 64;
    std::int64_t bytes() const { return channels * height * width; }
    Shape shape() const { return {channels, height, width}; }
};

struct FolderPart {
    std::string root;
    std::vector<std::string> files; ///< below the root, in order of class and name
    std::vector<std::uint8_t> labels;
    std::vector<std::string> classNames;
    std::vector<Message> notes;

    std::int64_t count() const { return static_cast<std::int64_t>(files.size()); }
    std::string path(std::int64_t index) const {
        return root + '/' + files[static_cast<std::size_t>(index)];
    }
    void keep(const std::vector<bool>& good) {
        std::size_t to = 0;
        for (std::size_t from = 0; from < files.size(); ++from)
            if (good[from]) {
                files[to] = std::move(files[from]);
                labels[to++] = labels[from];
            }
        files.resize(to);
        labels.resize(to);
    }
};

/// What a person did not put there, or did not mean to be seen.
bool isHidden(const std::string& name) {
    return name.starts_with('.') || name == "__MACOSX" || name == "Thumbs.db" ||
           name == "desktop.ini";
}

/// Names with how many there are: "a, b and 3 more".
class NameList {
public:
    void add(const std::string& name) {
        if (++m_count <= kFilesNamed)
            m_names.push_back(excerpt(name));
    }
    bool empty() const { return m_count == 0; }
    std::string count() const { return grouped(static_cast<std::int64_t>(m_count)); }
    std::string text() const {
        std::string text = spec::listed(m_names);
        if (m_count > kFilesNamed)
            text += " and " + grouped(static_cast<std::int64_t>(m_count - kFilesNamed)) + " more";
        return text;
    }

private:
    std::size_t m_count = 0;
    std::vector<std::string> m_names;
};

class FolderScan {
public:
    explicit FolderScan(std::string root) { m_part.root = std::move(root); }

    /// Sorted by class, then by name.
    Result<FolderPart> scan(const std::string& where) {
        std::error_code failed;
        if (!fs::is_directory(m_part.root, failed))
            return Error(Message("\"%1\" is no folder.", {m_part.root}), where,
                         Message("Choose a folder that has a folder for each class."));
        for (const std::string& name : namesIn(m_part.root))
            scanClass(name);
        if (m_part.classNames.empty())
            return Error(Message("The folder \"%1\" has no folder with JPEG or PNG files in it.",
                                 {m_part.root}),
                         where,
                         Message("Put the pictures of each class into a folder of their own."));
        if (m_part.classNames.size() > kMostClasses)
            return Error(Message("The folder \"%1\" has %2 classes; at most 256 can be read.",
                                 {m_part.root,
                                  grouped(static_cast<std::int64_t>(m_part.classNames.size()))}),
                         where);
        addNotes();
        return std::move(m_part);
    }

private:
    std::vector<std::string> namesIn(const std::string& folder) {
        std::vector<std::string> names;
        std::error_code failed;
        for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
             entry.increment(failed)) {
            std::string name = entry->path().filename().string();
            if (isHidden(name))
                m_hidden.add(name);
            else
                names.push_back(std::move(name));
        }
        std::ranges::sort(names);
        return names;
    }

    void scanClass(const std::string& name) {
        std::error_code failed;
        if (!fs::is_directory(m_part.root + '/' + name, failed)) {
            m_beside.add(name);
            return;
        }
        const std::size_t before = m_part.files.size();
        const auto label = static_cast<std::uint8_t>(m_part.classNames.size());
        scanFiles(name);
        if (m_part.files.size() == before) {
            m_empty.add(name);
            return;
        }
        m_part.labels.resize(m_part.files.size(), label);
        m_part.classNames.push_back(name);
    }

    void scanFiles(const std::string& folder) {
        for (const std::string& name : namesIn(m_part.root + '/' + folder)) {
            const std::string below = folder + '/' + name;
            std::error_code failed;
            if (fs::is_directory(m_part.root + '/' + below, failed))
                scanFiles(below);
            else if (isPicture(m_part.root + '/' + below))
                m_part.files.push_back(below);
            else
                m_others.add(below);
        }
    }

    static bool isPicture(const std::string& path) {
        Result<InputFile> file = InputFile::open(path, {});
        std::array<std::uint8_t, 8> start = {};
        const Result<std::size_t> got =
            file ? file->read(start) : Result<std::size_t>(file.error());
        return got && pictureKindOf(std::span(start).first(*got)) != PictureKind::None;
    }

    void addNotes() {
        const auto note = [this](const NameList& list, const char* format) {
            if (!list.empty())
                m_part.notes.push_back(Message(format, {list.count(), list.text()}));
        };
        note(m_empty, "%1 folders have 0 pictures and are no class: %2.");
        note(m_hidden, "%1 hidden files and folders are left out: %2.");
        note(m_others, "%1 files are neither JPEG nor PNG and are left out: %2.");
        note(m_beside, "%1 files lie beside the folders of the classes and are left out: %2.");
    }

    FolderPart m_part;
    NameList m_hidden;
    NameList m_empty;
    NameList m_others;
    NameList m_beside;
};

/// Decodes and scales with all processors.
class Decoding {
public:
    Decoding(const FolderPart& part, const PictureFormat& format)
        : m_part(part), m_format(format) {}

    /// Picture `rows[i]` goes to `pixels` + i pictures. False for those that are damaged.
    std::vector<bool> decode(std::span<const std::int64_t> rows, std::uint8_t* pixels) {
        m_good.assign(rows.size(), 1);
        m_next = 0;
        const auto wanted = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
        std::vector<std::thread> threads;
        for (std::size_t i = 1; i < std::min(wanted, rows.size()); ++i)
            threads.emplace_back([this, rows, pixels] { work(rows, pixels); });
        work(rows, pixels);
        for (std::thread& thread : threads)
            thread.join();
        return {m_good.begin(), m_good.end()};
    }

    /// "a/1.jpg (It is damaged: ...)"
    const std::map<std::string, std::string>& damaged() const { return m_damaged; }
    bool transparent() const { return m_transparent; }
    std::string sizes() const {
        return m_least == m_largest ? sizeText(m_least)
                                    : sizeText(m_least) + " to " + sizeText(m_largest);
    }
    bool allOfSize(std::int64_t height, std::int64_t width) const {
        return m_least == m_largest && m_least == std::pair(height, width);
    }

private:
    static std::string sizeText(const std::pair<std::int64_t, std::int64_t>& size) {
        return std::to_string(size.second) + " × " + std::to_string(size.first);
    }

    void work(std::span<const std::int64_t> rows, std::uint8_t* pixels) {
        for (std::size_t i = m_next++; i < rows.size(); i = m_next++) {
            Result<Picture> picture = decodeOne(rows[i]);
            if (picture)
                scalePicture(*picture, m_format.channels, m_format.height, m_format.width,
                             pixels + static_cast<std::int64_t>(i) * m_format.bytes());
            const std::lock_guard lock(m_mutex);
            if (picture) {
                noteSize({picture->height, picture->width});
                m_transparent = m_transparent || picture->transparent;
            } else {
                m_good[i] = 0;
                m_damaged[m_part.files[static_cast<std::size_t>(rows[i])]] =
                    picture.error().what.text();
            }
        }
    }

    Result<Picture> decodeOne(std::int64_t row) const {
        try {
            return readPicture(m_part.path(row));
        } catch (const std::exception& error) { // not enough memory, a file that shrinks
            return Error(Message("%1", {error.what()}));
        }
    }

    void noteSize(std::pair<std::int64_t, std::int64_t> size) {
        const auto area = [](const auto& of) {
            return of.first * of.second;
        };
        if (m_least.first == 0 || area(size) < area(m_least))
            m_least = size;
        if (area(size) > area(m_largest) || m_largest.first == 0)
            m_largest = size;
    }

    const FolderPart& m_part;
    const PictureFormat& m_format;
    std::atomic<std::size_t> m_next = 0;
    std::vector<char> m_good; ///< each thread writes its own
    std::mutex m_mutex;       ///< guards what follows
    std::map<std::string, std::string> m_damaged;
    std::pair<std::int64_t, std::int64_t> m_least;
    std::pair<std::int64_t, std::int64_t> m_largest;
    bool m_transparent = false;
};

/// Pictures that are decoded when they are needed.
class FolderDataset final : public Dataset {
public:
    FolderDataset(std::shared_ptr<const FolderPart> part, PictureFormat format,
                  std::vector<std::int64_t> rows, DatasetInfo info,
                  const Normalization& normalization)
        : m_part(std::move(part)), m_format(format), m_rows(std::move(rows)),
          m_info(std::move(info)), m_normalization(normalization) {
        m_info.shift = normalization.shift;
        m_info.scale = normalization.scale;
    }

    const DatasetInfo& info() const override { return m_info; }

    void gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const override {
        std::vector<std::int64_t> rows;
        for (const std::int64_t sample : samples) {
            TRAINYARD_CHECK_MSG(sample >= 0 && sample < m_info.samples,
                                describePair(sample, m_info.samples));
            rows.push_back(m_rows.empty() ? sample : m_rows[static_cast<std::size_t>(sample)]);
        }
        auto batch = std::make_shared<ByteSamples>();
        batch->sampleShape = m_format.shape();
        batch->channels = m_format.channels;
        batch->count = static_cast<std::int64_t>(rows.size());
        batch->pixels = std::make_unique_for_overwrite<std::uint8_t[]>(
            static_cast<std::size_t>(batch->count * m_format.bytes()));
        Decoding decoding(*m_part, m_format);
        decoding.decode(rows, batch->pixels.get());
        if (!decoding.damaged().empty()) {
            const auto& [file, why] = *decoding.damaged().begin();
            throw std::runtime_error("The picture \"" + m_part->root + '/' + file +
                                     "\" cannot be read: " + why);
        }
        std::vector<std::int64_t> order;
        for (const std::int64_t row : rows) {
            order.push_back(static_cast<std::int64_t>(order.size()));
            batch->labels.push_back(m_part->labels[static_cast<std::size_t>(row)]);
        }
        DatasetInfo info;
        info.samples = batch->count;
        ByteDataset(std::move(batch), {}, std::move(info), m_normalization).gather(order, memory);
    }

private:
    std::shared_ptr<const FolderPart> m_part;
    PictureFormat m_format;
    std::vector<std::int64_t> m_rows;
    DatasetInfo m_info;
    Normalization m_normalization;
};

class FolderOpener {
public:
    FolderOpener(const DataRequest& request, DataOutcome& outcome)
        : m_request(request), m_outcome(outcome) {
        const auto size = spec::pairOf(request.format, request.data.values, "size");
        m_format = {request.integer("channels"), size[0], size[1]};
    }

    void open() {
        if (m_format.channels == 2)
            m_outcome.problems.push_back(Error(
                Message("Pictures have 1 channel (gray) or 3 (colours), not 2."), "data.channels"));
        std::optional<FolderPart> training = scan(m_request.training());
        std::optional<FolderPart> validation;
        if (m_request.hasValidationFiles())
            validation = scan(m_request.validation());
        if (training && validation)
            relabel(*validation, training->classNames);
        if (training)
            checkClasses(*training);
        if (!training || !m_outcome.problems.empty())
            return;
        const std::int64_t most = kMostDecodedBytes / m_format.bytes();
        if (training->count() + (validation ? validation->count() : 0) <= most)
            openDecoded(std::move(*training), std::move(validation));
        else
            openLarge(std::move(*training), std::move(validation));
    }

private:
    std::optional<FolderPart> scan(const Part& part) {
        const std::string folder = part.file(kFolderRole);
        if (folder.empty())
            return std::nullopt;
        Result<FolderPart> scanned = FolderScan(folder).scan(part.at(kFolderRole));
        if (scanned)
            return std::move(*scanned);
        m_outcome.problems.push_back(scanned.error());
        return std::nullopt;
    }

    /// By the names of the training part's classes.
    void relabel(FolderPart& validation, const std::vector<std::string>& names) {
        for (const std::string& name : validation.classNames)
            if (std::ranges::find(names, name) == names.end())
                m_outcome.problems.push_back(
                    Error(Message("The validation folder has a class \"%1\" that the training "
                                  "folder does not have.",
                                  {excerpt(name)}),
                          m_request.validation().at(kFolderRole),
                          Message("Remove it, or add pictures of it to the training folder.")));
        if (!m_outcome.problems.empty())
            return;
        for (std::uint8_t& label : validation.labels)
            label = static_cast<std::uint8_t>(
                std::ranges::find(names, validation.classNames[label]) - names.begin());
        validation.classNames = names;
    }

    void checkClasses(const FolderPart& training) {
        const auto classes = static_cast<std::int64_t>(training.classNames.size());
        if (m_request.modelClasses > 0 && classes > m_request.modelClasses)
            m_outcome.problems.push_back(Error(
                Message("The folder \"%1\" has %2 classes, but the model has %3.",
                        {training.root, std::to_string(classes),
                         std::to_string(m_request.modelClasses)}),
                m_request.training().at(kFolderRole),
                Message("Raise the outputs of the last layer to %1.", {std::to_string(classes)})));
    }

    void noteFindings(const Decoding& decoding, FolderPart& part) {
        if (!decoding.allOfSize(m_format.height, m_format.width))
            part.notes.push_back(Message("The pictures are %1; they are scaled to %2 × %3.",
                                         {decoding.sizes(), std::to_string(m_format.width),
                                          std::to_string(m_format.height)}));
        if (decoding.transparent())
            part.notes.push_back(Message("Transparent places are shown on white."));
        NameList damaged;
        for (const auto& [file, why] : decoding.damaged())
            damaged.add(file + " (" + why + ')');
        if (!damaged.empty())
            part.notes.push_back(
                Message("%1 damaged pictures are left out: %2", {damaged.count(), damaged.text()}));
    }

    SharedBytes decoded(FolderPart part) {
        std::vector<std::int64_t> rows;
        for (std::int64_t row = 0; row < part.count(); ++row)
            rows.push_back(row);
        auto samples = std::make_shared<ByteSamples>();
        samples->pixels = std::make_unique_for_overwrite<std::uint8_t[]>(
            static_cast<std::size_t>(part.count() * m_format.bytes()));
        Decoding decoding(part, m_format);
        const std::vector<bool> good = decoding.decode(rows, samples->pixels.get());
        std::int64_t to = 0;
        for (std::size_t from = 0; from < good.size(); ++from)
            if (good[from])
                std::copy_n(samples->pixels.get() +
                                static_cast<std::int64_t>(from) * m_format.bytes(),
                            m_format.bytes(), samples->pixels.get() + to++ * m_format.bytes());
        noteFindings(decoding, part);
        part.keep(good);
        if (to == 0)
            m_outcome.problems.push_back(
                Error(Message("All pictures in \"%1\" are damaged.", {part.root}), "data"));
        samples->sampleShape = m_format.shape();
        samples->channels = m_format.channels;
        samples->count = to;
        samples->labels = std::move(part.labels);
        samples->classNames = std::move(part.classNames);
        samples->notes = std::move(part.notes);
        return samples;
    }

    void openDecoded(FolderPart training, std::optional<FolderPart> validation) {
        const SharedBytes samples = decoded(std::move(training));
        SharedBytes validationSamples;
        if (validation)
            validationSamples = decoded(std::move(*validation));
        openBytes(m_request, samples, validationSamples, m_outcome);
    }

    /// Statistics of pictures spread evenly over `rows`; damaged ones among them are left out.
    DatasetInfo look(FolderPart& part, std::vector<std::int64_t>& rows) {
        std::vector<std::int64_t> chosen;
        const auto count = static_cast<std::int64_t>(rows.size());
        const std::int64_t looked = std::min(count, kPicturesLookedAt);
        for (std::int64_t i = 0; i < looked; ++i)
            chosen.push_back(rows[static_cast<std::size_t>(i * count / looked)]);
        ByteSamples samples;
        samples.sampleShape = m_format.shape();
        samples.channels = m_format.channels;
        samples.pixels =
            std::make_unique<std::uint8_t[]>(static_cast<std::size_t>(looked * m_format.bytes()));
        Decoding decoding(part, m_format);
        const std::vector<bool> good = decoding.decode(chosen, samples.pixels.get());
        for (std::size_t from = 0; from < good.size(); ++from)
            if (good[from]) {
                std::copy_n(
                    samples.pixels.get() + static_cast<std::int64_t>(from) * m_format.bytes(),
                    m_format.bytes(), samples.pixels.get() + samples.count++ * m_format.bytes());
                samples.labels.push_back(0);
            } else {
                std::erase(rows, chosen[from]);
            }
        noteFindings(decoding, part);
        if (samples.count == 0) {
            m_outcome.problems.push_back(Error(
                Message("All pictures in \"%1\" that were looked at are damaged.", {part.root}),
                "data"));
            return {};
        }
        DatasetInfo info = describeSamples(samples, {});
        info.samples = static_cast<std::int64_t>(rows.size());
        info.classNames = part.classNames;
        info.classes = static_cast<std::int64_t>(part.classNames.size());
        info.classCounts.assign(part.classNames.size(), 0);
        for (const std::int64_t row : rows)
            ++info.classCounts[part.labels[static_cast<std::size_t>(row)]];
        return info;
    }

    void openLarge(FolderPart training, std::optional<FolderPart> validation) {
        Split split;
        if (m_request.splits())
            split = splitRows(training.count(), m_request.data.validationFraction, m_request.seed);
        else
            split.training = allRows(training.count());
        if (validation)
            split.validation = allRows(validation->count());
        DatasetInfo info = look(training, split.training);
        training.notes.push_back(Message("Mean and deviation are those of %1 of the pictures.",
                                         {grouped(std::min(info.samples, kPicturesLookedAt))}));
        info.notes = std::move(training.notes);
        const auto shared = std::make_shared<const FolderPart>(std::move(training));
        std::shared_ptr<const FolderPart> other = shared;
        DatasetInfo validationInfo;
        if (!split.validation.empty()) {
            FolderPart part = validation ? std::move(*validation) : *shared;
            validationInfo = look(part, split.validation);
            validationInfo.notes = std::move(part.notes);
            other = std::make_shared<const FolderPart>(std::move(part));
        }
        if (!m_outcome.problems.empty())
            return;
        const Normalization normalization = makeNormalization(m_request.data.normalize, info);
        if (!split.validation.empty())
            m_outcome.data.validation =
                std::make_unique<FolderDataset>(other, m_format, std::move(split.validation),
                                                std::move(validationInfo), normalization);
        m_outcome.data.training = std::make_unique<FolderDataset>(
            shared, m_format, std::move(split.training), std::move(info), normalization);
    }

    static std::vector<std::int64_t> allRows(std::int64_t count) {
        std::vector<std::int64_t> rows;
        for (std::int64_t row = 0; row < count; ++row)
            rows.push_back(row);
        return rows;
    }

    const DataRequest& m_request;
    DataOutcome& m_outcome;
    PictureFormat m_format;
};

} // namespace

void openImageFolder(const DataRequest& request, DataOutcome& outcome) {
    FolderOpener(request, outcome).open();
}

} // namespace trainyard::engine
