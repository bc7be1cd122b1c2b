// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// JPEG through libjpeg, whose errors are long jumps: no object with a destructor lives in a
// function that one may leave.
#include "engine/data/picture_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <csetjmp>
#include <cstdio>
// After cstdio, which it needs.
#include <jpeglib.h>
// After jpeglib.h.
#include <jerror.h>

namespace trainyard::engine {

namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;

struct JpegErrors {
    jpeg_error_mgr manager = {}; ///< first: libjpeg knows this part only
    std::jmp_buf leave;
    PictureFailure* failure = nullptr;
};

[[noreturn]] void leaveJpeg(j_common_ptr info) {
    auto* errors = reinterpret_cast<JpegErrors*>(info->err);
    std::array<char, JMSG_LENGTH_MAX> text = {};
    info->err->format_message(info, text.data());
    std::strncpy(errors->failure->text, text.data(), sizeof errors->failure->text - 1);
    std::longjmp(errors->leave, 1);
}

/// libjpeg goes on after damage and fills with gray; here that is the end.
void hearJpeg(j_common_ptr info, int level) {
    constexpr std::array kHarmless = {int{JWRN_EXTRANEOUS_DATA}, int{JWRN_JFIF_MAJOR},
                                      int{JWRN_ADOBE_XFORM}, int{JWRN_TOO_MUCH_DATA}};
    if (level < 0 && std::ranges::find(kHarmless, info->err->msg_code) == kHarmless.end())
        leaveJpeg(info);
}

/// Inks to light. Adobe's programs store the inks inverted.
void convertInks(const std::uint8_t* inks, std::int64_t count, bool inverted, std::uint8_t* rgb) {
    for (std::int64_t i = 0; i < count; ++i, inks += 4)
        for (int channel = 0; channel < 3; ++channel) {
            const int ink = inverted ? inks[channel] : 255 - inks[channel];
            const int black = inverted ? inks[3] : 255 - inks[3];
            *rgb++ = static_cast<std::uint8_t>((ink * black + 127) / 255);
        }
}

void readExif(const jpeg_decompress_struct& info, int& orientation) {
    constexpr std::size_t kNameBytes = 6;
    for (const jpeg_marker_struct* marker = info.marker_list; marker; marker = marker->next)
        if (marker->marker == kExifMarker && marker->data_length > kNameBytes &&
            std::memcmp(marker->data, "Exif\0", kNameBytes) == 0)
            orientation =
                exifOrientation({marker->data + kNameBytes, marker->data_length - kNameBytes});
}

} // namespace

bool decodeJpeg(std::span<const std::uint8_t> bytes, Picture& picture, int& orientation,
                PictureFailure& failure) {
    JpegErrors errors;
    errors.failure = &failure;
    jpeg_decompress_struct info = {};
    std::vector<std::uint8_t>* const inks = new std::vector<std::uint8_t>;
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = leaveJpeg;
    errors.manager.emit_message = hearJpeg;
    if (setjmp(errors.leave)) {
        jpeg_destroy_decompress(&info);
        delete inks;
        return false;
    }
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, bytes.data(), bytes.size());
    jpeg_save_markers(&info, kExifMarker, 0xFFFF);
    jpeg_read_header(&info, TRUE);
    readExif(info, orientation);
    const std::int64_t pixels = std::int64_t{info.image_width} * info.image_height;
    // A block of 8 x 8 pixels takes a bit at least: a header that lies must not cost memory.
    const bool tooFewBytes = !info.arith_code && std::cmp_greater(pixels / 512, bytes.size());
    if (pixels > kMostPixels || tooFewBytes) {
        std::snprintf(failure.text, sizeof failure.text, "its %u x %u pixels are too many%s",
                      info.image_width, info.image_height,
                      pixels > kMostPixels ? "" : " for its bytes");
        jpeg_destroy_decompress(&info);
        delete inks;
        return false;
    }
    const bool cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    info.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&info);
    picture.height = info.output_height;
    picture.width = info.output_width;
    picture.pixels.resize(static_cast<std::size_t>(3 * picture.count()));
    if (cmyk)
        inks->resize(static_cast<std::size_t>(4 * picture.width));
    while (info.output_scanline < info.output_height) {
        std::uint8_t* row = picture.pixels.data() + 3 * picture.width * info.output_scanline;
        JSAMPROW target = cmyk ? inks->data() : row;
        jpeg_read_scanlines(&info, &target, 1);
        if (cmyk)
            convertInks(inks->data(), picture.width, info.saw_Adobe_marker != 0, row);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
    delete inks;
    return true;
}

} // namespace trainyard::engine
