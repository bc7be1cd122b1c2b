// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Files of data: opened as training does it, and where that works some samples are taken.
#include "engine/data/byte_source.h"
#include "engine/data/dataset.h"
#include "engine/data/idx_file.h"
#include "engine/data/npy_file.h"
#include "engine/data/picture_file.h"
#include "engine/data/tokenizer.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

#include <algorithm>
#include <array>
#include <utility>

namespace trainyard::test {

namespace {

using namespace engine;

/// The first byte chooses, the rest is the file.
class Choices {
public:
    explicit Choices(FuzzBytes& bytes) {
        if (bytes.empty())
            return;
        m_number = std::to_integer<unsigned>(bytes.front());
        bytes = bytes.subspan(1);
    }
    template <class... Texts>
    std::string of(Texts... texts) {
        const std::array<const char*, sizeof...(Texts)> list = {texts...};
        const std::size_t index = m_number % list.size();
        m_number /= static_cast<unsigned>(list.size());
        return list[index];
    }

private:
    unsigned m_number = 0;
};

/// The first samples, the last one, and one of them twice.
void gatherSome(const Dataset& dataset) {
    constexpr std::int64_t kLargestSample = 1 << 20;
    const DatasetInfo& info = dataset.info();
    TRAINYARD_CHECK(info.samples > 0);
    TRAINYARD_CHECK(elementCount(info.sampleShape) > 0 && elementCount(info.targetShape) > 0);
    if (std::max(elementCount(info.sampleShape), elementCount(info.targetShape)) > kLargestSample)
        return;
    const std::vector<std::int64_t> rows = {0, info.samples - 1, info.samples / 2, 0};
    const std::size_t inputs =
        rows.size() * static_cast<std::size_t>(elementCount(info.sampleShape));
    const std::size_t targets =
        rows.size() * static_cast<std::size_t>(elementCount(info.targetShape));
    std::vector<double> wide(inputs);
    std::vector<float> narrow(inputs);
    std::vector<std::int32_t> indices(inputs);
    std::vector<std::int32_t> labels(targets);
    std::vector<double> numbers(targets);
    for (const DType type : {DType::Fp64, DType::Fp32}) {
        void* into = type == DType::Fp64 ? static_cast<void*>(wide.data()) : narrow.data();
        if (info.vocabulary > 0)
            into = indices.data();
        dataset.gather(rows, {.inputs = into,
                              .inputType = info.vocabulary > 0 ? DType::Int32 : type,
                              .labels = labels.data(),
                              .numbers = numbers.data(),
                              .numberType = DType::Fp64});
    }
    if (info.target == TargetKind::Labels)
        for (const std::int32_t label : labels)
            TRAINYARD_CHECK(label >= 0 && label < info.classes);
}

void openAndGather(const spec::DataSpec& data, std::int64_t classes) {
    const DataOutcome outcome = openData(data, 1, classes);
    for (const Error& problem : outcome.problems)
        TRAINYARD_CHECK(!problem.sentence().empty());
    TRAINYARD_CHECK(outcome.problems.empty() == (outcome.data.training != nullptr));
    for (const Dataset* dataset : {outcome.data.training.get(), outcome.data.validation.get()})
        if (dataset)
            gatherSome(*dataset);
}

spec::DataSpec dataOf(const char* format, spec::FileSet files) {
    spec::DataSpec data;
    data.format = format;
    data.train = std::move(files);
    data.validationFraction = 0.25;
    return data;
}

} // namespace

void fuzzGzip(FuzzBytes bytes) {
    const MemoryFile file("\x1F\x8B" + std::string(textOf(bytes)));
    if (const auto source = ByteSource::open(file.path(), "where"))
        TRAINYARD_CHECK(std::cmp_equal((*source)->readAll().size(), (*source)->size()));
}

void fuzzIdx(FuzzBytes bytes) {
    const MemoryFile file(textOf(bytes));
    if (const auto labels = readIdx(file.path(), IdxRole::Labels, "where"))
        TRAINYARD_CHECK_EQ(labels->bytes().size(), static_cast<std::size_t>(labels->samples()));
    const auto images = readIdx(file.path(), IdxRole::Images, "where");
    if (!images)
        return;
    const auto samples = static_cast<std::size_t>(images->samples());
    std::string labels("\0\0\x08\x01", 4);
    for (int shift = 24; shift >= 0; shift -= 8)
        labels += static_cast<char>(samples >> shift & 0xFF);
    for (std::size_t i = 0; i < samples; ++i)
        labels += static_cast<char>(i % 3);
    const MemoryFile labelFile(labels);
    openAndGather(dataOf("idx", {{"images", file.path()}, {"labels", labelFile.path()}}), 3);
}

void fuzzCifar(FuzzBytes bytes) {
    constexpr std::size_t kRecord = 3073;
    const std::string_view text = textOf(bytes);
    const MemoryFile asItIs(text);
    openAndGather(dataOf("cifar", {{"pictures", asItIs.path()}}), 10);
    std::string records;
    while (!text.empty() && records.size() < 3 * kRecord)
        records += text;
    records.resize(std::min(records.size(), 3 * kRecord));
    const MemoryFile whole(records);
    openAndGather(dataOf("cifar", {{"pictures", whole.path()}}), 10);
}

void fuzzCsv(FuzzBytes bytes) {
    Choices choices(bytes);
    const MemoryFile file(textOf(bytes));
    spec::DataSpec data = dataOf("csv", {{"table", file.path()}});
    data.values = {{"task", choices.of("auto", "classification", "regression")},
                   {"delimiter", choices.of("auto", "space", "semicolon")},
                   {"missing", choices.of("fill", "drop")},
                   {"header", choices.of("auto", "no", "yes")},
                   {"non_finite", std::string("missing")}};
    data.normalize = choices.of("standard", "unit");
    if (choices.of("share", "own") == "own")
        data.validation = {{"table", file.path()}};
    openAndGather(data, 0);
}

void fuzzNpy(FuzzBytes bytes) {
    Choices choices(bytes);
    const MemoryFile file(textOf(bytes));
    const auto arrays = openArrays(file.path(), "where");
    if (!arrays)
        return;
    for (const NpyArray& array : *arrays) {
        constexpr std::int64_t kMostRead = 1 << 16;
        std::vector<double> values(static_cast<std::size_t>(std::min(array.count(), kMostRead)));
        array.read(0, values);
        array.read(array.count() - static_cast<std::int64_t>(values.size()), values);
    }
    spec::DataSpec data = dataOf("npy", {{"inputs", file.path()}});
    if (arrays->size() == 1) // the same numbers are to be predicted
        data.train["labels"] = file.path();
    data.values = {{"task", choices.of("auto", "classification", "regression")},
                   {"samples", choices.of("auto", "pictures", "arrays")}};
    data.normalize = choices.of("standard", "unit", "none");
    if (arrays->size() > 1) {
        data.values["inputs_key"] = arrays->front().name();
        data.values["labels_key"] = arrays->back().name();
    }
    openAndGather(data, 0);
}

void fuzzText(FuzzBytes bytes) {
    Choices choices(bytes);
    const MemoryFile file(textOf(bytes));
    spec::DataSpec data = dataOf("text", {{"text", file.path()}});
    data.values = {{"context", std::int64_t{4}},
                   {"vocabulary_size", std::int64_t{300}},
                   {"vocabulary", choices.of("bpe", "characters", "bytes")},
                   {"encoding", choices.of("auto", "UTF-16LE", "GB18030", "SHIFT_JIS", "BIG5",
                                           "WINDOWS-1251", "KOI8-R", "UTF-16BE")}};
    if (choices.of("share", "own") == "own")
        data.validation = {{"text", file.path()}};
    openAndGather(data, 0);
}

void fuzzTokens(FuzzBytes bytes) {
    Choices choices(bytes);
    const MemoryFile file(textOf(bytes));
    spec::DataSpec data = dataOf("tokens", {{"tokens", file.path()}});
    data.values = {{"context", std::int64_t{4}}, {"type", choices.of("uint16", "uint32")}};
    if (choices.of("any", "few") == "few")
        data.values["vocabulary_size"] = std::int64_t{1000};
    openAndGather(data, 0);
}

void fuzzTokenizer(FuzzBytes bytes) {
    const Result<Tokenizer> tokenizer = Tokenizer::fromJson(textOf(bytes));
    if (!tokenizer)
        return;
    const std::string json = tokenizer->toJson();
    const Result<Tokenizer> again = Tokenizer::fromJson(json);
    TRAINYARD_CHECK(again.ok() && again->toJson() == json);
    TRAINYARD_CHECK_EQ(again->vocabulary(), tokenizer->vocabulary());
    const std::string text = "The quick brown fox, 1234  aaaaaaaa\n\xD0\x96\xE2\x82\xAC";
    if (const auto tokens = tokenizer->encode(text))
        TRAINYARD_CHECK(tokenizer->decode(*tokens) == text);
    if (tokenizer->vocabulary() < 4096)
        tokenizer->allTexts();
}

void fuzzPicture(FuzzBytes bytes) {
    const Result<Picture> picture =
        decodePicture({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    if (!picture)
        return;
    TRAINYARD_CHECK(picture->height > 0 && picture->width > 0);
    TRAINYARD_CHECK_EQ(picture->pixels.size(), static_cast<std::size_t>(3 * picture->count()));
    constexpr std::int64_t kMostScaled = 1 << 16;
    std::array<std::uint8_t, 3 * 8 * 5> scaled = {};
    for (const std::int64_t channels : {1, 3})
        if (picture->count() <= kMostScaled)
            scalePicture(*picture, channels, 8, 5, scaled.data());
}

void fuzzExif(FuzzBytes bytes) {
    const int orientation =
        exifOrientation({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    TRAINYARD_CHECK(orientation >= 1 && orientation <= 8);
    Picture picture;
    picture.height = 2;
    picture.width = 3;
    picture.pixels.resize(18);
    const Picture upright = turnedUpright(std::move(picture), orientation);
    TRAINYARD_CHECK_EQ(upright.width, orientation >= 5 ? 2 : 3);
}

} // namespace trainyard::test
