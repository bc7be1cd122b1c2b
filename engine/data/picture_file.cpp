// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/picture_file.h"

#include "engine/data/byte_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace trainyard::engine {

namespace {

/// Little- or big-endian numbers of a TIFF block.
class TiffReader {
public:
    explicit TiffReader(std::span<const std::uint8_t> bytes)
        : m_bytes(bytes), m_little(bytes.size() > 1 && bytes[0] == 'I') {}

    std::uint32_t number(std::size_t at, std::size_t bytes) const {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < bytes && at + bytes <= m_bytes.size(); ++i)
            value |= std::uint32_t{m_bytes[at + i]} << 8 * (m_little ? i : bytes - 1 - i);
        return value;
    }

private:
    const std::span<const std::uint8_t> m_bytes;
    const bool m_little;
};

/// What the pixels of one new row or column are made of.
struct Weights {
    std::vector<std::int64_t> first;
    std::vector<std::vector<float>> values;
};

Weights weightsOf(std::int64_t from, std::int64_t to) {
    Weights weights;
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    const double reach = std::max(scale, 1.0);
    for (std::int64_t i = 0; i < to; ++i) {
        const double centre = (static_cast<double>(i) + 0.5) * scale;
        const auto begin =
            std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - reach)));
        const auto end = std::min(from, static_cast<std::int64_t>(std::ceil(centre + reach)));
        std::vector<double> shares;
        double sum = 0;
        for (std::int64_t source = begin; source < end; ++source) {
            const double distance = std::abs(static_cast<double>(source) + 0.5 - centre) / reach;
            shares.push_back(std::max(0.0, 1 - distance));
            sum += shares.back();
        }
        weights.first.push_back(begin);
        auto& values = weights.values.emplace_back();
        for (const double share : shares)
            values.push_back(static_cast<float>(share / sum));
    }
    return weights;
}

/// {height, width} of one channel.
std::vector<float> planeOf(const Picture& picture, std::int64_t channels, std::int64_t channel) {
    constexpr std::array<float, 3> kBrightness = {0.299f, 0.587f, 0.114f};
    std::vector<float> plane(static_cast<std::size_t>(picture.count()));
    const std::uint8_t* pixel = picture.pixels.data();
    for (float& value : plane) {
        value = channels == 1 ? kBrightness[0] * static_cast<float>(pixel[0]) +
                                    kBrightness[1] * static_cast<float>(pixel[1]) +
                                    kBrightness[2] * static_cast<float>(pixel[2])
                              : static_cast<float>(pixel[channel]);
        pixel += 3;
    }
    return plane;
}

std::uint8_t roundedByte(float value) {
    return static_cast<std::uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f));
}

} // namespace

PictureKind pictureKindOf(std::span<const std::uint8_t> start) {
    constexpr std::array<std::uint8_t, 3> kJpeg = {0xFF, 0xD8, 0xFF};
    constexpr std::array<std::uint8_t, 8> kPng = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    const auto begins = [start](const auto& mark) {
        return start.size() >= mark.size() && std::equal(mark.begin(), mark.end(), start.begin());
    };
    return begins(kJpeg) ? PictureKind::Jpeg : begins(kPng) ? PictureKind::Png : PictureKind::None;
}

Result<Picture> decodePicture(std::span<const std::uint8_t> bytes) {
    const PictureKind kind = pictureKindOf(bytes);
    if (kind == PictureKind::None)
        return Error(Message("It is neither JPEG nor PNG."));
    Picture picture;
    PictureFailure failure;
    int orientation = 1;
    const bool right = kind == PictureKind::Jpeg ? decodeJpeg(bytes, picture, orientation, failure)
                                                 : decodePng(bytes, picture, orientation, failure);
    if (!right)
        return Error(Message("It is damaged: %1.", {failure.text}));
    return turnedUpright(std::move(picture), orientation);
}

Result<Picture> readPicture(const std::string& path) {
    Result<std::shared_ptr<const ByteSource>> source = ByteSource::open(path, {});
    if (!source)
        return source.error();
    const std::string bytes = (*source)->readAll();
    return decodePicture({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

int exifOrientation(std::span<const std::uint8_t> exif) {
    constexpr std::uint32_t kOrientationTag = 0x0112;
    constexpr std::size_t kEntryBytes = 12;
    const TiffReader tiff(exif);
    if (exif.size() < 8 || tiff.number(2, 2) != 42)
        return 1;
    const std::size_t directory = tiff.number(4, 4);
    const std::size_t entries = tiff.number(directory, 2);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t entry = directory + 2 + i * kEntryBytes;
        if (entry + kEntryBytes > exif.size())
            break;
        const auto value = static_cast<int>(tiff.number(entry + 8, 2));
        if (tiff.number(entry, 2) == kOrientationTag)
            return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}

Picture turnedUpright(Picture picture, int orientation) {
    if (orientation <= 1 || orientation > 8)
        return picture;
    // 5 to 8 lie on their side. The stored picture is the upright one after these changes.
    const bool sideways = orientation >= 5;
    const bool fromRight =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool fromBottom =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    Picture upright;
    upright.height = sideways ? picture.width : picture.height;
    upright.width = sideways ? picture.height : picture.width;
    upright.transparent = picture.transparent;
    upright.pixels.resize(picture.pixels.size());
    std::uint8_t* to = upright.pixels.data();
    for (std::int64_t y = 0; y < upright.height; ++y)
        for (std::int64_t x = 0; x < upright.width; ++x, to += 3) {
            const std::int64_t alongRow = sideways ? y : x;
            const std::int64_t alongColumn = sideways ? x : y;
            const std::int64_t column = fromRight ? picture.width - 1 - alongRow : alongRow;
            const std::int64_t row = fromBottom ? picture.height - 1 - alongColumn : alongColumn;
            std::memcpy(to, picture.pixels.data() + 3 * (row * picture.width + column), 3);
        }
    return upright;
}

void scalePicture(const Picture& picture, std::int64_t channels, std::int64_t height,
                  std::int64_t width, std::uint8_t* scaled) {
    const Weights columns = weightsOf(picture.width, width);
    const Weights rows = weightsOf(picture.height, height);
    std::vector<float> narrow(static_cast<std::size_t>(picture.height * width));
    std::vector<float> sums(static_cast<std::size_t>(width));
    for (std::int64_t channel = 0; channel < channels; ++channel) {
        const std::vector<float> plane = planeOf(picture, channels, channel);
        float* to = narrow.data();
        for (std::int64_t y = 0; y < picture.height; ++y)
            for (std::size_t x = 0; x < columns.first.size(); ++x) {
                const float* from = plane.data() + y * picture.width + columns.first[x];
                float sum = 0;
                for (const float weight : columns.values[x])
                    sum += weight * *from++;
                *to++ = sum;
            }
        for (std::size_t y = 0; y < rows.first.size(); ++y) {
            std::ranges::fill(sums, 0.0f);
            const float* from = narrow.data() + rows.first[y] * width;
            for (const float weight : rows.values[y])
                for (float& sum : sums)
                    sum += weight * *from++;
            scaled = std::ranges::transform(sums, scaled, roundedByte).out;
        }
    }
}

} // namespace trainyard::engine
