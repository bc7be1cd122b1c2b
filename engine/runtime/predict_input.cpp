// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/predict_input.h"

#include "engine/base/number_text.h"
#include "engine/data/idx_file.h"
#include "engine/data/picture_file.h"
#include "engine/runtime/number_list.h"
#include "engine/runtime/predict_table.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <type_traits>
#include <utility>

namespace trainyard::engine {

namespace {

/// (x - shift) * scale, for equal shares of a sample's values: its channels, its columns.
class Scaling {
public:
    /// Leaves values as they are.
    Scaling() = default;
    explicit Scaling(const DatasetInfo& training) {
        if (!training.shift.empty()) {
            m_shift = training.shift;
            m_scale = training.scale;
        }
    }

    /// With the rounding of the data sets that were trained on: bytes are computed in the type of
    /// the inputs, numbers in fp64.
    template <class Real, class Stored>
    void apply(const Stored* stored, std::size_t count, Real* out) const {
        using Computed = std::conditional_t<std::is_same_v<Stored, std::uint8_t>, Real, double>;
        const std::size_t share = std::max<std::size_t>(count / m_shift.size(), 1);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t part = std::min(i / share, m_shift.size() - 1);
            out[i] = static_cast<Real>(
                (static_cast<Computed>(stored[i]) - static_cast<Computed>(m_shift[part])) *
                static_cast<Computed>(m_scale[part]));
        }
    }

private:
    std::vector<double> m_shift = {0.0};
    std::vector<double> m_scale = {1.0};
};

/// Samples in memory, bytes or numbers, with or without labels.
template <class Stored>
class StoredSamples final : public Dataset {
public:
    StoredSamples(DatasetInfo info, std::vector<Stored> values, Scaling scaling,
                  std::vector<std::int32_t> labels = {}, std::vector<double> numbers = {})
        : m_info(std::move(info)), m_values(std::move(values)), m_scaling(std::move(scaling)),
          m_labels(std::move(labels)), m_numbers(std::move(numbers)) {}

    const DatasetInfo& info() const override { return m_info; }
    void gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const override {
        const auto elements = static_cast<std::size_t>(elementCount(m_info.sampleShape));
        for (std::size_t i = 0; i < samples.size(); ++i) {
            const auto sample = static_cast<std::size_t>(samples[i]);
            const Stored* stored = m_values.data() + sample * elements;
            if (memory.inputType == DType::Fp64)
                m_scaling.apply(stored, elements,
                                static_cast<double*>(memory.inputs) + i * elements);
            else
                m_scaling.apply(stored, elements,
                                static_cast<float*>(memory.inputs) + i * elements);
            if (!m_labels.empty())
                memory.labels[i] = m_labels[sample];
            if (m_numbers.empty())
                continue;
            if (memory.numberType == DType::Fp64)
                static_cast<double*>(memory.numbers)[i] = m_numbers[sample];
            else
                static_cast<float*>(memory.numbers)[i] = static_cast<float>(m_numbers[sample]);
        }
    }

private:
    DatasetInfo m_info;
    std::vector<Stored> m_values;
    Scaling m_scaling;
    std::vector<std::int32_t> m_labels; ///< one for each sample, or none
    std::vector<double> m_numbers;      ///< likewise
};

bool isFile(const std::string& path) {
    std::error_code failed;
    return std::filesystem::exists(path, failed);
}

PictureKind kindOfFile(const std::string& path) {
    std::array<char, 16> start{};
    std::ifstream file(path, std::ios::binary);
    file.read(start.data(), start.size());
    return pictureKindOf({reinterpret_cast<const std::uint8_t*>(start.data()),
                          static_cast<std::size_t>(file.gcount())});
}

class InputOpener {
public:
    InputOpener(const SavedWeights& weights, const InputRequest& request)
        : m_weights(weights), m_request(request), m_shape(weights.experiment().model.inputShape) {}

    Result<PredictInput> open() {
        if (m_request.validation)
            return openValidation();
        const bool file = m_request.words.size() == 1 && isFile(m_request.words.front());
        if (!m_weights.data().columns.empty())
            return openTable(file);
        if (std::ranges::any_of(m_request.words, [](const std::string& word) {
                return kindOfFile(word) != PictureKind::None;
            }))
            return openPictureFiles();
        return file ? openPictures(m_request.words.front()) : openRows();
    }

private:
    Result<PredictInput> openValidation() {
        const spec::Experiment& experiment = m_weights.experiment();
        DataOutcome outcome =
            openData(experiment.data, experiment.training.seed, m_weights.data().classes);
        if (!outcome.problems.empty())
            return outcome.problems.front();
        if (!outcome.data.validation)
            return Error(Message("The run had no samples for validation."), {},
                         Message("Name a file instead."));
        return PredictInput{std::move(outcome.data.validation), true, {}};
    }

    DatasetInfo infoOf(std::int64_t samples) const {
        DatasetInfo info = m_weights.data();
        info.samples = samples;
        info.sampleShape = m_shape;
        return info;
    }

