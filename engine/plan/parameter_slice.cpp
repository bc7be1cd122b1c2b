// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/parameter_slice.h"

#include "engine/base/check.h"

#include <algorithm>
#include <cstring>

namespace trainyard::plan {

namespace {

/// Calls `copy(offset in the whole, offset in the slice, bytes)` for every run of bytes that both
/// have next to each other.
template <class Copy>
void forEachRun(const Shape& shape, const ParameterSlice& slice, std::size_t elementBytes,
                Copy copy) {
    const auto all = static_cast<std::size_t>(elementCount(shape)) * elementBytes;
    if (slice.axis < 0) {
        copy(std::size_t{0}, std::size_t{0}, all);
        return;
    }
    std::size_t inner = elementBytes;
    for (std::size_t i = static_cast<std::size_t>(slice.axis) + 1; i < shape.size(); ++i)
        inner *= static_cast<std::size_t>(shape[i]);
    const std::size_t row =
        inner * static_cast<std::size_t>(shape[static_cast<std::size_t>(slice.axis)]);
    std::size_t local = 0;
    for (std::size_t begin = 0; begin < all; begin += row)
        for (const IndexRange& range : slice.ranges) {
            const std::size_t bytes = inner * static_cast<std::size_t>(range.count);
            copy(begin + inner * static_cast<std::size_t>(range.first), local, bytes);
            local += bytes;
        }
}

} // namespace

std::vector<IndexRange> evenRanges(const std::vector<std::int64_t>& segments, int parts,
                                   int index) {
    std::vector<IndexRange> ranges;
    std::int64_t begin = 0;
    for (const std::int64_t extent : segments) {
        TRAINYARD_CHECK(extent % parts == 0);
        ranges.push_back({begin + extent / parts * index, extent / parts});
        begin += extent;
    }
    return ranges;
}

IndexRange evenRange(std::int64_t extent, int parts, int index) {
    const std::int64_t each = extent / parts;
    const std::int64_t larger = extent % parts;
    return {each * index + std::min<std::int64_t>(index, larger), each + (index < larger ? 1 : 0)};
}

Shape localShape(const Shape& whole, const ParameterSlice& slice) {
    Shape shape = whole;
    if (slice.axis < 0)
        return shape;
    std::int64_t& extent = shape[static_cast<std::size_t>(slice.axis)];
    extent = 0;
    for (const IndexRange& range : slice.ranges)
        extent += range.count;
    return shape;
}

void copyToLocal(const std::byte* whole, std::byte* local, const Shape& shape,
                 const ParameterSlice& slice, std::size_t elementBytes) {
    forEachRun(shape, slice, elementBytes,
               [&](std::size_t from, std::size_t to, std::size_t bytes) {
                   std::memcpy(local + to, whole + from, bytes);
               });
}

void copyToWhole(const std::byte* local, std::byte* whole, const Shape& shape,
                 const ParameterSlice& slice, std::size_t elementBytes) {
    forEachRun(shape, slice, elementBytes,
               [&](std::size_t to, std::size_t from, std::size_t bytes) {
                   std::memcpy(whole + to, local + from, bytes);
               });
}

} // namespace trainyard::plan
