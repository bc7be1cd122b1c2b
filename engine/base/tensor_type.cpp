// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/tensor_type.h"

#include "engine/base/check.h"

#include <limits>

namespace trainyard {

std::size_t bytesOf(DType type) {
    switch (type) {
    case DType::Fp64:
        return 8;
    case DType::Bf16:
    case DType::Fp16:
        return 2;
    case DType::Fp32:
    case DType::Int32:
        return 4;
    }
    return 0;
}

DType exactType(DType type) {
    return type == DType::Bf16 ? DType::Fp32 : type;
}

std::string_view name(DType type) {
    switch (type) {
    case DType::Fp64:
        return "fp64";
    case DType::Fp32:
        return "fp32";
    case DType::Int32:
        return "int32";
    case DType::Bf16:
        return "bf16";
    case DType::Fp16:
        return "fp16";
    }
    return "?";
}

std::int64_t elementCount(const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape)
        if (__builtin_mul_overflow(count, extent, &count))
            return std::numeric_limits<std::int64_t>::max();
    return count;
}

std::string describe(const Shape& shape) {
    if (shape.empty())
        return "scalar";
    std::string out;
    for (const std::int64_t extent : shape) {
        if (!out.empty())
            out += " × ";
        out += std::to_string(extent);
    }
    return out;
}

std::int64_t storedElements(const Shape& shape, Layout layout) {
    if (layout != Layout::Blocked16)
        return elementCount(shape);
    TRAINYARD_CHECK_EQ(shape.size(), 3u);
    return elementCount({(shape[0] + 15) / 16 * 16, shape[1], shape[2]});
}

} // namespace trainyard
