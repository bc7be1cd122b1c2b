// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Changes training pictures a little, in another way each epoch: mirrors, shifts, turns, covers a
// square. What happens to a picture is a function of (seed, epoch, sample), so it is the same on
// any number of ranks and after a resume. Places without a pixel become 0, which is the mean colour
// where inputs are scaled to mean 0, else black.
#pragma once

#include "engine/base/tensor_type.h"
#include "engine/spec/experiment.h"

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::engine {

struct AugmentationSettings {
    bool flip = false;            ///< left and right, for every other picture
    std::int64_t cropPadding = 0; ///< shift by up to so many pixels
    double rotate = 0;            ///< turn by up to so many degrees
    std::int64_t cutout = 0;      ///< side of the covered square

    bool any() const { return flip || cropPadding > 0 || rotate > 0 || cutout > 0; }
};
AugmentationSettings augmentationOf(const spec::DataSpec& data);

class Augmenter {
public:
    /// `picture`: {channels, height, width}
    Augmenter(const AugmentationSettings& settings, std::uint64_t seed, const Shape& picture);

    /// Changes the pictures of `samples` in place. `type`: Fp32 or Fp64. One thread at a time.
    void apply(std::int64_t epoch, std::span<const std::int64_t> samples, void* pictures,
               DType type);

private:
    /// What happens to one picture.
    struct Draw {
        bool mirrored = false;
        std::int64_t down = 0; ///< the output's pixel comes from so many rows below
        std::int64_t right = 0;
        double angle = 0; ///< radians
        std::int64_t coverTop = 0;
        std::int64_t coverLeft = 0;
    };
    Draw draw(std::int64_t epoch, std::int64_t sample) const;
    template <class Real>
    void applyAs(std::int64_t epoch, std::span<const std::int64_t> samples, Real* pictures,
                 std::vector<Real>& copy) const;
    template <class Real>
    void shift(const Draw& draw, const Real* from, Real* to) const;
    template <class Real>
    void turn(const Draw& draw, const Real* from, Real* to) const;
    template <class Real>
    void cover(const Draw& draw, Real* plane) const;

    const AugmentationSettings m_settings;
    const std::uint64_t m_seed;
    const std::int64_t m_channels;
    const std::int64_t m_height;
    const std::int64_t m_width;
    std::vector<float> m_floats;
    std::vector<double> m_doubles;
};

} // namespace trainyard::engine
