// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// JPEG and PNG files as upright pictures of red, green and blue bytes: turned as EXIF says, 16 bits
// scaled to 8, gray and CMYK converted, transparent places shown on white. What kind a file is, its
// first bytes say. A damaged file is an error, never a half gray picture.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainyard::engine {

enum class PictureKind { None, Jpeg, Png };
/// From the first bytes.
PictureKind pictureKindOf(std::span<const std::uint8_t> start);

struct Picture {
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::vector<std::uint8_t> pixels; ///< {height, width, 3}
    bool transparent = false;         ///< somewhere

    std::int64_t count() const { return height * width; }
};

/// Pictures of more pixels are refused before memory is taken for them.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 27;

/// Errors say what is wrong with the content; the caller knows the file.
Result<Picture> decodePicture(std::span<const std::uint8_t> bytes);
Result<Picture> readPicture(const std::string& path);

/// 1 to 8, as in EXIF: how the picture was held when it was taken. 1 where `exif`, the block behind
/// "Exif\0\0", does not say.
int exifOrientation(std::span<const std::uint8_t> exif);
Picture turnedUpright(Picture picture, int orientation);

/// Bytes {channels, height, width}; 1 channel: brightness. Each new pixel is the weighted mean of
/// all those it covers (a triangle filter), so that small pictures are not jagged.
void scalePicture(const Picture& picture, std::int64_t channels, std::int64_t height,
                  std::int64_t width, std::uint8_t* scaled);

/// Internal: the two formats.
struct PictureFailure {
    char text[256] = {};
};
bool decodeJpeg(std::span<const std::uint8_t> bytes, Picture& picture, int& orientation,
                PictureFailure& failure);
bool decodePng(std::span<const std::uint8_t> bytes, Picture& picture, int& orientation,
               PictureFailure& failure);

} // namespace trainyard::engine
