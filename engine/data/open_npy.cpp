// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Data of the format "npy": an array of NumPy whose first dimension counts the samples, and one
// with what is to be predicted, in files of their own or in one .npz. Inputs are read when they are
// needed.
#include "engine/base/number_text.h"
#include "engine/data/byte_dataset.h"
#include "engine/data/format_reader.h"
#include "engine/data/npy_file.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace trainyard::engine {

namespace {

constexpr std::int64_t kMostLabel = std::int64_t{1} << 24;
/// Elements that are looked at in one go.
constexpr std::int64_t kPieceElements = 1 << 18;

struct ArrayPart {
    std::optional<NpyArray> inputs;
    Shape sampleShape;         ///< as the model gets it
    bool channelsLast = false; ///< in the file
    std::int64_t samples = 0;
    std::vector<std::int32_t> labels;
    std::vector<double> numbers; ///< {samples, targetShape...}
    Shape targetShape;

    std::int64_t perSample() const { return elementCount(sampleShape); }
    /// Elements that share a mean: of a channel, of a column; all where neither is there.
    std::int64_t groups() const { return sampleShape.size() == 2 ? 1 : sampleShape.front(); }
    /// The place in the model's sample of an element in the file's.
    std::int64_t placeOf(std::int64_t element) const {
        if (!channelsLast)
            return element;
        const std::int64_t channels = sampleShape[0];
        return element % channels * (perSample() / channels) + element / channels;
    }
};

struct GroupSums {
    bool any = false;
    double first = 0; ///< sums are of differences to it, which keeps their digits
    double sum = 0;
    double squares = 0;
    double least = std::numeric_limits<double>::infinity();
    double largest = -std::numeric_limits<double>::infinity();
};

class ArrayDataset final : public Dataset {
public:
    ArrayDataset(std::shared_ptr<const ArrayPart> part, std::vector<std::int64_t> rows,
                 DatasetInfo info, const Normalization& normalization)
        : m_part(std::move(part)), m_rows(std::move(rows)), m_info(std::move(info)),
          m_normalization(normalization) {
        m_info.shift = normalization.shift;
        m_info.scale = normalization.scale;
    }

    const DatasetInfo& info() const override { return m_info; }

    void gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const override {
        const std::int64_t perSample = m_part->perSample();
        std::vector<double> values(static_cast<std::size_t>(perSample));
        auto* floats = static_cast<float*>(memory.inputs);
        auto* doubles = static_cast<double*>(memory.inputs);
        for (std::size_t i = 0; i < samples.size(); ++i) {
            TRAINYARD_CHECK_MSG(samples[i] >= 0 && samples[i] < m_info.samples,
                                describePair(samples[i], m_info.samples));
            const std::int64_t row =
                m_rows.empty() ? samples[i] : m_rows[static_cast<std::size_t>(samples[i])];
            m_part->inputs->read(row * perSample, values);
            if (memory.inputType == DType::Fp64)
                writeInputs(values, doubles + static_cast<std::int64_t>(i) * perSample);
            else
                writeInputs(values, floats + static_cast<std::int64_t>(i) * perSample);
            writeTargets(row, i, memory);
        }
    }

private:
    template <class Real>
    void writeInputs(std::span<const double> values, Real* inputs) const {
        const std::int64_t perGroup = m_part->perSample() / m_part->groups();
        std::int64_t element = 0;
        for (const double value : values) {
            const std::int64_t place = m_part->placeOf(element++);
            const auto group = static_cast<std::size_t>(place / perGroup);
            inputs[place] = static_cast<Real>((value - m_normalization.shift[group]) *
                                              m_normalization.scale[group]);
        }
    }

    void writeTargets(std::int64_t row, std::size_t sample, const BatchMemory& memory) const {
        const auto count = static_cast<std::size_t>(elementCount(m_part->targetShape));
        const std::size_t from = static_cast<std::size_t>(row) * count;
        for (std::size_t i = 0; i < count; ++i) {
            if (m_info.target == TargetKind::Labels)
                memory.labels[sample * count + i] = m_part->labels[from + i];
            else if (memory.numberType == DType::Fp64)
                static_cast<double*>(memory.numbers)[sample * count + i] =
                    m_part->numbers[from + i];
            else
                static_cast<float*>(memory.numbers)[sample * count + i] =
                    static_cast<float>(m_part->numbers[from + i]);
        }
    }

    const std::shared_ptr<const ArrayPart> m_part;
    const std::vector<std::int64_t> m_rows;
    DatasetInfo m_info;
    Normalization m_normalization;
};

class NpyOpener {
public:
    NpyOpener(const DataRequest& request, DataOutcome& outcome)
        : m_request(request), m_problems(outcome.problems), m_data(outcome.data) {}

