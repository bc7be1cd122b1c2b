// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Window: the geometry of a window that slides over a plane, for convolutions and pools. Padding is
// outside the input; rows and columns that no window reaches (stride) are allowed.
#pragma once

#include "engine/backend/backend.h"

#include <algorithm>
#include <cstdint>

namespace trainyard::engine {

struct Window {
    std::int64_t inHeight = 0, inWidth = 0;
    std::int64_t outHeight = 0, outWidth = 0;
    std::int64_t kernelHeight = 0, kernelWidth = 0;
    std::int64_t strideHeight = 0, strideWidth = 0;
    std::int64_t paddingHeight = 0, paddingWidth = 0;
    std::int64_t dilationHeight = 1, dilationWidth = 1;

    std::int64_t inPlane() const { return inHeight * inWidth; }
    std::int64_t outPlane() const { return outHeight * outWidth; }
    /// No input element lies in two windows (of a pool: neighbouring elements).
    bool disjoint() const { return strideHeight >= kernelHeight && strideWidth >= kernelWidth; }
};

/// Half-open range of positions.
struct Span {
    std::int64_t first = 0, last = 0;
};

/// Input positions along one axis that the `out`-th window covers, without the padding.
inline Span covered(std::int64_t out, std::int64_t stride, std::int64_t padding,
                    std::int64_t kernel, std::int64_t extent) {
    const std::int64_t start = out * stride - padding;
    return {std::max<std::int64_t>(start, 0), std::min(start + kernel, extent)};
}

/// `attributes`: of a convolution or a pool. Shapes: {channels, height, width}.
template <class Attributes>
Window windowOf(const Attributes& attributes, const Shape& input, const Shape& output) {
    Window window{.inHeight = input.at(1),
                  .inWidth = input.at(2),
                  .outHeight = output.at(1),
                  .outWidth = output.at(2),
                  .kernelHeight = attributes.kernelHeight,
                  .kernelWidth = attributes.kernelWidth,
                  .strideHeight = attributes.strideHeight,
                  .strideWidth = attributes.strideWidth,
                  .paddingHeight = attributes.paddingHeight,
                  .paddingWidth = attributes.paddingWidth};
    if constexpr (requires { attributes.dilationHeight; }) {
        window.dilationHeight = attributes.dilationHeight;
        window.dilationWidth = attributes.dilationWidth;
    }
    return window;
}

} // namespace trainyard::engine