    Result<PredictInput> openTable(bool file) {
        Result<TableRows> rows = file ? rowsFromFile(m_weights, m_request.words.front())
                                      : rowsFromWords(m_weights, m_request.words);
        if (!rows)
            return rows.error();
        const bool hasTargets = !rows->labels.empty() || !rows->targets.empty();
        return PredictInput{std::make_unique<StoredSamples<double>>(
                                infoOf(rows->rows), std::move(rows->inputs), Scaling(),
                                std::move(rows->labels), std::move(rows->targets)),
                            hasTargets,
                            {}};
    }

    Scaling scaling() const { return Scaling(m_weights.data()); }

    /// Scaled to the size that the model takes, as those of a folder are for training.
    Result<PredictInput> openPictureFiles() {
        const bool pictures = m_shape.size() == 3 && (m_shape[0] == 1 || m_shape[0] == 3);
        if (!pictures)
            return Error(Message("The model takes %1, which is no picture.", {describe(m_shape)}),
                         {}, Message("Give numbers with commas between them."));
        const auto size = static_cast<std::size_t>(elementCount(m_shape));
        std::vector<std::uint8_t> bytes(size * m_request.words.size());
        for (std::size_t i = 0; i < m_request.words.size(); ++i) {
            const std::string& path = m_request.words[i];
            const Result<Picture> picture = readPicture(path);
            if (!picture)
                return Error(Message("%1: %2", {path, picture.error().what.text()}), {},
                             picture.error().cure);
            scalePicture(*picture, m_shape[0], m_shape[1], m_shape[2], bytes.data() + i * size);
        }
        const auto count = static_cast<std::int64_t>(m_request.words.size());
        return PredictInput{std::make_unique<StoredSamples<std::uint8_t>>(
                                infoOf(count), std::move(bytes), scaling()),
                            false, m_request.words};
    }

    Result<PredictInput> openPictures(const std::string& path) {
        Result<IdxArray> pictures = readIdx(path, IdxRole::Images, {});
        if (!pictures)
            return pictures.error();
        Shape found(pictures->extents.begin() + 1, pictures->extents.end());
        if (found.size() == 2)
            found.insert(found.begin(), 1);
        if (found != m_shape)
            return Error(Message("The samples in %1 are %2, but the model takes %3.",
                                 {path, describe(found), describe(m_shape)}),
                         {}, Message("Choose a file like the one the model was trained on."));
        Result<std::vector<std::int32_t>> labels = readLabels(path, pictures->samples());
        if (!labels)
            return labels.error();
        const bool hasTargets = !labels->empty();
        const std::span<const std::uint8_t> bytes = pictures->bytes();
        return PredictInput{std::make_unique<StoredSamples<std::uint8_t>>(
                                infoOf(pictures->samples()),
                                std::vector<std::uint8_t>(bytes.begin(), bytes.end()), scaling(),
                                std::move(*labels)),
                            hasTargets,
                            {}};
    }

    Result<std::vector<std::int32_t>> readLabels(const std::string& pictures,
                                                 std::int64_t samples) const {
        if (m_request.labels.empty())
            return std::vector<std::int32_t>();
        const Result<IdxArray> labels = readIdx(m_request.labels, IdxRole::Labels, {});
        if (!labels)
            return labels.error();
        if (labels->samples() != samples)
            return Error(
                Message("There are %1 labels in %2 for %3 pictures in %4.",
                        {grouped(labels->samples()), m_request.labels, grouped(samples), pictures}),
                {}, Message("Choose the two files that belong together."));
        return std::vector<std::int32_t>(labels->bytes().begin(), labels->bytes().end());
    }

    Result<PredictInput> openRows() {
        const auto wanted = static_cast<std::size_t>(elementCount(m_shape));
        std::vector<double> values;
        for (const std::string& word : m_request.words) {
            const std::optional<std::vector<double>> row = numbersIn(word);
            if (!row)
                return Error(
                    Message("\"%1\" is neither a file nor a row of numbers.", {excerpt(word)}), {},
                    Message("Give pictures (JPEG, PNG), an IDX file of samples, or numbers with "
                            "commas between them."));
            if (row->size() != wanted)
                return Error(
                    Message("The row %1 has %2 numbers, but the model takes %3 (%4).",
                            {excerpt(word, 40), grouped(static_cast<std::int64_t>(row->size())),
                             grouped(static_cast<std::int64_t>(wanted)), describe(m_shape)}),
                    {}, Message("Give one number for each input of the model."));
            values.insert(values.end(), row->begin(), row->end());
        }
        const auto rows = static_cast<std::int64_t>(m_request.words.size());
        return PredictInput{
            std::make_unique<StoredSamples<double>>(infoOf(rows), std::move(values), scaling()),
            false,
            {}};
    }

    const SavedWeights& m_weights;
    const InputRequest& m_request;
    const Shape& m_shape;
};

} // namespace

Result<PredictInput> openInput(const SavedWeights& weights, const InputRequest& request) {
    return InputOpener(weights, request).open();
}

} // namespace trainyard::engine