    void open() {
        const std::shared_ptr<ArrayPart> training = readPart(m_request.training());
        std::shared_ptr<ArrayPart> validation;
        if (m_request.hasValidationFiles())
            validation = readPart(m_request.validation());
        if (training && validation &&
            (training->sampleShape != validation->sampleShape ||
             training->targetShape != validation->targetShape))
            m_problems.push_back(
                {{"The validation samples are %1 with targets %2, the training samples %3 with "
                  "targets %4.",
                  {describe(validation->sampleShape), describe(validation->targetShape),
                   describe(training->sampleShape), describe(training->targetShape)}},
                 m_request.validation().at("inputs"),
                 {"Choose arrays of the same shapes."}});
        if (training)
            checkSplit(m_request, training->samples, m_problems);
        if (training && m_problems.empty())
            makeDatasets(training, validation);
    }

private:
    /// The array of an .npy file; of an .npz the one named, or the first with a usual name.
    std::optional<NpyArray> choose(const std::vector<NpyArray>& arrays, const std::string& key,
                                   std::initializer_list<const char*> usual,
                                   const std::string& file, const std::string& where) {
        if (arrays.size() == 1 && key.empty())
            return arrays[0];
        std::vector<std::string> names;
        for (const NpyArray& array : arrays) {
            names.push_back(array.name());
            if (!key.empty() && array.name() == key)
                return array;
        }
        for (const char* name : usual)
            for (const NpyArray& array : arrays)
                if (key.empty() && array.name() == name)
                    return array;
        m_problems.push_back(
            {key.empty() ? Message("It is not clear which array of \"%1\" is meant: it has %2.",
                                   {file, spec::listed(names)})
                         : Message("\"%1\" has no array \"%2\", but %3.",
                                   {file, excerpt(key), spec::listed(names)}),
             where,
             {"Name them in data.inputs_key and data.labels_key."}});
        return std::nullopt;
    }

    std::shared_ptr<ArrayPart> readPart(const Part& part) {
        const std::string file = part.file("inputs");
        const std::string labelFile = part.file("labels");
        if (file.empty())
            return nullptr;
        const Result<std::vector<NpyArray>> arrays = openArrays(file, part.at("inputs"));
        const Result<std::vector<NpyArray>> labelArrays =
            labelFile.empty() ? arrays : openArrays(labelFile, part.at("labels"));
        if (!arrays)
            m_problems.push_back(arrays.error());
        if (!labelFile.empty() && !labelArrays)
            m_problems.push_back(labelArrays.error());
        if (!arrays || !labelArrays)
            return nullptr;
        if (labelFile.empty() && arrays->size() == 1) {
            m_problems.push_back(
                {{"\"%1\" has one array only: what is to be predicted is missing.", {file}},
                 part.at("labels"),
                 {"Choose a file with the labels."}});
            return nullptr;
        }
        auto result = std::make_shared<ArrayPart>();
        result->inputs = choose(*arrays, m_request.text("inputs_key"),
                                {"x", "X", "inputs", "images", "data", "x_train", "arr_0"}, file,
                                part.at("inputs"));
        const std::optional<NpyArray> labels =
            choose(*labelArrays, m_request.text("labels_key"),
                   {"y", "Y", "labels", "targets", "target", "y_train", "arr_1"},
                   labelFile.empty() ? file : labelFile, part.at("labels"));
        if (!result->inputs || !labels || !takeShape(*result, part) ||
            !takeTargets(*result, *labels, part))
            return nullptr;
        return result;
    }

    bool takeShape(ArrayPart& part, const Part& files) {
        const Shape& shape = part.inputs->shape();
        if (shape.empty() || part.inputs->count() == 0) {
            m_problems.push_back({{"\"%1\" holds no samples: its shape is %2.",
                                   {files.file("inputs"), describe(shape)}},
                                  files.at("inputs")});
            return false;
        }
        part.samples = shape[0];
        part.sampleShape.assign(shape.begin() + 1, shape.end());
        Shape& sample = part.sampleShape;
        const std::string kind = m_request.text("samples");
        const bool pictures = kind == "pictures" || (kind == "auto" && part.inputs->bytes());
        if (sample.empty())
            sample = {1};
        else if (sample.size() == 2 && pictures)
            sample.insert(sample.begin(), 1);
        else if (sample.size() == 3 && sample[2] <= 4 && sample[0] > 4 && kind != "arrays") {
            part.channelsLast = true;
            sample = {sample[2], sample[0], sample[1]};
            m_notes.push_back(
                Message("The channels of \"%1\" stand last and are moved to the front.",
                        {files.file("inputs")}));
        }
        if (sample.size() <= 3)
            return true;
        m_problems.push_back(
            {{"The samples of \"%1\" have %2 dimensions (%3), but a model takes 3 "
              "at most.",
              {files.file("inputs"), std::to_string(sample.size()), describe(sample)}},
             files.at("inputs"),
             {"Join dimensions with numpy.reshape."}});
        return false;
    }

