// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/byte_dataset.h"

#include "engine/base/multiversion.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard::engine {

namespace {

constexpr double kLargestByte = 255.0;

struct ByteSums {
    std::uint64_t sum = 0;
    std::uint64_t squares = 0;
};

/// 32-bit sums, which vectorise; exact for up to 65,536 bytes (255² · 65,536 < 2^32).
constexpr std::int64_t kSumBlock = 65536;

TRAINYARD_MULTIVERSION
void sumBlock(const std::uint8_t* bytes, std::int64_t count, std::uint32_t* sum,
              std::uint32_t* squares) {
    std::uint32_t total = 0;
    std::uint32_t totalSquares = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint32_t value = bytes[i];
        total += value;
        totalSquares += value * value;
    }
    *sum = total;
    *squares = totalSquares;
}

void addSums(const std::uint8_t* bytes, std::int64_t count, ByteSums& sums) {
    for (std::int64_t begin = 0; begin < count; begin += kSumBlock) {
        std::uint32_t sum = 0;
        std::uint32_t squares = 0;
        sumBlock(bytes + begin, std::min(kSumBlock, count - begin), &sum, &squares);
        sums.sum += sum;
        sums.squares += squares;
    }
}

// Subtract, then multiply: one rounding each, so the value is the same on every machine.
TRAINYARD_MULTIVERSION
void normalizeFloats(const std::uint8_t* bytes, std::int64_t count, float shift, float scale,
                     float* out) {
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = (static_cast<float>(bytes[i]) - shift) * scale;
}

TRAINYARD_MULTIVERSION
void normalizeDoubles(const std::uint8_t* bytes, std::int64_t count, double shift, double scale,
                      double* out) {
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = (static_cast<double>(bytes[i]) - shift) * scale;
}

void normalize(const std::uint8_t* bytes, std::int64_t count, double shift, double scale,
               float* out) {
    normalizeFloats(bytes, count, static_cast<float>(shift), static_cast<float>(scale), out);
}

void normalize(const std::uint8_t* bytes, std::int64_t count, double shift, double scale,
               double* out) {
    normalizeDoubles(bytes, count, shift, scale, out);
}

} // namespace

Normalization makeNormalization(const std::string& normalize, const DatasetInfo& statistics) {
    const std::size_t channels = statistics.mean.size();
    if (normalize == "none")
        return {std::vector<double>(channels, 0.0), std::vector<double>(channels, 1.0)};
    if (normalize == "unit")
        return {std::vector<double>(channels, 0.0),
                std::vector<double>(channels, 1.0 / kLargestByte)};
    TRAINYARD_CHECK_EQ(normalize, "standard");
    Normalization result;
    for (std::size_t channel = 0; channel < channels; ++channel) {
        const double deviation = statistics.deviation[channel];
        result.shift.push_back(statistics.mean[channel] * kLargestByte);
        result.scale.push_back(1.0 / (kLargestByte * (deviation > 0 ? deviation : 1.0)));
    }
    return result;
}

DatasetInfo describeSamples(const ByteSamples& samples, std::span<const std::int64_t> rows) {
    DatasetInfo info;
    info.samples = rows.empty() ? samples.count : static_cast<std::int64_t>(rows.size());
    info.sampleShape = samples.sampleShape;
    const std::int64_t perSample = samples.bytesPerSample();
    const std::int64_t perChannel = perSample / samples.channels;
    std::vector<ByteSums> sums(static_cast<std::size_t>(samples.channels));
    for (std::int64_t i = 0; i < info.samples; ++i) {
        const std::int64_t row = rows.empty() ? i : rows[static_cast<std::size_t>(i)];
        const std::uint8_t* pixels = samples.pixels.get() + row * perSample;
        for (std::size_t channel = 0; channel < sums.size(); ++channel)
            addSums(pixels + static_cast<std::int64_t>(channel) * perChannel, perChannel,
                    sums[channel]);

        const std::size_t label = samples.labels[static_cast<std::size_t>(row)];
        if (label >= info.classCounts.size())
            info.classCounts.resize(label + 1);
        ++info.classCounts[label];
    }
    info.classes = static_cast<std::int64_t>(info.classCounts.size());
    info.classNames = samples.classNames;
    info.notes = samples.notes;
    const auto values = static_cast<double>(info.samples * perChannel);
    for (const ByteSums& channel : sums) {
        const double mean = static_cast<double>(channel.sum) / values;
        const double square = static_cast<double>(channel.squares) / values;
        info.mean.push_back(mean / kLargestByte);
        info.deviation.push_back(std::sqrt(std::max(0.0, square - mean * mean)) / kLargestByte);
    }
    return info;
}

ByteDataset::ByteDataset(SharedBytes samples, std::vector<std::int64_t> rows, DatasetInfo info,
                         const Normalization& normalization)
    : m_samples(std::move(samples)), m_rows(std::move(rows)), m_info(std::move(info)),
      m_normalization(normalization) {
    TRAINYARD_CHECK_EQ(normalization.shift.size(), static_cast<std::size_t>(m_samples->channels));
    m_info.shift = normalization.shift;
    m_info.scale = normalization.scale;
}

void ByteDataset::gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const {
    if (memory.inputType == DType::Fp64)
        gatherAs(samples, static_cast<double*>(memory.inputs), memory.labels);
    else
        gatherAs(samples, static_cast<float*>(memory.inputs), memory.labels);
}

template <class Real>
void ByteDataset::gatherAs(std::span<const std::int64_t> samples, Real* inputs,
                           std::int32_t* labels) const {
    const std::int64_t perSample = m_samples->bytesPerSample();
    const std::int64_t perChannel = perSample / m_samples->channels;
    for (const std::int64_t sample : samples) {
        TRAINYARD_CHECK_MSG(sample >= 0 && sample < m_info.samples,
                            describePair(sample, m_info.samples));
        const std::int64_t row = m_rows.empty() ? sample : m_rows[static_cast<std::size_t>(sample)];
        const std::uint8_t* pixels = m_samples->pixels.get() + row * perSample;
        for (std::size_t channel = 0; channel < m_normalization.shift.size(); ++channel) {
            normalize(pixels, perChannel, m_normalization.shift[channel],
                      m_normalization.scale[channel], inputs);
            pixels += perChannel;
            inputs += perChannel;
        }
        *labels++ = m_samples->labels[static_cast<std::size_t>(row)];
    }
}

void openBytes(const DataRequest& request, const SharedBytes& training,
               const SharedBytes& validation, DataOutcome& outcome) {
    if (training)
        checkSplit(request, training->count, outcome.problems);
    if (!training || !outcome.problems.empty())
        return;
    Split split;
    if (request.splits())
        split = splitRows(training->count, request.data.validationFraction, request.seed);
    const SharedBytes& validationSamples = request.splits() ? training : validation;

    DatasetInfo info = describeSamples(*training, split.training);
    const Normalization normalization = makeNormalization(request.data.normalize, info);
    outcome.data.training = std::make_unique<ByteDataset>(training, std::move(split.training),
                                                          std::move(info), normalization);
    if (!validationSamples)
        return;
    info = describeSamples(*validationSamples, split.validation);
    outcome.data.validation = std::make_unique<ByteDataset>(
        validationSamples, std::move(split.validation), std::move(info), normalization);
}

} // namespace trainyard::engine
