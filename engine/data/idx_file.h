// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// IDX: the format of MNIST and its relatives. Four bytes (0, 0, element type, number of
// dimensions), the extents as big-endian 32-bit numbers, then the elements, row-major. Plain or
// gzip. Everything is checked against the file before memory is taken, so a header that lies costs
// nothing.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace trainyard::engine {

/// What a file is used for decides what it may hold.
enum class IdxRole {
    Images, ///< {samples, height, width}, {samples, channels, height, width} or {samples, features}
    Labels  ///< {samples}
};

/// Unsigned bytes, the only element type read so far.
struct IdxArray {
    Shape extents;
    std::unique_ptr<std::uint8_t[]> elements;

    std::int64_t samples() const { return extents.front(); }
    std::span<const std::uint8_t> bytes() const {
        return {elements.get(), static_cast<std::size_t>(elementCount(extents))};
    }
};

/// `where` is the path in the experiment that named the file, for the error.
Result<IdxArray> readIdx(const std::string& path, IdxRole role, const std::string& where);

} // namespace trainyard::engine