    bool takeTargets(ArrayPart& part, const NpyArray& labels, const Part& files) {
        const std::string file =
            files.file("labels").empty() ? files.file("inputs") : files.file("labels");
        const Shape& shape = labels.shape();
        if (shape.empty() || shape[0] != part.samples) {
            m_problems.push_back({{"There are %1 labels in \"%2\" for %3 samples in \"%4\".",
                                   {grouped(shape.empty() ? 1 : shape[0]), file,
                                    grouped(part.samples), files.file("inputs")}},
                                  files.at("labels"),
                                  {"Choose the two arrays that belong together."}});
            return false;
        }
        part.targetShape.assign(shape.begin() + 1, shape.end());
        std::vector<double> values(static_cast<std::size_t>(labels.count()));
        labels.read(0, values);
        const std::string task = m_request.text("task");
        const bool classes = task == "classification" || (task == "auto" && labels.whole());
        if (part.targetShape.size() == 1 && part.targetShape[0] == 1 && classes)
            part.targetShape.clear();
        else if (part.targetShape.empty() && !classes)
            part.targetShape = {1};
        if (!checkTargets(values, classes, file, files))
            return false;
        if (classes)
            for (const double value : values)
                part.labels.push_back(static_cast<std::int32_t>(value));
        else
            part.numbers = std::move(values);
        const std::int64_t model = m_request.modelClasses;
        if (classes)
            reportBadLabels(
                rangeOf(std::span<const std::int32_t>(part.labels), model > 0 ? model : kMostLabel),
                file, files.at("labels"), model > 0 ? model : kMostLabel, m_problems);
        return m_problems.empty();
    }

