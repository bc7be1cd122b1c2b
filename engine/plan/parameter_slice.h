// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// ParameterSlice: which part of a parameter a rank holds. Names and shapes of parameters are those
// of the whole model everywhere; a slice says which indices along one axis are here.
#pragma once

#include "engine/base/tensor_type.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::plan {

struct IndexRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool operator==(const IndexRange&) const = default;
};

struct ParameterSlice {
    bool held = false; ///< operations of this rank use it
    /// Of all ranks with the same elements (but for data parallel ones) this one answers for them:
    /// in norms, and when weights are gathered.
    bool owned = false;
    int axis = -1; ///< that is cut; -1: the slice is the whole
    /// Along the axis, in the order in which they lie here.
    std::vector<IndexRange> ranges;
    bool operator==(const ParameterSlice&) const = default;
};

/// `ranges` of `extent` indices in equal parts: the `index`-th part of each of `segments`, which
/// follow each other along the axis. Every segment must be divisible.
std::vector<IndexRange> evenRanges(const std::vector<std::int64_t>& segments, int parts, int index);

/// The `index`-th of `parts` consecutive ranges of `extent` indices: the first ones take one more
/// where it does not divide.
IndexRange evenRange(std::int64_t extent, int parts, int index);

Shape localShape(const Shape& whole, const ParameterSlice& slice);

/// Both row-major, elements of `elementBytes`; `shape` is that of the whole.
void copyToLocal(const std::byte* whole, std::byte* local, const Shape& shape,
                 const ParameterSlice& slice, std::size_t elementBytes);
void copyToWhole(const std::byte* local, std::byte* whole, const Shape& shape,
                 const ParameterSlice& slice, std::size_t elementBytes);

} // namespace trainyard::plan
