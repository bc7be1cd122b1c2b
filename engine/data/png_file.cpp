// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// PNG through libpng, whose errors are long jumps: what has a destructor lives in the caller.
#include "engine/data/picture_file.h"

#include <csetjmp>
#include <cstring>

#include <png.h>

namespace trainyard::engine {

namespace {

struct PngState {
    std::span<const std::uint8_t> bytes;
    std::size_t position = 0;
    PictureFailure* failure = nullptr;
    std::vector<std::uint8_t> pixels; ///< {height, width, 3 or 4}
    std::vector<png_bytep> rows;
    std::int64_t channels = 3;
};

[[noreturn]] void leavePng(png_structp png, png_const_charp text) {
    auto* state = static_cast<PngState*>(png_get_error_ptr(png));
    std::strncpy(state->failure->text, text, sizeof state->failure->text - 1);
    png_longjmp(png, 1);
}

void hearPng(png_structp, png_const_charp) {}

void readPngBytes(png_structp png, png_bytep target, std::size_t count) {
    auto* state = static_cast<PngState*>(png_get_io_ptr(png));
    if (count > state->bytes.size() - state->position)
        png_error(png, "the file ends in the middle");
    std::memcpy(target, state->bytes.data() + state->position, count);
    state->position += count;
}

/// All kinds of PNG become three or four channels of a byte.
void askForBytes(png_structp png, png_infop info) {
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

bool readPng(png_structp png, png_infop info, PngState& state, Picture& picture, int& orientation) {
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_set_read_fn(png, &state, readPngBytes);
    png_read_info(png, info);
    picture.height = png_get_image_height(png, info);
    picture.width = png_get_image_width(png, info);
    if (picture.count() > kMostPixels)
        png_error(png, "it has too many pixels");
    // Deflate packs at most 1032 bytes into one: a header that lies must not cost memory.
    constexpr std::uint64_t kLargestRatio = 1032;
    const std::uint64_t packedRows =
        std::uint64_t{png_get_rowbytes(png, info)} * static_cast<std::uint64_t>(picture.height);
    if (packedRows / kLargestRatio > state.bytes.size())
        png_error(png, "the file is too short for its pixels");
    askForBytes(png, info);
    state.channels = png_get_channels(png, info);
    if (png_get_bit_depth(png, info) != 8 || state.channels < 3 || state.channels > 4)
        png_error(png, "its kind of pixels is not known");
    const std::int64_t rowBytes = picture.width * state.channels;
    state.pixels.resize(static_cast<std::size_t>(picture.height * rowBytes));
    for (std::int64_t row = 0; row < picture.height; ++row)
        state.rows.push_back(state.pixels.data() + row * rowBytes);
    png_read_image(png, state.rows.data());
    png_read_end(png, info);
    png_uint_32 exifBytes = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(png, info, &exifBytes, &exif) != 0)
        orientation = exifOrientation({exif, exifBytes});
    return true;
}

/// On white, as viewers show it.
void blend(const PngState& state, Picture& picture) {
    picture.pixels.resize(static_cast<std::size_t>(3 * picture.count()));
    const std::uint8_t* from = state.pixels.data();
    for (std::size_t i = 0; i < picture.pixels.size(); i += 3, from += state.channels) {
        const int alpha = state.channels == 4 ? from[3] : 255;
        picture.transparent = picture.transparent || alpha < 255;
        for (std::size_t channel = 0; channel < 3; ++channel)
            picture.pixels[i + channel] = static_cast<std::uint8_t>(
                (from[channel] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
}

} // namespace

bool decodePng(std::span<const std::uint8_t> bytes, Picture& picture, int& orientation,
               PictureFailure& failure) {
    PngState state;
    state.bytes = bytes;
    state.failure = &failure;
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, leavePng, hearPng);
    png_infop info = png ? png_create_info_struct(png) : nullptr;
    const bool right = info && readPng(png, info, state, picture, orientation);
    png_destroy_read_struct(&png, &info, nullptr);
    if (right)
        blend(state, picture);
    return right;
}

} // namespace trainyard::engine