    bool checkTargets(const std::vector<double>& values, bool classes, const std::string& file,
                      const Part& files) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double value = values[i];
            const bool right = classes ? value == std::floor(value) &&
                                             std::abs(value) <= static_cast<double>(kMostLabel)
                                       : std::isfinite(value);
            if (right)
                continue;
            m_problems.push_back({{classes ? "Label %1 of \"%2\" is %3, which is no class."
                                           : "Number %1 of \"%2\" is %3, which cannot be learned.",
                                   {grouped(static_cast<std::int64_t>(i)), file, shortest(value)}},
                                  files.at("labels"),
                                  {"Correct it, or choose another data.task."}});
            return false;
        }
        return true;
    }

    /// Of the samples for which `rows` says so; all where it is empty.
    std::vector<GroupSums> sumsOf(const ArrayPart& part, const std::vector<bool>& rows,
                                  const Part& files) {
        std::vector<GroupSums> sums(static_cast<std::size_t>(part.groups()));
        const std::int64_t perSample = part.perSample();
        const std::int64_t perGroup = perSample / part.groups();
        const std::int64_t step = std::max<std::int64_t>(1, kPieceElements / perSample);
        std::vector<double> values;
        for (std::int64_t row = 0; row < part.samples; row += step) {
            const std::int64_t count = std::min(step, part.samples - row);
            values.resize(static_cast<std::size_t>(count * perSample));
            part.inputs->read(row * perSample, values);
            for (std::size_t i = 0; i < values.size(); ++i) {
                const auto element = static_cast<std::int64_t>(i);
                const std::int64_t sample = row + element / perSample;
                if (!std::isfinite(values[i])) {
                    reportNotFinite(values[i], sample, files);
                    return sums;
                }
                if (!rows.empty() && !rows[static_cast<std::size_t>(sample)])
                    continue;
                const auto group =
                    static_cast<std::size_t>(part.placeOf(element % perSample) / perGroup);
                addTo(sums[group], values[i]);
            }
        }
        return sums;
    }

    static void addTo(GroupSums& sums, double value) {
        if (!sums.any)
            sums.first = value;
        sums.any = true;
        const double difference = value - sums.first;
        sums.sum += difference;
        sums.squares += difference * difference;
        sums.least = std::min(sums.least, value);
        sums.largest = std::max(sums.largest, value);
    }

    void reportNotFinite(double value, std::int64_t sample, const Part& files) {
        m_problems.push_back({{"Sample %1 of \"%2\" holds %3, which cannot be learned from.",
                               {grouped(sample), files.file("inputs"), shortest(value)}},
                              files.at("inputs"),
                              {"Replace such elements, for example with numpy.nan_to_num."}});
    }

    DatasetInfo describePart(const ArrayPart& part, const std::vector<std::int64_t>& rows,
                             const std::vector<GroupSums>& sums) const {
        DatasetInfo info;
        info.samples = rows.empty() ? part.samples : static_cast<std::int64_t>(rows.size());
        info.sampleShape = part.sampleShape;
        info.targetShape = part.targetShape;
        const double unit = part.inputs->bytes() && part.sampleShape.size() == 3 ? 255 : 1;
        const auto values = static_cast<double>(info.samples * part.perSample() / part.groups());
        for (const GroupSums& group : sums) {
            const double mean = group.sum / values;
            const bool varies = group.least < group.largest;
            info.mean.push_back((group.first + mean) / unit);
            info.deviation.push_back(
                varies ? std::sqrt(std::max(0.0, group.squares / values - mean * mean)) / unit : 0);
        }
        if (!part.numbers.empty()) {
            info.target = TargetKind::Numbers;
            return info;
        }
        const auto perSample = static_cast<std::size_t>(elementCount(part.targetShape));
        for (std::int64_t i = 0; i < info.samples; ++i) {
            const auto row =
                static_cast<std::size_t>(rows.empty() ? i : rows[static_cast<std::size_t>(i)]);
            for (std::size_t at = row * perSample; at < (row + 1) * perSample; ++at) {
                const auto label = static_cast<std::size_t>(part.labels[at]);
                if (label >= info.classCounts.size())
                    info.classCounts.resize(label + 1);
                ++info.classCounts[label];
            }
        }
        info.classes = static_cast<std::int64_t>(info.classCounts.size());
        return info;
    }

    Normalization scaling(const DatasetInfo& info, const std::vector<GroupSums>& sums,
                          bool bytes) const {
        Normalization result;
        const std::string& normalize = m_request.data.normalize;
        const double unit = bytes && info.sampleShape.size() == 3 ? 255 : 1;
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const double range = sums[i].largest - sums[i].least;
            double shift = 0;
            double scale = 1;
            if (normalize == "standard") {
                const double deviation = info.deviation[i] * unit;
                shift = info.mean[i] * unit;
                scale = deviation > 0 ? 1 / deviation : 1;
            } else if (normalize == "unit" && bytes) {
                scale = 1.0 / 255;
            } else if (normalize == "unit") {
                shift = sums[i].least;
                scale = range > 0 ? 1 / range : 1;
            }
            result.shift.push_back(shift);
            result.scale.push_back(scale);
        }
        return result;
    }

    static std::vector<bool> marks(const std::vector<std::int64_t>& rows, std::int64_t count) {
        std::vector<bool> marked(rows.empty() ? 0 : static_cast<std::size_t>(count));
        for (const std::int64_t row : rows)
            marked[static_cast<std::size_t>(row)] = true;
        return marked;
    }

    void makeDatasets(const std::shared_ptr<ArrayPart>& training,
                      const std::shared_ptr<ArrayPart>& validation) {
        Split split;
        if (m_request.splits())
            split = splitRows(training->samples, m_request.data.validationFraction, m_request.seed);
        std::vector<GroupSums> sums =
            sumsOf(*training, marks(split.training, training->samples), m_request.training());
        if (!m_problems.empty())
            return;
        DatasetInfo info = describePart(*training, split.training, sums);
        m_notes.insert(m_notes.begin(),
                       Message("The inputs are %1 of %2.",
                               {describe(training->inputs->shape()), training->inputs->type()}));
        info.notes = m_notes;
        const Normalization normalization = scaling(info, sums, training->inputs->bytes());
        m_data.training = std::make_unique<ArrayDataset>(training, std::move(split.training),
                                                         std::move(info), normalization);
        const std::shared_ptr<ArrayPart>& other = m_request.splits() ? training : validation;
        if (!other)
            return;
        sums = sumsOf(*other, marks(split.validation, other->samples), m_request.validation());
        info = describePart(*other, split.validation, sums);
        m_data.validation = std::make_unique<ArrayDataset>(other, std::move(split.validation),
                                                           std::move(info), normalization);
    }

    const DataRequest& m_request;
    Problems& m_problems;
    OpenedData& m_data;
    std::vector<Message> m_notes;
};

} // namespace

void openNpy(const DataRequest& request, DataOutcome& outcome) {
    NpyOpener(request, outcome).open();
}

} // namespace trainyard::engine
