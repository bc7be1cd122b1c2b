// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/augmentation.h"

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "engine/spec/catalogue.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainyard::engine {

namespace {

/// [0, count)
std::int64_t below(std::uint32_t word, std::int64_t count) {
    return static_cast<std::int64_t>(std::uint64_t{word} * static_cast<std::uint64_t>(count) >> 32);
}

} // namespace

AugmentationSettings augmentationOf(const spec::DataSpec& data) {
    const spec::TypeInfo& type =
        *spec::findType(spec::Kind::Augmentation, spec::kPictureAugmentation);
    return {.flip = spec::switchOf(type, data.augment, "flip"),
            .cropPadding = spec::integerOf(type, data.augment, "crop_padding"),
            .rotate = spec::realOf(type, data.augment, "rotate"),
            .cutout = spec::integerOf(type, data.augment, "cutout")};
}

Augmenter::Augmenter(const AugmentationSettings& settings, std::uint64_t seed, const Shape& picture)
    : m_settings(settings), m_seed(seed), m_channels(picture.at(0)), m_height(picture.at(1)),
      m_width(picture.at(2)) {
    TRAINYARD_CHECK_EQ(picture.size(), std::size_t{3});
}

Augmenter::Draw Augmenter::draw(std::int64_t epoch, std::int64_t sample) const {
    const auto words = [&](std::uint64_t group) {
        return randomWords(m_seed, RandomStream::Augmentation, 0, static_cast<std::uint64_t>(epoch),
                           2 * static_cast<std::uint64_t>(sample) + group);
    };
    const Philox4 first = words(0);
    const Philox4 second = words(1);
    const std::int64_t places = 2 * m_settings.cropPadding + 1;
    Draw draw;
    draw.mirrored = m_settings.flip && first[0] >> 31 != 0;
    draw.down = below(first[1], places) - m_settings.cropPadding;
    draw.right = below(first[2], places) - m_settings.cropPadding;
    draw.angle = (2 * unitDouble(first[3], 0) - 1) * m_settings.rotate * std::numbers::pi / 180;
    draw.coverTop = below(second[0], m_height) - m_settings.cutout / 2;
    draw.coverLeft = below(second[1], m_width) - m_settings.cutout / 2;
    return draw;
}

template <class Real>
void Augmenter::shift(const Draw& draw, const Real* from, Real* to) const {
    for (std::int64_t y = 0; y < m_height; ++y, to += m_width) {
        const std::int64_t row = y + draw.down;
        if (row < 0 || row >= m_height) {
            std::fill_n(to, m_width, Real(0));
            continue;
        }
        const Real* source = from + row * m_width;
        const std::int64_t begin = std::clamp<std::int64_t>(-draw.right, 0, m_width);
        const std::int64_t end = std::clamp<std::int64_t>(m_width - draw.right, begin, m_width);
        std::fill_n(to, begin, Real(0));
        std::copy_n(source + begin + draw.right, end - begin, to + begin);
        std::fill_n(to + end, m_width - end, Real(0));
        if (draw.mirrored)
            std::reverse(to, to + m_width);
    }
}

/// The source of a pixel lies between four others; those outside count as 0.
template <class Real>
void Augmenter::turn(const Draw& draw, const Real* from, Real* to) const {
    const double cosine = std::cos(draw.angle);
    const double sine = std::sin(draw.angle);
    const double centreY = static_cast<double>(m_height - 1) / 2;
    const double centreX = static_cast<double>(m_width - 1) / 2;
    const auto at = [&](std::int64_t y, std::int64_t x) {
        const bool inside = y >= 0 && y < m_height && x >= 0 && x < m_width;
        return inside ? static_cast<double>(from[y * m_width + x]) : 0.0;
    };
    for (std::int64_t y = 0; y < m_height; ++y)
        for (std::int64_t x = 0; x < m_width; ++x) {
            const double fromCentreY = static_cast<double>(y) - centreY;
            const double fromCentreX =
                static_cast<double>(draw.mirrored ? m_width - 1 - x : x) - centreX;
            const double sourceY = centreY + sine * fromCentreX + cosine * fromCentreY +
                                   static_cast<double>(draw.down);
            const double sourceX = centreX + cosine * fromCentreX - sine * fromCentreY +
                                   static_cast<double>(draw.right);
            const auto top = static_cast<std::int64_t>(std::floor(sourceY));
            const auto left = static_cast<std::int64_t>(std::floor(sourceX));
            const double lower = sourceY - static_cast<double>(top);
            const double further = sourceX - static_cast<double>(left);
            *to++ = static_cast<Real>(
                (1 - lower) * ((1 - further) * at(top, left) + further * at(top, left + 1)) +
                lower * ((1 - further) * at(top + 1, left) + further * at(top + 1, left + 1)));
        }
}

template <class Real>
void Augmenter::cover(const Draw& draw, Real* plane) const {
    const std::int64_t top = std::max<std::int64_t>(draw.coverTop, 0);
    const std::int64_t bottom = std::min(draw.coverTop + m_settings.cutout, m_height);
    const std::int64_t left = std::max<std::int64_t>(draw.coverLeft, 0);
    const std::int64_t right = std::min(draw.coverLeft + m_settings.cutout, m_width);
    for (std::int64_t y = top; y < bottom && left < right; ++y)
        std::fill_n(plane + y * m_width + left, right - left, Real(0));
}

template <class Real>
void Augmenter::applyAs(std::int64_t epoch, std::span<const std::int64_t> samples, Real* pictures,
                        std::vector<Real>& copy) const {
    const std::int64_t plane = m_height * m_width;
    copy.resize(static_cast<std::size_t>(plane));
    for (const std::int64_t sample : samples) {
        const Draw chosen = draw(epoch, sample);
        for (std::int64_t channel = 0; channel < m_channels; ++channel, pictures += plane) {
            std::copy_n(pictures, plane, copy.data());
            if (m_settings.rotate > 0)
                turn(chosen, copy.data(), pictures);
            else
                shift(chosen, copy.data(), pictures);
            cover(chosen, pictures);
        }
    }
}

void Augmenter::apply(std::int64_t epoch, std::span<const std::int64_t> samples, void* pictures,
                      DType type) {
    if (type == DType::Fp64)
        applyAs(epoch, samples, static_cast<double*>(pictures), m_doubles);
    else
        applyAs(epoch, samples, static_cast<float*>(pictures), m_floats);
}

} // namespace trainyard::engine
